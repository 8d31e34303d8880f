"""What agents and people are told: rendered templates, the ways to answer, the bundle of a dispatch."""
