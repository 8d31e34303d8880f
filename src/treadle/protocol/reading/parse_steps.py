"""Steps: the kind follows from the key that names the work."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from treadle.protocol.findings import suggest
from treadle.protocol.model import Becomes, Kind, Role, Step
from treadle.protocol.reading import notation
from treadle.protocol.reading.parse_routes import table
from treadle.protocol.reading.part import NAME, POOL, SIGNAL, WORD, Part, quoted

KIND_OF: Final[dict[str, Kind]] = {"role": "agent", "effect": "effect", "checks": "check", "ask": "ask", "map": "map"}
_ALL: Final = ("title", "symbol", "routes", "wait", "needs", "prio", "row")
_WORK: Final = ("gates", "attempts", "becomes", "pools", "timeout", "lane")
KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "agent": (
        *(
            "role",
            "exits",
            "template",
            "thread",
            "nudge_after",
            "nudges",
            "reads",
            "writes",
            "stubs",
            "keep_work",
            "estimate",
        ),
        *_WORK,
        *_ALL,
    ),
    "effect": ("effect", "exits", "keep_commits", *_WORK, *_ALL),
    "check": ("checks", *_WORK, *_ALL),
    "ask": (
        "ask",
        "signal",
        "choices",
        "notes",
        "waives",
        "template",
        "remind",
        "default",
        "default_after",
        "skippable",
        *_ALL,
    ),
    "map": ("map", "over", "window", "after", "keep_going", "keep_done", *_ALL),
}
RESERVED: Final = ("up", "in")
"""`up.step.Exit` and `in.field` would be ambiguous with steps of these names."""


def step(part: Part, roles: Mapping[str, Role]) -> Step | None:
    """One step; None if its kind cannot be told."""
    if part.name in RESERVED:
        part.problem(
            f"a step cannot be called {quoted(part.name)}", "this word has a meaning in needs; rename the step"
        )
    kind = _kind(part)
    if kind is None:
        return None
    _known(part, kind)
    read = {"agent": _agent, "effect": _effect, "check": _check, "ask": _ask, "map": _map}[kind]
    return read(part, _common(part, kind), roles)


def _kind(part: Part) -> Kind | None:
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", "write {role: …, routes: …}")
        return None
    found = [kind for key, kind in KIND_OF.items() if part.get(key)]
    if len(found) == 1:
        return found[0]
    if found:
        part.problem(f"this step is both {' and '.join(found)}", "keep one of role, effect, checks, ask, map")
        return None
    near = [hint for key in part.node.keys if (hint := suggest(key, KIND_OF))]
    part.problem("nobody works in this step", near[0] if near else "add one of role, effect, checks, ask, map")
    return None


def _known(part: Part, kind: Kind) -> None:
    for key in part.node.keys:
        if key in KEYS[kind]:
            continue
        others = [other for other, keys in KEYS.items() if key in keys]
        hint = suggest(key, KEYS[kind]) or f"known here: {', '.join(sorted(KEYS[kind]))}"
        problem = f"{quoted(key)} belongs to {' and '.join(others)} steps, and this is {_article(kind)}"
        part.log.add(
            part.node.key_place(key),
            part.path,
            problem if others else f"unknown key {quoted(key)}",
            "remove it" if others else hint,
        )


def _article(kind: Kind) -> str:
    return f"{'an' if kind in ('agent', 'effect', 'ask') else 'a'} {kind}"


def _common(part: Part, kind: Kind) -> Step:
    return Step(
        kind=kind,
        title=part.text("title"),
        symbol=part.text("symbol"),
        routes=table(part.get("routes"), part.name),
        wait=notation.waits(part.get("wait")),
        needs=notation.needs(part.get("needs")),
        prio=part.whole("prio", 2),
        row=part.name_of("row"),
    )


def _work(part: Part, common: Step) -> Step:
    gates = part.get("gates")
    return msgspec.structs.replace(
        common,
        gates={key: notation.checks(entry) for key, entry in gates.entries()} if gates else {},
        attempts=part.whole("attempts", 1, least=1),
        becomes=_becomes(part.get("becomes")),
        pools=part.words("pools", POOL),
        timeout=part.seconds("timeout", 1800),
        lane=part.name_of("lane", NAME, "main"),
    )


def _becomes(part: Part | None) -> tuple[Becomes, ...]:
    if part is None:
        return (Becomes(key="!exhausted"),)
    found = []
    for item in part.items():
        if isinstance(item.node.value, dict):
            item.known("key", "when")
            if item.get("key") is None:
                item.problem("'becomes' without a key", "write {when: …, key: Exit}")
            found.append(Becomes(key=item.text("key", "?"), when=item.text("when")))
        else:
            found.append(Becomes(key=item.as_text()))
    if not found:
        part.problem("'becomes' is empty", "write a routing key, e.g. !exhausted")
    return tuple(found)


def _agent(part: Part, common: Step, roles: Mapping[str, Role]) -> Step:
    role, colon, mode = part.text("role").partition(":")
    for name in (role, mode) if colon else (role,):
        if not NAME.fullmatch(name):
            part.problem(f"{quoted(name)} is not a name", "write `role: NAME` or `role: NAME:Mode`")
    exits, template = _defaults(roles.get(role), mode)
    return msgspec.structs.replace(
        _work(part, common),
        role=role,
        mode=mode,
        exits=part.words("exits", WORD) if part.get("exits") else exits,
        template=part.text("template") if part.get("template") else template,
        thread=notation.thread(part.get("thread")),
        nudge_after=part.seconds("nudge_after", 60),
        nudges=part.whole("nudges", 1),
        reads=part.texts("reads") if part.get("reads") else None,
        writes=part.texts("writes") if part.get("writes") else None,
        stubs=part.texts("stubs"),
        keep_work=part.flag("keep_work"),
        estimate=_estimate(part.get("estimate")),
    )


def _defaults(role: Role | None, mode: str) -> tuple[tuple[str, ...], str]:
    """The exits of the mode; the template of the mode, else of the role."""
    if role is None:
        return (), ""
    chosen = role.modes.get(mode)
    return (chosen.exits, chosen.template or role.template) if chosen else ((), role.template)


def _estimate(part: Part | None) -> tuple[int, int, int, int] | None:
    if part is None:
        return None
    found = tuple(item.as_whole() for item in part.items())
    if len(found) != 4:
        part.problem("'estimate' must be four numbers", "write [read_low, read_high, out_low, out_high]")
        return None
    return found


def _effect(part: Part, common: Step, roles: Mapping[str, Role]) -> Step:  # noqa: ARG001
    return msgspec.structs.replace(
        _work(part, common),
        effect=part.name_of("effect"),
        exits=part.words("exits", WORD),
        keep_commits=part.flag("keep_commits"),
    )


def _check(part: Part, common: Step, roles: Mapping[str, Role]) -> Step:  # noqa: ARG001
    return msgspec.structs.replace(_work(part, common), checks=notation.checks(part.get("checks")))


_ASKED: Final[tuple[Literal["human", "parent"], ...]] = ("human", "parent")


def _ask(part: Part, common: Step, roles: Mapping[str, Role]) -> Step:  # noqa: ARG001
    return msgspec.structs.replace(
        common,
        asks=part.one_of("ask", _ASKED, "human"),
        signal=part.name_of("signal", SIGNAL),
        choices=part.texts_by_name("choices"),
        notes=part.texts("notes"),
        waives=part.texts("waives"),
        template=part.text("template"),
        remind=part.seconds("remind", 0),
        default=part.text("default"),
        default_after=part.seconds("default_after", 0),
        skippable=part.flag("skippable"),
    )


def _map(part: Part, common: Step, roles: Mapping[str, Role]) -> Step:  # noqa: ARG001
    return msgspec.structs.replace(
        common,
        graph=part.name_of("map"),
        over=part.text("over"),
        window=_window(part.get("window")),
        after=part.text("after"),
        keep_going=part.flag("keep_going"),
        keep_done=part.flag("keep_done"),
    )


def _window(part: Part | None) -> str:
    if part is None:
        return ""
    if isinstance(part.node.value, int):
        return str(part.as_whole(1, least=1))
    return part.as_text()
