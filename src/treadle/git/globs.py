"""Match paths against globs: `*` and `?` stay inside a folder, `**` does not, `!` excludes."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from treadle.protocol.model import Protection

_PARTS = re.compile(r"\*\*/|/\*\*\Z|\*\*|\*|\?|[^*?]+")
_MEANING: Final = {"**/": "(?:[^/]+/)*", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs matches a path and none excludes it."""
    return naming(globs)(path)


def naming(globs: Iterable[str]) -> Callable[[str], bool]:
    """Compile globs into a predicate for many paths."""
    all_ = tuple(globs)
    wanted = [_pattern(glob).match for glob in all_ if not glob.startswith("!")]
    excluded = [_pattern(glob[1:]).match for glob in all_ if glob.startswith("!")]

    def is_named(path: str) -> bool:
        return any(match(path) for match in wanted) and not any(match(path) for match in excluded)

    return is_named


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = _PARTS.findall(glob.removeprefix("./").rstrip("/") or "**")
    return re.compile("".join(_MEANING.get(part) or re.escape(part) for part in parts) + r"\Z", re.DOTALL)


# Ψ: the level of care that a change to a path needs.

CAREFUL: Final = 4
"""The level from which Treadle asks a person."""


def level_of(protections: Iterable[Protection], path: str) -> int:
    """Return the level of the first glob that matches a path; 1, open to every role, if none does."""
    return next((one.level for one in protections if matches(path, [one.glob])), 1)
