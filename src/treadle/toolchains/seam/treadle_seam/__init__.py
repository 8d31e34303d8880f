"""The seam between a judge, which has the tests, and a subject, which has the code under test."""
