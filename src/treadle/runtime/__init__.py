"""The one loop of the program, and what performs its commands."""
