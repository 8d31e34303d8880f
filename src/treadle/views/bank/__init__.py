"""The documents of the memory bank that are made from a run's log: σ₁, σ₄, σ₅, σ₆."""
