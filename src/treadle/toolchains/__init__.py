"""Build, test, lint and measure a project in any checkout, and report the results as data."""
