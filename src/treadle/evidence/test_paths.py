"""Which files belong to the tests: the tests themselves, what they share, and what decides how they run."""

import configparser
import re
import tomllib
from collections.abc import Iterable
from typing import Final

import msgspec

_FOLDERS: Final = frozenset({"tests", "test", "__tests__", "spec", "testdata", "__snapshots__", "e2e"})
_TEST_NAME: Final = re.compile(
    r"(test_[^/]*|[^/]*_tests?\.[^/]+|[^/]*\.(test|spec)\.[^/]+|[^/]*Tests?\.(java|kt|cs|scala)|[^/]*_spec\.rb"
    r"|conftest\.py|tests\.py|tests\.rs)\Z"
)
_CONFIGURATION: Final = frozenset(
    """
    conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml jest.config.js jest.config.ts jest.config.mjs
    jest.config.cjs jest.config.json vitest.config.ts vitest.config.js vitest.config.mts vitest.workspace.ts .mocharc.js
    .mocharc.json .mocharc.yml .mocharc.yaml karma.conf.js phpunit.xml phpunit.xml.dist .rspec test_manifest.json
    sitecustomize.py usercustomize.py
    """.split()
)
"""Files that decide how tests run, wherever they are."""

SHARED: Final[dict[str, tuple[str, ...]]] = {
    "pyproject.toml": ("pytest", "tox", "coverage"),
    "setup.cfg": ("tool:pytest", "tox:tox"),
    "tox.ini": ("pytest", "tox", "testenv"),
}
"""Files that configure more than tests: only these sections are the tests' own."""


class TestPaths(msgspec.Struct, frozen=True):
    """The tests of a project; `folders` are those that a specification names as such."""

    __test__ = False

    folders: tuple[str, ...] = ()

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests."""
        *parents, name = path.split("/")
        if name in _CONFIGURATION or _TEST_NAME.match(name):
            return True
        return any(part in _FOLDERS for part in parents) or self._is_named(path)

    def is_code(self, path: str) -> bool:
        """Whether a file belongs to neither tests nor their configuration."""
        return not self.is_test(path)

    def _is_named(self, path: str) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in self.folders)


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
