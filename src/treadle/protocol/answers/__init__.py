"""Answers of agents and people: JSON Schema, validation, the input of a run."""
