"""Protocols that hypothesis makes up: well formed as data, not necessarily sensible."""

from typing import Any, get_args

import msgspec
from hypothesis import strategies as st

from treadle.protocol.model import (
    PERMS,
    SYSTEM_EXITS,
    Artifact,
    Authority,
    Becomes,
    Budget,
    CancelGroup,
    CheckRef,
    Exit,
    Field,
    Graph,
    Handler,
    Limits,
    Mode,
    Need,
    Proof,
    Protection,
    Protocol,
    Recipient,
    Record,
    ResetThread,
    Role,
    Route,
    Send,
    Severity,
    Spawn,
    Step,
    Thread,
    Tier,
    Wait,
)
from treadle.protocol.reading.assembly import clone_gates
from treadle.protocol.reading.parse import EXIT_KEYS, RECORD_KEYS
from treadle.protocol.reading.part import Log
from treadle.protocol.reading.steps import RESERVED

LETTERS = "abcXYZ"
TEXT = st.text(max_size=20) | st.sampled_from(
    ["", "true", "~", "1", "a: b", "- x", "# c", "'", "é\u2028\x85\ufeff", "x\n y\n"]
)
NAMES = st.text(alphabet=LETTERS + "019_-", min_size=1, max_size=6).filter(lambda name: name not in RESERVED)
WORDS = st.builds(str.__add__, st.sampled_from(LETTERS), st.text(alphabet=LETTERS + "019_-", max_size=5))
FIELDS = st.text(alphabet=LETTERS + "_", min_size=1, max_size=6)
STEPS = st.sampled_from(["a", "b", "c", "x-1", "null", "on", "12"])
BUDGETS = st.sampled_from(["rounds", "tries"])
KEYS = WORDS | st.builds("{}.{}".format, WORDS, WORDS) | st.sampled_from([*SYSTEM_EXITS, "!*", "!gate.red"])
TARGETS = STEPS | st.builds("@end:{}".format, WORDS) | st.builds("^{}".format, STEPS) | st.just("@resume")
TYPES = st.sampled_from(["text", "int", "[path]", "Bug", "A | B", "1 | 2", "[Bug]?", "text?"])
NUMBERS = st.integers(0, 10**6)


def few(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


def named(
    keys: st.SearchStrategy[str], values: st.SearchStrategy[Any], least: int = 0
) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(keys, values, min_size=least, max_size=3)


FIELD = st.builds(
    Field,
    type=TYPES,
    by=st.sampled_from(get_args(Authority)),
    route=st.sampled_from(["", "value", "items"]),
    help=TEXT,
    also=few(FIELDS),
)
RECORD = st.builds(Record, fields=named(FIELDS.filter(lambda name: name not in RECORD_KEYS), FIELD), help=TEXT)
EXIT = st.builds(
    Exit,
    fields=named(FIELDS.filter(lambda name: name not in EXIT_KEYS), FIELD),
    route_on=FIELDS,
    severity=st.sampled_from(get_args(Severity)),
    route_hint=TEXT,
    proves=st.sampled_from(get_args(Proof)),
    symbol=TEXT,
    help=TEXT,
    also=few(WORDS),
)
ROLE = st.builds(
    Role,
    display=TEXT,
    models=few(TEXT),
    template=TEXT,
    modes=named(WORDS, st.builds(Mode, template=TEXT, exits=few(WORDS), symbol=TEXT, help=TEXT)),
    perms=few(st.sampled_from(PERMS)),
    reads=few(TEXT),
    writes=few(TEXT),
    hidden=few(TEXT),
    interactive=st.booleans(),
)
CHECK = st.builds(CheckRef, name=FIELDS, arg=TEXT, advisory=st.booleans())
NEED = st.sampled_from(
    [
        Need(step="a", exit="Ok"),
        Need(step="b", exit="Ok", optional=True),
        Need(step="c", exit="Ok", every=True),
        Need(step="a", exit="Ok", up=True),
        Need(exit="!*", optional=True),
        Need(exit="!crash"),
    ]
)
THREAD = st.sampled_from(
    [
        Thread(),
        Thread(kind="resume"),
        Thread(kind="resume", step="a", degrade="fail"),
        Thread(kind="fork", step="b", up=True),
        Thread(degrade="fail"),
    ]
)
ACTION = st.one_of(
    st.builds(Spawn, group=NAMES, graph=NAMES, over=TEXT),
    st.builds(Send, signal=WORDS, to=st.sampled_from(get_args(Recipient))),
    st.builds(Tier, by=st.integers(1, 3)),
    st.builds(ResetThread, step=STEPS | st.just("")),
    st.builds(CancelGroup, group=NAMES),
)


def routes(targets: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    route = st.builds(
        Route,
        to=targets,
        do=few(ACTION),
        when=TEXT,
        charge=BUDGETS | st.just(""),
        fresh=st.booleans(),
        sync=st.booleans(),
        sets=named(NAMES, TEXT),
    )
    return named(KEYS, st.lists(route, min_size=1, max_size=2).map(tuple))


def steps(targets: st.SearchStrategy[str], ask_targets: st.SearchStrategy[str]) -> st.SearchStrategy[Step]:
    every: dict[str, Any] = {
        "title": TEXT,
        "symbol": TEXT,
        "row": NAMES | st.just(""),
        "wait": few(st.sampled_from([Wait(kind="manual"), Wait(kind="group", group="g")])),
        "needs": few(NEED),
        "prio": NUMBERS,
    }
    work: dict[str, Any] = {
        "routes": routes(targets),
        "gates": named(KEYS, few(CHECK)),
        "attempts": st.integers(1, 9),
        "becomes": st.lists(st.builds(Becomes, key=TEXT, when=TEXT), min_size=1, max_size=2).map(tuple),
        "pools": few(NAMES | st.just("parent:branch")),
        "timeout": NUMBERS,
        "lane": NAMES,
    }
    return st.one_of(
        st.builds(
            Step,
            kind=st.just("agent"),
            role=NAMES,
            mode=WORDS | st.just(""),
            exits=few(WORDS),
            template=TEXT,
            nudge_after=NUMBERS,
            nudges=NUMBERS,
            thread=THREAD,
            reads=st.none() | few(TEXT),
            writes=st.none() | few(TEXT),
            stubs=few(TEXT),
            keep_work=st.booleans(),
            estimate=st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
            **work,
            **every,
        ),
        st.builds(Step, kind=st.just("effect"), effect=NAMES, exits=few(WORDS), **work, **every),
        st.builds(Step, kind=st.just("check"), checks=few(CHECK), **work, **every),
        st.builds(
            Step,
            kind=st.just("ask"),
            asks=st.sampled_from(["human", "parent"]),
            signal=WORDS,
            choices=named(KEYS, TEXT),
            notes=few(TEXT),
            template=TEXT,
            remind=NUMBERS,
            default=TEXT,
            default_after=NUMBERS,
            skippable=st.booleans(),
            routes=routes(ask_targets),
            **every,
        ),
        st.builds(
            Step,
            kind=st.just("map"),
            graph=NAMES,
            over=TEXT,
            window=st.sampled_from(["", "3", "in.n"]),
            after=TEXT,
            keep_going=st.booleans(),
            keep_done=st.booleans(),
            routes=routes(targets),
            **every,
        ),
    )


def graphs(targets: st.SearchStrategy[str], ask_targets: st.SearchStrategy[str]) -> st.SearchStrategy[Graph]:
    return st.builds(
        Graph,
        start=STEPS,
        ends=named(WORDS, few(NEED)),
        title=TEXT,
        input=st.just(("input", "")) | st.tuples(FIELDS, TYPES | st.just("")),
        steps=st.dictionaries(STEPS, steps(targets, ask_targets), min_size=1, max_size=5),
        handlers=named(
            WORDS | st.just("child:Lost"),
            st.builds(
                Handler,
                step=STEPS,
                prio=NUMBERS,
                coalesce=st.booleans(),
                reply=st.booleans(),
                preempt=st.integers(-1, 99),
            ),
        ),
        budgets=st.dictionaries(BUDGETS, st.builds(Budget, max=NUMBERS, to=TARGETS, resets=few(STEPS)), max_size=2),
        system=named(
            st.sampled_from([*SYSTEM_EXITS, "!*", "!gate.red"]),
            routes(targets).map(lambda table: next(iter(table.values()), (Route(to="a"),))),
        ),
        ok=named(NAMES, few(WORDS)),
        vars=named(FIELDS, st.booleans() | st.integers(-5, 5) | TEXT),
        commands=named(st.sampled_from(["/p", "/x:y", "go"]), STEPS),
    )


def protocols(graph: st.SearchStrategy[Graph]) -> st.SearchStrategy[Protocol]:
    return st.builds(
        Protocol,
        name=NAMES,
        version=TEXT,
        root=NAMES,
        title=TEXT,
        help=TEXT,
        types=named(WORDS, RECORD),
        exits=named(WORDS, EXIT),
        roles=named(NAMES, ROLE),
        graphs=named(NAMES, graph, least=1),
        pools=named(NAMES, st.integers(1, 9)),
        limits=st.just(Limits()) | st.builds(Limits, depth=NUMBERS, cost=st.floats(0, 1e6), wall=NUMBERS),
        artifacts=named(NAMES, st.builds(Artifact, path=TEXT, writer=NAMES, symbol=TEXT, view=TEXT, help=TEXT)),
        protections=few(st.builds(Protection, glob=TEXT, level=st.integers(1, 6))),
        toolchain=few(NAMES),
        templates=st.dictionaries(st.sampled_from(["a.jinja", "x/b.jinja"]), TEXT, max_size=2),
    )


def _plain(protocol: Protocol) -> Protocol:
    """With the budgets' targets on the edges, as the loader puts them."""
    filled = {name: clone_gates(graph, "", Log()) for name, graph in protocol.graphs.items()}
    return msgspec.structs.replace(protocol, graphs=filled)


PLAIN: st.SearchStrategy[Protocol] = protocols(graphs(TARGETS, TARGETS)).map(_plain)
"""Protocols as the model has them: nothing is left to resolve."""


def _gated(ask: bool) -> st.SearchStrategy[Step]:
    targets = STEPS | st.sampled_from(["@end:Done", "^a", "@back"] if ask else ["@end:Done", "^a"])
    rows = st.builds(Route, to=targets, charge=BUDGETS | st.just("")).map(lambda route: (route,))
    table = st.dictionaries(st.sampled_from(["Ok", "Bad", "!crash", "!*"]), rows, max_size=3)
    if ask:
        return st.builds(Step, kind=st.just("ask"), asks=st.just("human"), routes=table)
    return st.builds(Step, kind=st.just("agent"), role=st.just("de"), attempts=st.integers(1, 2), routes=table)


_GATED = st.builds(
    Graph,
    start=STEPS,
    ends=st.just({}),
    steps=st.dictionaries(STEPS, _gated(False) | _gated(True), min_size=2, max_size=5),
    handlers=named(WORDS, st.builds(Handler, step=STEPS)),
    budgets=st.dictionaries(BUDGETS, st.builds(Budget, max=NUMBERS, to=STEPS, resets=few(STEPS)), max_size=2),
    system=named(st.sampled_from(["!crash", "!gate", "!*"]), STEPS.map(lambda step: (Route(to=step),))),
)
WITH_GATES: st.SearchStrategy[Protocol] = _GATED.map(
    lambda graph: Protocol(name="gates", version="1", root="main", graphs={"main": graph})
)
"""Protocols as an author writes them: asks may lead back."""
