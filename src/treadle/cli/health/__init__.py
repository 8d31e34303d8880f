"""What `treadle doctor` looks at, one matter per file; each gives lines, and changes nothing."""
