"""Outcomes of earlier work, in words: failed attempts, payloads of exits, and the results of a map's children."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.prompts.foreign import inline
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.model import Exit, Protocol, tag_of

_AGENT: Final = "report"
_PERSON: Final = "told"
KEYS: Final = (_AGENT, _PERSON)
"""The fields of a report that hold the words for each reader."""


def failure_report(agent: str, person: str) -> dict[str, Json]:
    """Return a report with words for the agent and for a person; once, if they are the same."""
    return {_AGENT: agent} if agent == person else {_AGENT: agent, _PERSON: person}


def for_agent(report: Json) -> Json:
    """Return a report's words for an agent; a report that is plain text is the same for every reader."""
    return report.get(_AGENT, report) if isinstance(report, dict) else report


def for_person(report: Json) -> Json:
    """Return a report's words for a person."""
    return report.get(_PERSON, for_agent(report)) if isinstance(report, dict) else report


# An exit's payload in words: a line for each field, in the order that the exit declares.

_NOTHING: Final[tuple[Json, ...]] = (None, "", "none", [], {})
"""Values that mean the same as an absent field."""


def exit_text(exits: Iterable[Exit], fields: Mapping[str, Json]) -> str:
    """Format the fields of a payload, a line each; `exits` are the candidates that may declare them."""
    declared = next((it.fields for it in exits if it.fields.keys() >= fields.keys()), {})
    names = [*(name for name in declared if name in fields), *(name for name in fields if name not in declared)]
    lines = []
    for name in names:
        if fields[name] not in _NOTHING:
            text = value_text(fields[name])
            between = "\n" if "\n" in text else " "
            lines.append(f"{name.replace('_', ' ')}:{between}{text}")
    return "\n".join(lines)


def value_text(value: Json) -> str:
    """Format a value as part of a sentence; a list of records gets a line for each."""
    match value:
        case str():
            return value.strip()
        case list() if any(isinstance(one, dict) for one in value):
            return "\n".join(f"- {value_text(one)}" for one in value)
        case list():
            return ", ".join(map(value_text, value))
        case dict():
            given = {name.replace("_", " "): one for name, one in value.items() if one not in _NOTHING}
            return "; ".join(f"{name}: {' '.join(value_text(one).split())}" for name, one in given.items())
    return inline(value)


# Why a child did not end well: its last blocker, and the note of the person who gave it up.

Words = Callable[[Json], Json]
"""Picks the words of a report for its reader."""


def trouble(protocol: Protocol, child: Instance, payloads: Payloads, words: Words) -> str:
    """Format why a child did not end well, line by line; empty if nothing is recorded."""
    # The latest blocker exit or failure counts, unless its step was left by another exit since.
    blockers = []
    for name, slot in child.slots.items():
        step, _, exit_ = name.rpartition(".")
        declared = protocol.exits.get(exit_)
        blocks = exit_.startswith("!") or (declared is not None and declared.severity == "BLOCKER")
        if blocks and tag_of(child.last.get(step, "")) == exit_:
            blockers.append((slot.seq, step, exit_, declared, slot.ref))
    lines: list[str] = []
    if blockers:
        _, step, exit_, declared, ref = max(blockers, key=lambda one: one[0])
        lines.append(f"{step} ended with {exit_}")
        said = words(payloads.get(ref)) if ref else ""
        if isinstance(said, dict):
            # Only the agent's own fields: computed ones are shown elsewhere.
            own = {name for name, field in declared.fields.items() if field.by == "agent"} if declared else said.keys()
            lines += [f"{name}: {_plain(value)}" for name, value in said.items() if name in own]
        elif said:
            lines.append(_plain(said))
    note = payloads.get(child.result.ref) if child.result.ref else ""
    if note and isinstance(note, str):
        lines.append(f"the person who gave it up says: {note}")
    return "\n".join(lines)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# The results of a map's children, for the readers of its payload.


def ended_children(state: State, inst: Instance, step: str, results: Routed, payloads: Payloads, words: Words) -> Json:
    """Return each child of a map: its key, instance, outcome, last exit, the commit of its last work, and its
    payload.
    """
    group = inst.groups.get(step)
    found: list[Json] = []
    for item in results if isinstance(results, tuple) else ():
        if not isinstance(item, Item):
            continue
        child = state.insts.get(group.members.get(item.key, "")) if group else None
        left = commit = ""
        if child:
            # The slot written when the child ended, such as `green.TI` or `impl.!gate`; none if it was aborted.
            left = next((name for name, slot in child.slots.items() if slot.seq == child.result.seq), "")
            # The commit of refused work is the one that was checked, else the last accepted one.
            slots = sorted(child.slots.values(), key=lambda slot: -slot.seq)
            commits = [_commit_in(ref, payloads) for ref in (item.ref, *(slot.ref for slot in slots)) if ref]
            commit = next(filter(None, commits), "")
        found.append(
            {
                "key": item.key,
                "instance": child.id if child else "",
                "outcome": child.outcome if child else "",
                "left": left,
                "commit": commit,
                "said": words(payloads.get(item.ref)) if item.ref else {},
            }
        )
    return found


def _commit_in(ref: str, payloads: Payloads) -> str:
    value = payloads.get(ref)
    if not isinstance(value, dict):
        return ""
    checks = value.get("checks")
    for check in checks if isinstance(checks, list) else []:
        report = check.get("report") if isinstance(check, dict) else None
        if isinstance(report, str) and report and (found := _commit_in(report, payloads)):
            return found
    commit = value.get("commit")
    return commit if isinstance(commit, str) else ""
