"""Plain-language control of projects: sentences in, operations on runs and status messages out."""
