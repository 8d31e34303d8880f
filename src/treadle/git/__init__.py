"""The repository: lanes for agents, recorded trees, merges and rebases; nothing of the user's is ever touched."""
