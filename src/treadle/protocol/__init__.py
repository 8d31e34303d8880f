"""What a protocol is: data, loaded, checked and drawn, never executed."""
