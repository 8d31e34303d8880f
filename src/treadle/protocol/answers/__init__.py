"""What agents and people hand in: JSON Schema, validation, the input of a run."""
