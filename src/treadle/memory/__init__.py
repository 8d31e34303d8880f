"""What agents remember: the dialogues of runs, and the project's knowledge graph."""
