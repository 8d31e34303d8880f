"""The checks themselves, one family per file; the catalogue lists them by name."""
