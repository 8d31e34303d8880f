"""Agents' answers: one parser per channel, their order of precedence, and the tools on the agent's side."""
