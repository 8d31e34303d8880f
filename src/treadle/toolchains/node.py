"""Support for `node --test` and vitest: a reporter of our own, and a guard that watches tests from inside.

Node's own reporter does not distinguish files. The guard is a file that node loads before any code of the project.
"""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from treadle.toolchains.process import read_bytes

GUARD: Final = Path(__file__).with_name("probes") / "node_guard.mjs"
_MOST_FILES: Final = 5_000


class GuardNote(msgspec.Struct, frozen=True):
    """One note of the guard in one process."""

    began: bool = False
    """The process runs tests of `node --test`, and the guard sees each of them."""
    test: str = ""
    passed: bool | None = False
    """None: this version of node does not report it."""
    changed: str = ""
    tried: str = ""
    """A function that decides about tests, which the code tried and failed to replace."""


class NodeGuard:
    """The guard of one run, and its notes."""

    def __init__(self, scratch: Path) -> None:
        self._folder, self._key = scratch / secrets.token_hex(8), secrets.token_hex(24)
        self._folder.mkdir()
        self.environment = {
            "NODE_OPTIONS": f"--import={GUARD.as_uri()}",
            "TREADLE_WITNESS": f"{self._folder}|{self._key}",
        }

    def lines(self) -> list[GuardNote]:
        """Read all notes with a valid signature; ignore the others."""
        notes: list[GuardNote] = []
        for file in sorted(self._folder.iterdir())[:_MOST_FILES]:
            for row in (read_bytes(file) or b"").splitlines():
                sign, _, text = row.partition(b" ")
                own = hmac.new(self._key.encode(), text, hashlib.sha256).hexdigest().encode()
                if hmac.compare_digest(sign, own):
                    notes.append(msgspec.json.decode(text, type=GuardNote))
        return notes


def can_guard(command: tuple[str, ...]) -> bool:
    """Whether the guard can watch a test command."""
    return is_node_test(command) or any(Path(word).name in ("vitest", "vitest.mjs") for word in command)


def saw_tests(notes: Sequence[GuardNote]) -> bool:
    """Whether the guard watched each test, so that verdicts have a second witness besides the report."""
    return any(one.began for one in notes) and not any(one.passed is None for one in notes)


def guard_disagreements(notes: Sequence[GuardNote], passed: Iterable[str]) -> Iterator[str]:
    """Yield contradictions between the guard's notes and the report, which names the tests that passed."""
    for name in dict.fromkeys(one.changed for one in notes if one.changed):
        yield f"{name} was exchanged while the tests ran"
    for name in dict.fromkeys(one.tried for one in notes if one.tried):
        yield f"{name} was to be exchanged while the tests ran"
    seen = Counter(one.test for one in notes if one.passed)
    for name, times in Counter(passed).items() if saw_tests(notes) else ():
        if times > seen[name]:
            yield f"'{name}' is reported as passed {times} times, and was seen to pass {seen[name]} times"


# Our reporter for `node --test`: node's own does not distinguish files.

REPORTER: Final = Path(__file__).with_name("probes") / "node_junit.mjs"
_OWN: Final = "--test-reporter=junit"


def with_files(command: tuple[str, ...], checkout: Path) -> tuple[str, ...]:
    """Expand the globs of a `node --test` command as a shell would: node 20 accepts no globs."""
    if not is_node_test(command):
        return command
    words: list[str] = []
    for word in command:
        found: list[Path] = []
        is_glob = not word.startswith(("-", "/")) and any(sign in word for sign in "*?[")
        if is_glob and ".." not in PurePosixPath(word).parts:
            with suppress(ValueError, OSError):  # no pattern after all
                found = [path.relative_to(checkout) for path in checkout.glob(word) if path.is_file()]
        words += sorted(path.as_posix() for path in found if "node_modules" not in path.parts) or [word]
    return tuple(words)


def is_node_test(command: tuple[str, ...]) -> bool:
    """Whether a command is `node --test`, each test of which the guard can see."""
    return bool(command) and Path(command[0]).name == "node" and "--test" in command


def with_reporter(command: tuple[str, ...]) -> tuple[str, ...]:
    """Replace node's own JUnit reporter in a test command by ours."""
    if not is_node_test(command):
        return command
    return tuple(f"--test-reporter={REPORTER}" if word == _OWN else word for word in command)
