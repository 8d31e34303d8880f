"""The reducer: the only place where a run changes."""
