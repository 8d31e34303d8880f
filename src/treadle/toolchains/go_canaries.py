"""Tests of our own among those of Go packages, so that a program that ends or bends its run cannot keep it to itself.

They lie outside of the checkout and are drawn anew for each run. One must fail; one waits until no other test runs, and
must pass. A program that prints verdicts and leaves has not come to them, and does not know what they are called.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.go_packages import GoPackage
from treadle.toolchains.go_stream import GoStream

PATTERN: Final = "TestTreadle[0-9a-f]{24}"
"""What they are called, for `-run`: the names themselves are in no command."""
_PREVENTING: Final = frozenset("run skip failfast overlay list c exec args bench fuzz count cpu".split())
_ALONE: Final = """package {package}_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func {green}(t *testing.T) {{
	t.Parallel()
	slots := flag.Lookup("test.parallel")
	for room := 1 << 20; slots == nil || slots.Value.String() != "1"; {{
		stacks := make([]byte, room)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if len(stacks) == room && room < 1<<26 {{
			room *= 2
			continue
		}}
		if strings.Count(string(stacks), "created by testing.(*T).Run") <= 1 {{
			break
		}}
		time.Sleep(5 * time.Millisecond)
	}}
	if os.Stdout.Fd() != 1 {{
		t.Fatal("the output goes elsewhere")
	}}
	t.Log("{word}")
}}
"""
_FAILING: Final = """
func {red}(t *testing.T) {{
	t.Fatal("{word}")
}}
"""


def preventing(command: Sequence[str]) -> str:
    """The option of a test command that leaves no room for canaries; empty if there is none."""
    for word in command:
        if word.startswith("-") and word != "-count=1" and word.lstrip("-").partition("=")[0] in _PREVENTING:
            return word
    return "" if "test" in command and Path(command[0]).name == "go" else command[0]


class _Pair(msgspec.Struct, frozen=True):
    green: str
    green_word: str
    red: str
    red_word: str


class GoCanaries:
    """Canaries for one run of some packages."""

    def __init__(self, packages: Sequence[GoPackage], folder: Path, *, failing: bool) -> None:
        self._pairs = {one.import_path: _Pair(*_drawn()) for one in packages}
        self._failing = failing
        replaced = {}
        for number, one in enumerate(packages):
            source = folder / f"canary_{number}.go"
            source.write_text(self._text(one), encoding="utf-8")
            replaced[str(Path(one.dir) / f"zz_{secrets.token_hex(8)}_test.go")] = str(source)
        self.overlay = folder / "overlay.json"
        self.overlay.write_bytes(msgspec.json.encode({"Replace": replaced}))

    def _text(self, package: GoPackage) -> str:
        pair = self._pairs[package.import_path]
        text = _ALONE.format(package=package.name, green=pair.green, word=pair.green_word)
        return text + (_FAILING.format(red=pair.red, word=pair.red_word) if self._failing else "")

    def early(self, stream: GoStream) -> dict[str, str]:
        """The packages whose tests did not come to their end, each with why nobody can say more."""
        return {
            package: why
            for package in self._pairs
            if not self._is_silent(stream, package) and (why := self._amiss(stream, package))
        }

    def _is_silent(self, stream: GoStream, package: str) -> bool:
        """Whether it says nothing of any test: it was not built, or its `TestMain` has run none."""
        is_unbuilt = package in stream.tests and stream.tests[package].phase == "collect"
        started = any(id_.startswith(f"{package}::") for id_ in (*stream.started, *stream.verdicts))
        return is_unbuilt or (stream.ended.get(package) == "pass" and not started)

    def _amiss(self, stream: GoStream, package: str) -> str:
        pair = self._pairs[package]
        expected = [(pair.green, "passed", pair.green_word)]
        expected += [(pair.red, "failed", pair.red_word)] if self._failing else []
        for name, verdict, word in expected:
            id_ = f"{package}::{name}"
            if stream.verdicts.get(id_) != [verdict] or word not in stream.text(package, name):
                return f"a canary that must have {verdict} is not reported so in {package}"
        return ""

    def is_misreported(self, stream: GoStream, package: str) -> bool:
        """Whether a canary has a verdict that it cannot have."""
        pair = self._pairs[package]
        found = {name: stream.verdicts.get(f"{package}::{name}", []) for name in (pair.green, pair.red)}
        return (bool(found[pair.green]) and found[pair.green] != ["passed"]) or "passed" in found[pair.red]

    def late(self, stream: GoStream) -> Iterator[str]:
        """Tests that are said to have ended after the last one did."""
        for package, pair in self._pairs.items():
            ids = [id_ for id_ in stream.order if id_.startswith(f"{package}::")]
            last = f"{package}::{pair.green}"
            after = ids[ids.index(last) + 1 :] if last in ids else []
            yield from (id_ for id_ in after if id_.startswith(f"{package}::Test"))

    def is_own(self, id_: str) -> bool:
        """Whether a test is one of these."""
        package, _, name = id_.partition("::")
        pair = self._pairs.get(package)
        return pair is not None and name in (pair.green, pair.red)

    def hidden(self, output: str) -> str:
        """What was printed, without the lines that are about these."""
        names = {word for pair in self._pairs.values() for word in (pair.green, pair.red)}
        lines = output.splitlines(keepends=True)
        return "".join(line for line in lines if not any(name in line for name in names))


def _drawn() -> Iterator[str]:
    for _ in range(2):
        yield f"TestTreadle{secrets.token_hex(12)}"
        yield secrets.token_hex(16)
