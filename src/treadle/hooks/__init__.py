"""Agents that somebody else has started: what their programs say when they end, and what they are told."""
