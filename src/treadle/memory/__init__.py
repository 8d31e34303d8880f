"""The memory of agents: the dialogues of runs, and the project's knowledge graph."""
