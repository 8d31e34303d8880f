"""What is put into the test process of a project: this folder stands on the PYTHONPATH of that process."""
