"""What the page of a protocol tells besides its tables: when to choose it, how a run goes, and a run as it went."""

from collections.abc import Iterator
from typing import Final

import msgspec

from tools.places import DOCS, read_yaml
from tools.timelines import Turn, recorded
from treadle.protocol.drawing.table import markdown_table, step_worker
from treadle.protocol.model import CheckRef, Protocol, Step, base_of, tag_of

STORIES: Final = DOCS / "stories"
COLUMNS: Final = ("Time", "Node", "Step", "Who", "Exit", "Checked", "What happens")

_INTRO: Final = """\
`treadle demo --protocol {name}`, as it went once: each activity when it ended, with the number of the visit and of the
attempt. The agents are scripted and need no time, so the bars show how long the checks took; a red one is a check that
did not hold. `python -m tools.timelines {name}` records it anew.
"""


class Story(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person should know first, in Markdown."""

    choose: str = ""
    """What the protocol is for, and when to take it."""
    goes: tuple[str, ...] = ()
    """How a run goes, from its start to its end."""


def story(name: str) -> Story:
    """What is told about a protocol; nothing, if nobody has written it yet."""
    path = STORIES / f"{name}.yaml"
    return msgspec.convert(read_yaml(path), Story) if path.is_file() else Story()


def how_it_goes(told: Story, *, has_timeline: bool) -> str:
    """The section for the story."""
    if not told.goes:
        return ""
    steps = "".join(f"{number}. {text}\n" for number, text in enumerate(told.goes, 1))
    further = "\n[A recorded run](#a-recorded-run) shows all of it at work.\n" if has_timeline else ""
    return f"## How a run goes\n\n{steps}{further}"


def recorded_run(protocol: Protocol) -> str:
    """The section for the timeline; one that names what the protocol does not have is refused."""
    turns = recorded(protocol.name)
    if not turns:
        return ""
    if wrong := list(astray(protocol, turns)):
        raise SystemExit(f"docs/timelines/{protocol.name}.yaml is stale; record it anew: {'; '.join(wrong)}")
    table = markdown_table(COLUMNS, (_line(protocol, turn) for turn in turns))
    return (
        f"## A recorded run\n\n{_INTRO.format(name=protocol.name)}\n```mermaid\n{gantt(protocol, turns)}```\n\n{table}"
    )


def astray(protocol: Protocol, turns: list[Turn]) -> Iterator[str]:
    """Every name in a timeline that the protocol does not have, or not there."""
    for turn in turns:
        step = _step(protocol, turn)
        if step is None:
            yield f"{turn.act}: there is no step '{turn.step}'"
        elif not turn.exit.startswith("!") and not _leaves_by(protocol, step, turn.exit):
            yield f"{turn.act}: '{turn.exit}' is no exit of '{turn.step}'"
        elif step.kind == "agent" and (strange := set(turn.checked) - {it.name for it in _gates(step, turn.exit)}):
            yield f"{turn.act}: '{turn.exit}' is not checked for {', '.join(sorted(strange))}"


def gantt(protocol: Protocol, turns: list[Turn]) -> str:
    """A timeline as Mermaid text: a section for each node, a bar for each turn, a red one for what did not hold."""
    nodes = sorted({turn.node for turn in turns})
    lines = [line for node in nodes for line in (f"  section {node}", *_bars(protocol, turns, node))]
    return "\n".join(["gantt", "  dateFormat x", "  axisFormat %M:%S", *lines, ""])


def _bars(protocol: Protocol, turns: list[Turn], node: str) -> Iterator[str]:
    for turn in turns:
        if turn.node == node:
            step = _step(protocol, turn)
            advice = {check.name for check in _gates(step, turn.exit) if check.advisory} if step else set()
            tag = "crit, " if set(turn.failed) - advice else ""
            yield f"  {turn.step} {turn.number} {turn.exit} :{tag}{turn.began * 1000:.0f}, {turn.ended * 1000:.0f}"


def _line(protocol: Protocol, turn: Turn) -> tuple[str, ...]:
    step = _step(protocol, turn)
    by = (
        ""
        if step is None
        else "a person"
        if step.kind == "ask"
        else "checks"
        if step.kind == "check"
        else step_worker(step)
    )
    passed = ", ".join(check for check in turn.checked if check not in turn.failed)
    return (
        f"{turn.ended:.1f} s",
        turn.node,
        f"{turn.step} {turn.number}",
        by,
        turn.exit,
        "; ".join(filter(None, (f"{', '.join(turn.failed)} failed" if turn.failed else "", passed))),
        turn.say,
    )


def _step(protocol: Protocol, turn: Turn) -> Step | None:
    """The step of that name; of several graphs' ones, the first that has the exit, with its checks if there is one."""
    named = [it for graph in protocol.graphs.values() for name, it in graph.steps.items() if base_of(name) == turn.step]
    fitting = [it for it in named if turn.exit in _exits(it)]
    checked = [it for it in fitting if set(turn.checked) <= {check.name for check in _gates(it, turn.exit)}]
    return next(iter((*checked, *fitting, *named)), None)


def _leaves_by(protocol: Protocol, step: Step, key: str) -> bool:
    """Whether a step has that exit: by name, or one whose variants its table does not tell apart."""
    declared = protocol.exits.get(tag_of(key))
    return key in _exits(step) or (tag_of(key) in _exits(step) and declared is not None and bool(declared.route_on))


def _exits(step: Step) -> set[str]:
    keys = {*step.exits, *step.routes, *step.choices}
    return keys | {tag_of(key) for key in keys}


def _gates(step: Step, key: str) -> tuple[CheckRef, ...]:
    return step.gates.get(key) or step.gates.get(tag_of(key)) or ()
