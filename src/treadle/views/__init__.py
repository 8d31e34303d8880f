"""What people read: pure functions of a run's state and log."""
