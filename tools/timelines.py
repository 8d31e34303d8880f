"""Records the timelines on the pages of the protocols: what happens in a protocol's demo, which is a real run.

python -m tools.timelines v3 fractal    performs these demos and writes docs/timelines/NAME.yaml; `make docs` follows
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from tools.places import DOCS, read_yaml
from treadle.kernel.events import Checked, Exited, Failed, Replied
from treadle.testing.demos import Beat, Demo, demo
from treadle.views.timeline import LoggedEvent

TIMELINES: Final = DOCS / "timelines"
STARTS: Final = ("RunAgent", "RunEffect", "RunChecks", "AskHuman")
KILLED: Final = "Here the demo ends the driving process by kill -9, and another process resumes the run."


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One activity of a run, or one answer of a person, in seconds since the run's start."""

    began: float
    ended: float
    act: str
    """`root/money:impl#1.2`: the node, the step, which visit of it, which attempt."""
    exit: str
    checked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    say: str = ""
    """What the demo tells its viewers about it."""

    @property
    def node(self) -> str:
        return self.act.rpartition(":")[0]

    @property
    def step(self) -> str:
        return self.act.rpartition(":")[2].partition("#")[0].partition("@")[0]

    @property
    def number(self) -> str:
        return self.act.rpartition("#")[2]


def recorded(name: str) -> list[Turn]:
    """The timeline of a protocol; empty if none is recorded."""
    path = TIMELINES / f"{name}.yaml"
    return msgspec.convert(read_yaml(path)["turns"], list[Turn]) if path.is_file() else []


def record(name: str) -> None:
    """Performs the demo of a protocol, and writes down what happened."""
    with TemporaryDirectory() as place:
        folder = Path(place) / name
        _treadle("demo", str(folder), "--protocol", name, at=place)
        log = _treadle("log", demo(name).run, "--json", at=str(folder)).splitlines()
    made = turns((msgspec.json.decode(line, type=LoggedEvent) for line in log), demo(name))
    lines = "".join(f"  - {msgspec.json.encode(turn).decode()}\n" for turn in made)
    TIMELINES.mkdir(exist_ok=True)
    path = TIMELINES / f"{name}.yaml"
    path.write_text(f"# Written by `python -m tools.timelines {name}`.\nturns:\n{lines}", encoding="utf-8")
    print(f"{path.relative_to(DOCS.parent)} is written; `make docs` puts it into the page")


def turns(log: Iterable[LoggedEvent], played: Demo) -> Iterator[Turn]:
    """The turns of a run, in the order in which they ended."""
    began: dict[str, int] = {}
    claims: dict[str, tuple[str, str]] = {}
    beats = [*played.scenes, *([Beat(played.kill, KILLED)] if played.kill else [])]
    first = 0
    for one in log:
        first = first or one.event.ts
        said = _said(one.text, beats)
        match one.event:
            case Exited(act=act, envelope=envelope) if any(it.type == "RunChecks" for it in one.orders):
                claims[act] = (envelope.key, said)
            case Exited(act=act, envelope=envelope, results=results):
                yield _turn(act, envelope.key, began, one, first, {it.check: it.ok for it in results}, said)
            case Checked(act=act, results=results):
                verdict = "Passed" if all(it.ok for it in results) else "Failed"
                key, before = claims.pop(act, (verdict, ""))
                told = " ".join(filter(None, (before, said)))
                yield _turn(act, key, began, one, first, {it.check: it.ok for it in results}, told)
            case Failed(act=act, why=why):
                yield _turn(act, f"!{why}", began, one, first, {}, said)
            case Replied(ask=ask, choice=choice):
                yield _turn(ask, choice, began, one, first, {}, said)
        for order in one.orders:
            if order.type in STARTS:
                began.setdefault(order.id, one.event.ts)


def _turn(
    act: str, key: str, began: dict[str, int], one: LoggedEvent, first: int, results: dict[str, bool], said: str
) -> Turn:
    return Turn(
        began=(began[act] - first) / 1000,
        ended=(one.event.ts - first) / 1000,
        act=act,
        exit=key,
        checked=tuple(results),
        failed=tuple(check for check, ok in results.items() if not ok),
        say=said,
    )


def _said(text: str, beats: list[Beat]) -> str:
    """What is told about a line of the log; each thing once."""
    found = [beat for beat in beats if fnmatchcase(text, beat.see)]
    for beat in found:
        beats.remove(beat)
    return " ".join(beat.say for beat in found)


def _treadle(*words: str, at: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "treadle", *words], cwd=at, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"`treadle {' '.join(words)}` ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    for protocol in sys.argv[1:]:
        record(protocol)
