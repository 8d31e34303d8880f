"""Reads and changes the file of a store as another program would: through a connection of its own."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def sql(path: Path, text: str, *values: Any) -> list[tuple[Any, ...]]:
    """Execute a statement, commit it, and return its rows."""
    with closing(sqlite3.connect(path, timeout=10)) as db, db:
        return db.execute(text, values).fetchall()
