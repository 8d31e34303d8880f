"""Enclosures of commands: none, a sandbox on this machine, or a container."""
