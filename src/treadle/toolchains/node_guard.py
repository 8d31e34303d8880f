"""What watches over `node --test` and vitest from inside: a file that node loads before any code of the project."""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.files import read_bytes

GUARD: Final = Path(__file__).with_name("probes") / "node_guard.mjs"
_MOST_FILES: Final = 5_000


class Seen(msgspec.Struct, frozen=True):
    """Something that the guard of one process has written down."""

    began: bool = False
    """Tests of `node --test` run in the process, and each is looked at."""
    test: str = ""
    passed: bool | None = False
    """None: this node does not tell."""
    changed: str = ""
    tried: str = ""
    """What was to be exchanged, and was not, because it decides about tests."""


class NodeGuard:
    """The guard of one run, and what it has written down."""

    def __init__(self, scratch: Path) -> None:
        self._folder, self._key = scratch / secrets.token_hex(8), secrets.token_hex(24)
        self._folder.mkdir()
        self.environment = {
            "NODE_OPTIONS": f"--import={GUARD.as_uri()}",
            "TREADLE_WITNESS": f"{self._folder}|{self._key}",
        }

    def lines(self) -> list[Seen]:
        """All that was told; what nobody has signed is as good as nothing."""
        files = sorted(self._folder.iterdir())[:_MOST_FILES]
        return [line for file in files for line in self._read(read_bytes(file) or b"")]

    def _read(self, data: bytes) -> Iterator[Seen]:
        for row in data.splitlines():
            sign, _, text = row.partition(b" ")
            own = hmac.new(self._key.encode(), text, hashlib.sha256).hexdigest().encode()
            if hmac.compare_digest(sign, own):
                yield msgspec.json.decode(text, type=Seen)


def guards(command: tuple[str, ...]) -> bool:
    """Whether a test command is one of those that can be watched."""
    names = [Path(word).name for word in command]
    return (names[:1] == ["node"] and "--test" in names) or any(name in ("vitest", "vitest.mjs") for name in names)


def is_seen(lines: Iterable[Seen]) -> bool:
    """Whether tests were watched one by one, so that their verdicts have another witness than the report."""
    known = list(lines)
    return any(line.began for line in known) and not any(line.passed is None for line in known)


def bent(lines: Iterable[Seen], passed: Iterable[str]) -> Iterator[str]:
    """Where what was seen from inside says something else than the report, which names what passed."""
    known = list(lines)
    for name in dict.fromkeys(line.changed for line in known if line.changed):
        yield f"{name} was exchanged while the tests ran"
    for name in dict.fromkeys(line.tried for line in known if line.tried):
        yield f"{name} was to be exchanged while the tests ran"
    seen = Counter(line.test for line in known if line.passed)
    for name, times in Counter(passed).items() if is_seen(known) else ():
        if times > seen[name]:
            yield f"'{name}' is reported as passed {times} times, and was seen to pass {seen[name]} times"
