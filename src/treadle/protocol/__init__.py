"""The protocol language: data that is loaded, checked and drawn, never executed."""
