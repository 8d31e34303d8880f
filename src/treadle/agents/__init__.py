"""How agents are run: one runner per file, one way to supervise a program."""
