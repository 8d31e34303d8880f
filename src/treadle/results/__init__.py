"""How an exit comes back: one parser per channel, the order in which they count, and what the agent's side needs."""
