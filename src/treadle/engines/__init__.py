"""The driver of a project's runs, and everything that it needs around them."""
