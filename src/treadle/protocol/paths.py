"""Paths and globs as protocols write them, and the rules for which files belong to the tests.

Both are relative to the repository, with `/`, and never lead out of it or into the orchestrator's own folders.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import msgspec

_MAX: Final = 1024
_OWN: Final = {".git": ".git", "git~1": ".git", ".treadle": ".treadle"}
"""Folders that are not for agents, also as file systems spell them that ignore case and trailing dots."""

PathFault = Callable[[str], str]
"""Why a path cannot be used, as the end of a sentence; empty if it can."""


def path_fault(path: str) -> str:
    """Why a path (or a pattern of paths) cannot be used, as the end of a sentence; empty if it can."""
    if not path.strip():
        return "is empty"
    if len(path) > _MAX:
        return f"has {len(path)} characters, the limit is {_MAX}"
    if not path.isprintable():
        return "holds a control character, or another one that cannot be seen"
    if "\\" in path:
        return "holds a backslash; separate its parts with /"
    if path.startswith("/") or path[1:2] == ":":
        return "is absolute; write it relative to the root of the repository"
    return _part_fault(path.split("/"))


def is_pattern(path: str) -> bool:
    """Whether a path would stand for many, or for none, where it becomes part of a write scope."""
    return "*" in path or "?" in path or path.startswith("!")


def clean_path(path: str) -> str:
    """The shortest way to write a path that has no fault: `./src//a.py` → `src/a.py`."""
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or "."


def path_overlap(one: str, other: str) -> str:
    """Return how the second of two clean paths covers the first, as the middle of a sentence; empty if it does not.

    The second may lie inside the first, which then means the rest of it.
    """
    if one == other:
        return "is the same as"
    return "holds" if other == "." or one.startswith(other + "/") else ""


def _part_fault(parts: list[str]) -> str:
    if parts[0].startswith("~"):
        return "starts with ~; write it relative to the root of the repository"
    if parts[0].startswith("-"):
        return "starts with -, which commands take for an option"
    for part in parts:
        if part == "..":
            return "leaves its directory with ..; write it relative to the root of the repository"
        folder = part.lower().rstrip(". ")
        if folder in _OWN:
            return f"lies inside {_OWN[folder]}, which only the orchestrator touches"
        if part != part.strip():
            return "has a part that starts or ends with a space"
    return ""


# Globs as protocols write them: they name files of the repository, and none that only the orchestrator touches.

_WILD: Final = str.maketrans("*?", "xx")


def glob_fault(glob: str) -> tuple[str, str] | None:
    """Return why a glob cannot be part of a write scope, as the end of a sentence, and a hint; None if it can."""
    fault = path_fault(glob.removeprefix("!").translate(_WILD))
    inside = fault.startswith("lies inside")
    if not fault or (inside and glob.startswith("!")):  # `!.git/**` excludes files that no agent may touch anyway
        return None
    what, _, advice = fault.partition("; ")
    return what, advice or ("remove it" if inside else "name files of the repository, as in 'src/**'")


def quote_glob(glob: str) -> str:
    """Quote a glob, with unprintable characters escaped."""
    return f"'{glob}'" if glob.isprintable() else repr(glob)


# The files that belong to the tests: the tests themselves, their shared files, and the files that configure their
# run.
#
# This is the only definition. A file that the common runners recognise as a test counts, in any folder; so does
# everything in a folder that only tests live in. A doubtful file counts as a test where that is the careful answer:
# the author of an implementation may not touch it.

_FOLDERS: Final = frozenset(
    """
    test tests __tests__ __mocks__ __snapshots__ testdata e2e
    androidTest integrationTest functionalTest testFixtures
    """.split()
)
_DOUBTFUL: Final = frozenset({"spec", "specs", "testing"})
"""Folders of tests in some projects, and parts of the product in others: the files in them decide."""
_PRODUCT: Final = frozenset({"src", "lib", "app", "pkg", "internal", "source"})
_BY_NAME: Final = frozenset({".py", ".pyi", ".go", ".rs", ".java", ".kt", ".cs", ".swift"})
"""Languages with runners that find tests by the names of files, and with sources in any folder."""
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
    """The tests of a project, as seen from one part of it."""

    __test__ = False  # or pytest would take it for a class of tests

    folders: tuple[str, ...] = ()
    """Where the specification of the part has its own tests."""
    configured: tuple[str, ...] = ()
    """The paths that the project's settings declare as tests."""
    collected: tuple[str, ...] = ()
    """Folders of a doubtful name in which the runner finds tests (`collecting_folders`)."""

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests."""
        return is_test(path) or self._is_named(path)

    def is_code(self, path: str) -> bool:
        """Whether a file belongs to neither tests nor their configuration."""
        return not self.is_test(path)

    def _is_named(self, path: str) -> bool:
        for folder in (
            *self.folders,
            *self.configured,
            *self.collected,
        ):  # a plain loop: this is asked about every file of a tree
            if path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("", "/"):
                return True
        return False


@lru_cache(maxsize=_REMEMBERED)
def is_test(path: str) -> bool:
    """Whether a file belongs to the tests, by its name alone."""
    *parents, name = path.split("/")
    if name in _CONFIGURATION or _is_collected(name):
        return True
    return any(one in _FOLDERS or _PROJECT.match(one) for one in parents) or _is_in_specs(parents, name)


def _is_collected(name: str) -> bool:
    """Whether the common runners find tests in a file of this name."""
    return any(pattern.match(name) for pattern in _NAMES)


def _is_in_specs(parents: list[str], name: str) -> bool:
    """Whether a file lies in a folder of specifications that are tests, as in Ruby and JavaScript.

    Inside of the product, and for languages that find tests by the names of files, such a folder may hold anything.
    """
    at = next((at for at, one in enumerate(parents) if one in ("spec", "specs")), None)
    if at is None or not _PRODUCT.isdisjoint(parents[:at]):
        return False
    return not any(name.endswith(ending) for ending in _BY_NAME)


def collecting_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of a doubtful name, such as `specs`, that hold a file in which runners find tests."""
    found: dict[str, None] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder.rpartition("/")[2] in _DOUBTFUL and _is_collected(name):
            found[folder] = None
    return tuple(found)


def names_tests(glob: str) -> bool:
    """Whether a glob names nothing but tests: `tests/**`, `**/*_test.go`, or a folder `tests`."""
    return is_test(glob) or is_test(f"{glob}/x")
