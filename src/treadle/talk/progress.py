"""How far a project is: which stories are done, which are under way, and which one is next."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import Instance, State
from treadle.protocol.items import Item
from treadle.protocol.model import Protocol
from treadle.views.evidence_records import Find, payload, text
from treadle.views.step_words import step_words
from treadle.views.tree import is_good_end, step_alone

Where = Literal["done", "in part", "given up", "under way", "next"]
_NUMBERED: Final = re.compile(r"(.*?)(\d+)")
_INPUT: Final = "in."


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that a run is to do."""

    id: str
    title: str
    where: Where
    step: str = ""
    """Where it stands, if it is under way; of one that is done in part, what is done of it."""
    then: str = ""
    """What comes next, if it is done in part."""


def stories(protocol: Protocol, state: State, find: Find) -> tuple[Story, ...]:
    """Everything that a run maps over at its root, in the order it was given; nothing if it has no such list."""
    root = state.insts.get(ROOT)
    if root is None:
        return ()
    return tuple(_story(protocol, state, root, group, item, find) for group, item in _items(protocol, root))


def _items(protocol: Protocol, root: Instance) -> Iterator[tuple[str, Item]]:
    for name, step in protocol.graphs[root.graph].steps.items():
        if step.kind == "map" and step.over.startswith(_INPUT):
            listed = root.input.fields.get(step.over.removeprefix(_INPUT))
            yield from ((name, it) for it in (listed if isinstance(listed, tuple) else ()) if isinstance(it, Item))


def _story(protocol: Protocol, state: State, root: Instance, group: str, item: Item, find: Find) -> Story:
    title = text(payload(find, item.ref).get("title"))
    members = root.groups[group].members if group in root.groups else {}
    inst = state.insts.get(members.get(item.key, ""))
    if inst is None or (inst.live and not inst.last and not _is_at_work(state, inst)):
        return Story(id=item.key, title=title, where="next")
    if inst.live:
        return Story(id=item.key, title=title, where="under way", step=_at(protocol, inst))
    if part := step_alone(protocol, state, inst):
        return Story(id=item.key, title=title, where="in part", step=part.step, then=part.then)
    good = is_good_end(protocol, state, inst)
    return Story(id=item.key, title=title, where="done" if good else "given up")


def _is_at_work(state: State, inst: Instance) -> bool:
    return any(act.command.inst == inst.id for act in state.acts.values())


def _at(protocol: Protocol, inst: Instance) -> str:
    return step_words(protocol.graphs[inst.graph], inst.frames[-1].step) if inst.frames else ""


def told(found: Sequence[Story]) -> Iterator[str]:
    """The progress, a line for each kind: ✅ done, ☑ done in part, ✗ given up, ▶ under way, ⏭ next."""
    if done := [it.id for it in found if it.where == "done"]:
        yield f"✅ {', '.join(_ranges(done))}"
    if lost := [it.id for it in found if it.where == "given up"]:
        yield f"✗ {', '.join(lost)} (given up)"
    for it in found:
        if it.where == "in part":
            yield f"☑ {named(it)}: {it.step} is done, {it.then} is next"
    for it in found:
        if it.where == "under way":
            yield f"▶ {named(it)}: {it.step}"
    if later := [it for it in found if it.where == "next"]:
        more = f" (then {', '.join(it.id for it in later[1:4])}{' …' if len(later) > 4 else ''})" if later[1:] else ""
        yield f"⏭ Next {named(later[0])}{more}"


def named(story: Story) -> str:
    """`US-006 checkout flow`."""
    return f"{story.id} {story.title}".strip()


def _ranges(ids: Iterable[str]) -> Iterator[str]:
    """`US-001, US-002, US-003` as `US-001 ~ US-003`."""
    run: list[str] = []
    for id_ in ids:
        if run and not _follows(run[-1], id_):
            yield from _range(run)
            run = []
        run.append(id_)
    yield from _range(run)


def _range(run: list[str]) -> list[str]:
    return [f"{run[0]} ~ {run[-1]}"] if len(run) > 2 else run


def _follows(one: str, other: str) -> bool:
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if not first or not second or first[1] != second[1] or len(first[2]) != len(second[2]):
        return False
    return int(second[2]) == int(first[2]) + 1
