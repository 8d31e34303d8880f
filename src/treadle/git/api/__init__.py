"""Read the exports of a tree without running its code: one reader for each language."""
