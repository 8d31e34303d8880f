"""The lines that the published protocols speak in: what an agent is told, what it answers, what is remembered of it."""
