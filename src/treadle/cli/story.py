"""Runs to watch: a told one, in which much of what a protocol is for happens, and random ones."""

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.simulate.ledger import Ledger
from treadle.simulate.respond import Mood
from treadle.simulate.trace import describe
from treadle.simulate.world import World
from treadle.testing.scenario import Scenario, items

PATIENCE = 150


class Scene(NamedTuple):
    """What has just happened, and how things stand after it."""

    caption: str
    state: State


def told(protocol: Protocol) -> Iterator[Scene]:
    """A run of v3 with two children: lies are found out, a review sends back, a merge interrupts, a person helps."""
    run = Scenario(protocol)
    for caption, happens in _EVENTS:
        happens(run)
        yield Scene(caption, run.state)


def _retry(run: Scenario) -> Scenario:
    return run.says("RequestRetry", at="root:impl")


_LEXER, _PARSER = "root/lexer", "root/parser"
_EVENTS: tuple[tuple[str, Callable[[Scenario], Scenario]], ...] = (
    ("A run starts: the planner reads the spec.", lambda run: run),
    (
        "The planner writes interfaces and a contract suite, and hands two parts to children.",
        lambda run: run.says("InitWork", childSpecs=items("lexer", "parser")),
    ),
    ("lexer is small enough to be built directly.", lambda run: run.says("InitWork", at=f"{_LEXER}:scaffold")),
    ("So is parser.", lambda run: run.says("InitWork", at=f"{_PARSER}:scaffold")),
    (
        "root's own tests are written, and they fail as they should.",
        lambda run: run.says("TestsReady", at="root:tests"),
    ),
    ("lexer's test author claims that its tests fail …", lambda run: run.claims("TestsReady", at=f"{_LEXER}:tests")),
    ("… but one of them passes without any code. Refused.", lambda run: run.checked(f"{_LEXER}:tests", ["red"])),
    ("The second attempt is red for the right reason.", lambda run: run.says("TestsReady", at=f"{_LEXER}:tests")),
    ("parser's tests are red too.", lambda run: run.says("TestsReady", at=f"{_PARSER}:tests")),
    ("lexer's implementer claims that all tests pass …", lambda run: run.claims("TestsPassed", at=f"{_LEXER}:impl")),
    (
        "… and they do, because it changed a test. Refused.",
        lambda run: run.checked(f"{_LEXER}:impl", ["tests_unmodified"]),
    ),
    ("Now they pass as they were written.", lambda run: run.says("TestsPassed", at=f"{_LEXER}:impl")),
    (
        "The reviewer finds a case that no test covers.",
        lambda run: run.says("MoreTests", at=f"{_LEXER}:review", additionalTests=1),
    ),
    ("The missing test is written, and red.", lambda run: run.says("TestsReady", at=f"{_LEXER}:tests")),
    ("It is made to pass.", lambda run: run.says("TestsPassed", at=f"{_LEXER}:impl")),
    ("The reviewer approves.", lambda run: run.says("Approved", at=f"{_LEXER}:review")),
    (
        "lexer is merged. parser must rebase before it goes on, root must judge lexer.",
        lambda run: run.says("MergeComplete", at=f"{_LEXER}:merge"),
    ),
    ("root accepts lexer.", lambda run: run.says("ChildAccepted", at="root:judge")),
    (
        "parser's implementer is done: accepted first, then the rebase.",
        lambda run: run.says("TestsPassed", at=f"{_PARSER}:impl"),
    ),
    ("The rebase is clean, and cost no tokens.", lambda run: run.says("RebaseClean", at=f"{_PARSER}:rebase")),
    ("parser is approved.", lambda run: run.says("Approved", at=f"{_PARSER}:review")),
    ("parser is merged.", lambda run: run.says("MergeComplete", at=f"{_PARSER}:merge")),
    ("root accepts parser, and may implement its own part at last.", lambda run: run.says("ChildAccepted")),
    *((f"The implementer fails, and asks for another try ({number} of 5).", _retry) for number in range(1, 5)),
    ("The fifth failure is the last: a person is asked.", _retry),
    ("A person looks at it, leaves a note, and says: retry.", lambda run: run.answers("retry", note="ref:note")),
    ("With the note it works.", lambda run: run.says("TestsPassed", at="root:impl")),
    ("The reviewer approves.", lambda run: run.says("Approved", at="root:review")),
    ("Everything is merged.", lambda run: run.says("MergeComplete", at="root:merge")),
)


def simulated(protocol: Protocol, seed: int, faults: float) -> Iterator[Scene]:
    """A run in a random world, until it ends."""
    world, state, ledger = World(protocol, Random(f"{protocol.name} {seed}"), faults), State(), Ledger()
    event: Event | None = world.start()
    count = 0
    while event is not None:
        state, commands = reduce(protocol, state, event)
        ledger.enter(event, commands)
        yield Scene(describe(event), state)
        if state.outcome:
            return
        count += 1
        mood: Mood = "wild" if count < PATIENCE else "kind" if count < 4 * PATIENCE else "ending"
        event = world.next(state, ledger, mood)
