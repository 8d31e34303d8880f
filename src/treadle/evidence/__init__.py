"""The checks that turn a claim into a fact: recorded commits, measurements, and the verdict on a claim."""
