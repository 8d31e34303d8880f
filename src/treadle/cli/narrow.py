"""Markdown for a narrow terminal: tables as lists, because their columns would be a letter wide."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

_CELLS: Final = re.compile(r"(?<!\\)\|")
_LEAST: Final = 9
"""How wide a column must be at least to be read."""


def fits(columns: int, width: int) -> bool:
    """Whether a table of so many columns can be read at this width."""
    return columns * _LEAST <= width


def narrowed(text: str, width: int) -> str:
    """The text with every table that does not fit as a list: an entry a row, a line a cell."""
    lines: list[str] = []
    for is_table, block in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        rows = list(block)
        lines += _as_list(rows) if is_table and not fits(len(_cells(rows[0])), width) else rows
    return "\n".join(lines) + "\n"


def _as_list(rows: list[str]) -> Iterator[str]:
    columns, _, *body = [_cells(row) for row in rows]
    name = ""
    for first, *rest in body:
        name = first or name
        yield f"- **{name}**"
        yield from (f"    - {column}: {cell}" for column, cell in zip(columns[1:], rest, strict=False) if cell)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row)[1:-1]]
