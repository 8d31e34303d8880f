"""The counter of a post office."""
