"""Where the loop runs."""
