"""What an agent leaves for its successor by its tool: `out/handoff.md`."""

from typing import Final

FILE: Final = "handoff.md"
MAX_NOTES: Final = 100_000
"""In characters."""
