"""The one loop of the program, and the code that performs its commands."""
