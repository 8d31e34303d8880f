"""Files that configure more than tests: what of them is the tests' own."""

import configparser
import tomllib
from collections.abc import Iterable
from typing import Final

SHARED: Final[dict[str, tuple[str, ...]]] = {
    "pyproject.toml": ("pytest", "tox", "coverage"),
    "setup.cfg": ("tool:pytest", "tox:tox"),
    "tox.ini": ("pytest", "tox", "testenv"),
}
"""By their paths, the sections that are about tests."""


def test_configuration(path: str, data: bytes | None) -> str:
    """What a shared configuration file says about tests, in a form that can be compared; empty for any other file."""
    if path not in SHARED or data is None:
        return ""
    text = data.decode(errors="replace")
    return _toml(text, SHARED[path]) if path.endswith(".toml") else _ini(text, SHARED[path])


test_configuration.__test__ = False  # type: ignore[attr-defined]


def _toml(text: str, sections: Iterable[str]) -> str:
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (ValueError, RecursionError):
        return f"unreadable: {text}"
    return repr([(name, tool[name]) for name in sections if isinstance(tool, dict) and name in tool])


def _ini(text: str, sections: Iterable[str]) -> str:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return f"unreadable: {text}"
    chosen = [name for name in parser.sections() if name in sections or name.partition(":")[0] in sections]
    return repr([(name, sorted(parser.items(name))) for name in sorted(chosen)])
