"""Fakes of the ports: a clock that stands still, agents that answer at once, a world without git and measurements.

Each port writes a line to a journal when it really acts, so that a test can detect repeated work.
"""

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Final

from treadle.agents.contract import played_end, put_answer, start_playing
from treadle.config.secrets import Redaction
from treadle.kernel.commands import RunAgent, RunChecks, RunEffect
from treadle.kernel.events import CheckResult
from treadle.kernel.state import State
from treadle.ports import Abilities, Case, Ended, Lane, Outcome, Runner, Session, Verdict, Watch, Work
from treadle.protocol.answers.schema import TAG
from treadle.protocol.fields import (
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarName,
    ScalarType,
    TypeExpr,
    parse_type,
)
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol, exit_keys, tag_of
from treadle.runtime.dispatch import folder_name
from treadle.runtime.world import AgentDirectory, Prices
from treadle.simulate.world import Nearest


class StillClock:
    """A clock that moves only by `advance`; `set_wall` changes the wall time alone."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now, self._elapsed = now, 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> int:
        return self._now

    def elapsed(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until a test has advanced the clock that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + seconds, woken))
        await woken

    def naps(self) -> list[float]:
        """Return the remaining seconds of each sleeper."""
        return [at - self._elapsed for at, woken in self._sleepers if not woken.done()]

    def set_wall(self, now: int) -> None:
        """Set the wall clock."""
        self._now = now

    async def advance(self, seconds: float) -> None:
        """Let time pass, and run the tasks that it wakes."""
        end = self._elapsed + seconds
        await _idle()
        while due := sorted((at, number) for number, (at, _) in enumerate(self._sleepers) if at <= end):
            at, number = due[0]
            self._move(at)
            woken = self._sleepers.pop(number)[1]
            if not woken.done():
                woken.set_result(None)
            await _idle()
        self._move(end)
        await _idle()

    def _move(self, elapsed: float) -> None:
        self._now += round((elapsed - self._elapsed) * 1000)
        self._elapsed = elapsed


async def _idle() -> None:
    """Let every ready task run."""
    for _ in range(20):
        await asyncio.sleep(0)


# Instant agents: each activity is one function call in this process.


class Instant:
    """A runner with agents that work in their lane and answer at once; a finished activity is not repeated."""

    abilities = Abilities()

    def __init__(self, turn: Callable[[Work], dict[str, Json]], done: Callable[[Work], None] = lambda _: None) -> None:
        self._turn, self._done = turn, done

    async def start(self, work: Work, watch: Watch) -> Session:  # noqa: ARG002
        async def play() -> Ended:
            put_answer(work, self._turn(work))
            self._done(work)
            return Ended(how="done", code=0)

        return await start_playing(work, play)

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        return None

    async def harvest(self, work: Work) -> Ended | None:
        return played_end(work)


class SingleAgent(AgentDirectory):
    """One runner for every job; `real` knows the agents' names, models, prices and keys."""

    def __init__(self, runner: Runner, real: AgentDirectory | None = None) -> None:
        self._runner, self._real = runner, real

    def runner_of(self, job: RunAgent) -> Runner:  # noqa: ARG002
        return self._runner

    def name_of(self, job: RunAgent) -> str:
        return self._real.name_of(job) if self._real else super().name_of(job)

    def model_of(self, role: str, tier: int) -> str:
        return self._real.model_of(role, tier) if self._real else super().model_of(role, tier)

    def prices_of(self, role: str) -> Prices:
        return self._real.prices_of(role) if self._real else super().prices_of(role)

    def secrets(self) -> Redaction:
        return self._real.secrets() if self._real else super().secrets()


# Plausible values of a protocol's types, in place of measurements.

_SCALARS: Final[dict[ScalarName, Json]] = {"text": "x", "path": "src/x.py", "int": 1, "number": 1.0, "bool": True}
_DEPTH: Final = 3


def computed_fields(protocol: Protocol, exit_: str) -> dict[str, Json]:
    """Make values for the fields of an exit that do not come from the agent."""
    fields = protocol.exits[exit_].fields
    return plausible_values(protocol, {name: field for name, field in fields.items() if field.by != "agent"})


def plausible_values(protocol: Protocol, fields: Mapping[str, Field], depth: int = 0) -> dict[str, Json]:
    """A value for each field; lists have one element, optional ones are left out."""
    return {name: _value(protocol, name, parse_type(field.type), depth) for name, field in fields.items()}


def _value(protocol: Protocol, name: str, expr: TypeExpr, depth: int) -> Json:
    match expr:
        case OptionalType():
            return None
        case ScalarType(name="text"):
            return f"{name}-1"
        case ScalarType(name=scalar):
            return _SCALARS[scalar]
        case EnumType(values=values):
            return values[0]
        case ListType(item=item):
            return [] if depth >= _DEPTH else [_value(protocol, name, item, depth + 1)]
        case RecordType(name=record):
            return plausible_values(protocol, protocol.types[record].fields, depth + 1)


# A world without git and without measurements, for tests of everything around them: it believes every claim.

_BAD: Final = ("Rejected", "Conflict", "Drift", "Failed")


class Journal:
    """A file with one line for each action; it survives the process that wrote it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, *words: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(" ".join(words) + "\n")

    def lines(self) -> list[str]:
        return self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []


class PlainWorkspace:
    """Lanes are plain folders, one for each lane of each instance."""

    def __init__(self, root: Path, journal: Journal) -> None:
        self._root, self._journal = root, journal

    async def open(self, state: State, job: RunAgent) -> Lane:
        path = self._root / "lanes" / folder_name(f"{state.run}/{job.inst}") / job.lane
        await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True)
        return Lane(path=path, base="")

    async def save(self, run: str, act: str) -> str:
        self._journal.note("save", run, act)
        return ""

    async def changed(self, run: str, act: str) -> tuple[str, ...]:  # noqa: ARG002 - nobody knows what was there before
        return ()

    async def close(self, run: str) -> None:
        shutil.rmtree(self._root / "lanes" / run, ignore_errors=True)


class BelievingChecks:
    """Every check passes, and computed fields get values that could be true."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        self._journal.note("checks", case.state.run, f"{job.id}~{job.retry}")
        results = tuple(CheckResult(check.name, ok=True) for check in job.checks)
        fields = computed_fields(case.protocol, tag_of(job.exit)) if job.exit else {}
        own = {name for name in fields if case.protocol.exits[tag_of(job.exit)].fields[name].by == "kernel"}
        return Verdict(results=results, fields={name: one for name, one in fields.items() if name not in own})


class SmoothEffects:
    """Every effect ends by the first of its exits that is not a failure."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        self._journal.note("effect", case.state.run, f"{job.id}~{job.retry}")
        exits = case.protocol.graphs[job.graph].steps[job.step].exits
        good = next((name for name in exits if not name.endswith(_BAD)), exits[0])
        fields: dict[str, Json] = plausible_values(case.protocol, case.protocol.exits[good].fields)
        return Outcome(exit=good, fields=fields)


class RecordingNotifier:
    """A notifier that only remembers."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []

    async def notify(self, run: str, what: str, text: str) -> None:
        self.messages.append((run, what, text))


# Improvising agents and people: any protocol, any step, the same answer for the same seed and activity.


class Improvised(Instant):
    """A runner with agents that choose the shortest way to a good end or, with probability `whims`, any exit."""

    def __init__(self, protocol: Protocol, journal: Journal, *, seed: int = 0, whims: float = 0.0) -> None:
        super().__init__(self._play, lambda work: journal.note("agent", work.run, f"{work.act}~{work.retry}"))
        self._protocol = protocol
        self._seed, self._whims = seed, whims
        self._nearest = Nearest(protocol)

    def _play(self, work: Work) -> dict[str, Json]:
        (work.lane / f"{work.step}.txt").write_text(f"{work.act}\n", encoding="utf-8")
        graph = json.loads((work.bundle / "context.json").read_bytes())["graph"]
        exits = exit_keys(self._protocol, self._protocol.graphs[graph].steps[work.step])
        random = Random(f"{self._seed}:{work.act}")
        is_whim = random.random() < self._whims
        keys = exits if is_whim else self._nearest.best(graph, work.step, exits, good=True)
        name, _, variant = random.choice(keys).partition(".")

        exit_ = self._protocol.exits[name]
        asked = {
            field: one
            for field, one in exit_.fields.items()
            if one.by == "agent" and not isinstance(parse_type(one.type), OptionalType)
        }
        refined: dict[str, Json] = {exit_.route_on: variant} if variant else {}
        return {TAG: name, **plausible_values(self._protocol, asked), **refined}


def decide(protocol: Protocol, state: State, seed: int = 0) -> dict[str, str]:
    """Answer the open questions with the choices that lead to a good end soonest."""
    nearest = Nearest(protocol)
    found: dict[str, str] = {}
    for id_, ask in sorted(state.asks.items()):
        if ask.command is None:
            continue
        if ask.command.graph not in protocol.graphs:
            found[id_] = "continue"
            continue
        keys = nearest.best(ask.command.graph, ask.step, ask.command.choices, good=True)
        found[id_] = Random(f"{seed}:{id_}").choice(keys)
    return found
