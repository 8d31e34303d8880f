"""Documents that people and programs read: what makes them well formed."""
