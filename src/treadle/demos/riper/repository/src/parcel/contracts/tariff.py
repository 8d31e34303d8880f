"""The tariff of the carrier, as it was agreed."""

BANDS = (
    (1_000, 450),
    (5_000, 700),
    (10_000, 1_000),
)
"""Up to so many grams: so many cents."""
