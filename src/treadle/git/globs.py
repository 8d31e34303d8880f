"""Which paths a list of globs names: `*` and `?` stay inside a folder, `**` does not, `!` excludes."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_PARTS = re.compile(r"\*\*/|/\*\*\Z|\*\*|\*|\?|[^*?]+")
_MEANING: Final = {"**/": "(?:[^/]+/)*", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a path is named by one of the globs and excluded by none."""
    all_ = tuple(globs)
    if any(_pattern(glob[1:]).match(path) for glob in all_ if glob.startswith("!")):
        return False
    return any(_pattern(glob).match(path) for glob in all_ if not glob.startswith("!"))


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = _PARTS.findall(glob.removeprefix("./").rstrip("/") or "**")
    return re.compile("".join(_MEANING.get(part) or re.escape(part) for part in parts) + r"\Z", re.DOTALL)
