"""What a tree offers to others, read without running anything: one reader for each language, one list of them."""
