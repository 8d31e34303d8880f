"""Step rules: a table in the Agentic Coding Protocol's own format, compiled into a graph."""
