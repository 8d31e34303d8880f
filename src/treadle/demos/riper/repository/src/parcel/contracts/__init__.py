"""What was agreed with others."""
