"""Outcomes of runs that count as bad in every protocol. Imports nothing: `treadle` alone uses it, and must be fast."""

BAD = ("Aborted", "Failed", "Halted", "Partial")


def is_good(outcome: str) -> bool:
    """Whether a run has come to a good end."""
    return bool(outcome) and outcome not in BAD
