"""What the drawings of a protocol are made of."""
