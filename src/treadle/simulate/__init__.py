"""A random world and an exhaustive search around the kernel."""
