"""The packages of a Go module as `go list` tells them, and the tests that are written in them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.files import read_text

FIELDS: Final = "-json=Dir,ImportPath,Name,TestGoFiles,XTestGoFiles"
_TESTS: Final = re.compile(
    r"^func ((?:Test|Fuzz)(?:[^a-z\W]\w*)?|Example\w*)\(\s*(?:\w+\s+\*\w+\.[TF]\s*)?\)", re.MULTILINE
)
_BLOCK: Final = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_ALONE: Final = frozenset(
    "v race short json cover failfast benchmem a n x msan asan work trimpath modcacherw linkshared fullpath".split()
)
"""Options without a value."""
_CHOOSING: Final = frozenset("tags mod modfile race msan asan".split())
"""Options that decide which files belong to a package."""


class GoPackage(msgspec.Struct, frozen=True, rename="pascal"):
    """A package with tests."""

    dir: str
    import_path: str
    name: str
    test_go_files: tuple[str, ...] = ()
    x_test_go_files: tuple[str, ...] = ()

    @property
    def test_files(self) -> tuple[str, ...]:
        return (*self.test_go_files, *self.x_test_go_files)

    def tests(self) -> dict[str, tuple[str, int]]:
        """The tests that seem to be written in it, with file and line; a run tells which of them there really are."""
        found: dict[str, tuple[str, int]] = {}
        for file in self.test_files:
            text = read_text(Path(self.dir) / file)
            for match in _TESTS.finditer(text):
                found.setdefault(match[1], (file, text.count("\n", 0, match.start()) + 1))
        return found


def listing_of(command: Sequence[str]) -> tuple[str, ...]:
    """The command that lists what a `go test` command tests."""
    at = command.index("test") + 1
    options, packages, words = [], [], iter(command[at:])
    for word in words:
        name, _, given = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            packages.append(word)
            continue
        value = [] if given or name in _ALONE else [next(words, "")]
        options += [word, *value] if name in _CHOOSING else []
    return (*command[: at - 1], "list", "-e", FIELDS, *options, *packages)


def read_packages(text: str) -> list[GoPackage]:
    """The packages with tests that `go list -json` has printed; none if it printed something else."""
    try:
        found = [msgspec.json.decode(block[0], type=GoPackage) for block in _BLOCK.finditer(text)]
    except msgspec.DecodeError:
        return []
    return [one for one in found if one.test_files]
