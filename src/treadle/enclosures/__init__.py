"""What commands run in: nothing, a sandbox of this machine, or a container."""
