"""The lines of a Python program at which something is executed; marks in the program that leave lines out do not."""

import warnings

import msgspec


class Lines(msgspec.Struct, frozen=True):
    """Statements by the number of their first line, and those of them that were executed."""

    statements: frozenset[int]
    executed: frozenset[int]


def statement_lines(source: str, executed: tuple[int, ...]) -> Lines | None:
    """What a program could execute and did; None if it cannot be read."""
    from coverage.exceptions import CoverageException  # noqa: PLC0415 - takes its time to load, and is seldom needed
    from coverage.parser import PythonParser  # noqa: PLC0415

    parser = PythonParser(text=source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser.parse_source()
    except (CoverageException, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    seen = parser.translate_lines(executed)
    return Lines(frozenset(parser.statements), frozenset(seen & parser.statements))
