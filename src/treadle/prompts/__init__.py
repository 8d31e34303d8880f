"""Texts for agents and people: rendered templates, the answer section, and the bundle of a dispatch."""
