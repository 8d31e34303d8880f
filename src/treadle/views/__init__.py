"""Views for people: pure functions of a run's state and log."""
