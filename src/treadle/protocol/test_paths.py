"""Which files belong to the tests: the tests themselves, what they share, and what decides how they run.

Whoever asks, asks here. What the common runners take for a test counts, in whatever folder it lies; so does everything
in a folder that only tests live in. A doubtful file counts as a test where that is the careful answer: the author of an
implementation may not touch it.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

_FOLDERS: Final = frozenset(
    """
    test tests __tests__ __mocks__ __snapshots__ spec specs testdata e2e
    androidTest integrationTest functionalTest testFixtures
    """.split()
)
_PROJECT: Final = re.compile(r"[^/]+\.((Unit|Integration)?Tests?)\Z")
"""A folder such as `Shop.Tests`, which is how .NET calls a project of tests."""
_NAMES: Final = tuple(
    re.compile(rf"(?:{pattern})\Z")
    for pattern in (
        r"test_.*",  # Python's, C's, and what lies beside them: test_data.json
        r".*_tests?\.[^/]+",  # Go, Python, Rust, Ruby, Dart, Elixir, C++
        r".*_unittest\.(cc|cpp|cxx|py)",
        r".*_spec\.(rb|lua|cr)",
        r"tests\.(py|rs)",
        r".*\.(test|spec|cy|e2e|test-d)\.[^/]+",  # JavaScript and TypeScript
        r"(.*-test|test-.*|test|tests)\.[cm]?[jt]sx?",
        r".*\.snap",
        r".*[a-z0-9*](Tests?|TestCase|IT|ITCase|Spec)\.(java|kt|kts|scala|groovy|cs|fs|php|swift|m|mm)",
        r"(Test|IT)[A-Z*][^/]*\.(java|kt|scala|groovy)",
    )
)
_CONFIGURATION: Final = frozenset(
    """
    conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml jest.config.js jest.config.ts jest.config.mjs
    jest.config.cjs jest.config.json vitest.config.ts vitest.config.js vitest.config.mts vitest.config.mjs
    vitest.workspace.ts vitest.workspace.js vitest.setup.ts vitest.setup.js jest.setup.js jest.setup.ts .mocharc.js
    .mocharc.cjs .mocharc.json .mocharc.yml .mocharc.yaml karma.conf.js phpunit.xml phpunit.xml.dist .rspec
    playwright.config.ts cypress.config.ts test_manifest.json sitecustomize.py usercustomize.py
    """.split()
)
"""Files that decide how tests run, wherever they are."""


_REMEMBERED: Final = 100_000
"""Paths: a large repository is looked through several times for each verdict."""


class TestPaths(msgspec.Struct, frozen=True):
    """The tests of a project, as somebody who works on a part of it sees them."""

    __test__ = False  # or pytest would take it for a class of tests

    folders: tuple[str, ...] = ()
    """Where the specification of the part has its own tests."""
    configured: tuple[str, ...] = ()
    """What the settings of the project call tests."""

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests."""
        return is_test(path) or self._is_named(path)

    def is_code(self, path: str) -> bool:
        """Whether a file belongs to neither tests nor their configuration."""
        return not self.is_test(path)

    def _is_named(self, path: str) -> bool:
        for folder in (*self.folders, *self.configured):  # a plain loop: this is asked about every file of a tree
            if path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("", "/"):
                return True
        return False


@lru_cache(maxsize=_REMEMBERED)
def is_test(path: str) -> bool:
    """Whether a file belongs to the tests, by its name alone."""
    *parents, name = path.split("/")
    if name in _CONFIGURATION or any(pattern.match(name) for pattern in _NAMES):
        return True
    return any(one in _FOLDERS or _PROJECT.match(one) for one in parents)


def names_tests(glob: str) -> bool:
    """Whether a glob names nothing but tests: `tests/**`, `**/*_test.go`, or a folder `tests`."""
    return is_test(glob) or is_test(f"{glob}/x")
