"""Which paths a list of globs names: `*` and `?` stay inside a folder, `**` does not, `!` excludes."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

_PARTS = re.compile(r"\*\*/|/\*\*\Z|\*\*|\*|\?|[^*?]+")
_MEANING: Final = {"**/": "(?:[^/]+/)*", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a path is named by one of the globs and excluded by none."""
    return naming(globs)(path)


def naming(globs: Iterable[str]) -> Callable[[str], bool]:
    """The same question for many paths: what the globs mean is worked out once."""
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
