"""Reads a unified diff: which lines were added, and where they are now."""

import re
from collections.abc import Iterator
from typing import Final

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


def added_lines(diff: str) -> Iterator[tuple[str, int, str]]:
    """File, number and text of every line that a diff adds."""
    file, number, left = "", 0, 0
    for line in diff.split("\n"):  # other signs that end a line for Python do not for git
        if not left and line.startswith("+++ "):
            file = line[4:].strip().strip('"').removeprefix("b/")
        elif match := _HUNK.match(line):
            number, left = int(match[1]), int(match[2] or 1)
        elif left and line.startswith("+"):
            yield file, number, line[1:]
            number, left = number + 1, left - 1
        elif left and not line.startswith(("-", "\\")):
            number, left = number + 1, left - 1
