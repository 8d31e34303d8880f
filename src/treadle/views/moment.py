"""Moments and durations, as people and programs write them."""

from datetime import UTC, datetime


def moment(ms: int) -> str:
    """Milliseconds since the epoch in ISO 8601, UTC; empty for none."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if ms else ""
    )


def plain(time: str) -> str:
    """A moment as people read it, to the second."""
    return f"{time[:10]} {time[11:19]} UTC" if time else ""


def seconds(begin: int, end: int) -> float:
    """Seconds between two moments; none if the clock was set back."""
    return max(0, end - begin) / 1000 if begin else 0.0


def duration(length: float) -> str:
    """`2 h 05 min`, `3 min 20 s`, `12 s`: two units at most."""
    whole = max(0, int(length))
    days, hours, minutes, secs = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {secs:02} s" if minutes else f"{secs} s"
