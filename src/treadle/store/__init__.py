"""Where runs live: one SQLite file per project, with a hash-chained log for each run."""
