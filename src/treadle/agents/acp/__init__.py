"""Agents that speak the Agent Client Protocol: how they are told, a client of their own for each, and its stream."""
