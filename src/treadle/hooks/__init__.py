"""Hooks for agents that Treadle did not start: their programs report the end of work, and Treadle replies."""
