"""What people say to their projects in plain words, and what they are told."""
