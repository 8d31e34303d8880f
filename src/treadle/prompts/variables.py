"""The variables of a template: those that every template has, and what its step needs. All of them are plain JSON."""

from collections.abc import Mapping
from typing import Final

from treadle.kernel.commands import AskHuman, Inputs, RunAgent
from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.prompts.ended_children import ended_children
from treadle.prompts.names import branch, dialogue
from treadle.prompts.parameters import by_letter, line, parameters, phase
from treadle.prompts.report import for_agent, for_person
from treadle.prompts.scope import permissions
from treadle.prompts.telling import told
from treadle.prompts.trouble import trouble
from treadle.prompts.verified import verified
from treadle.protocol.answers.schema import schema
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.checks.shapes import variable
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.lines.parameters import Parameters
from treadle.protocol.model import MAP_EXITS, Need, Protocol, Step, base_of, tag_of, target

SILENT: Final = "(nothing was said)"
"""Stands for an exit without a payload, so that a template sees that the step was left by it."""


def variables(
    protocol: Protocol,
    state: State,
    command: RunAgent | AskHuman,
    payloads: Payloads,
    toolchain: Mapping[str, str],
) -> dict[str, Json]:
    """Everything the template of a step may use."""
    return _Subject(protocol, state, command, payloads).variables(toolchain)


def parameters_of(protocol: Protocol, state: State, command: RunAgent | AskHuman, payloads: Payloads) -> dict[str, str]:
    """The parameters that the role of a step declares, by letter."""
    return by_letter(_Subject(protocol, state, command, payloads).parameters())


def given(inputs: Inputs, payloads: Payloads) -> Json:
    """What the instance was given."""
    ref = next(iter(inputs.get("in", ())), "")
    return payloads.get(ref) if ref else {}


class _Subject:
    """One command, and what belongs to it."""

    def __init__(self, protocol: Protocol, state: State, command: RunAgent | AskHuman, payloads: Payloads) -> None:
        self.protocol, self.state, self.command, self.payloads = protocol, state, command, payloads
        self.graph = protocol.graphs[command.graph]
        self.step: Step = self.graph.steps[command.step]
        self.inst: Instance = state.insts[command.inst]

    def variables(self, toolchain: Mapping[str, str]) -> dict[str, Json]:
        name = self.graph.input[0]
        commands: dict[str, Json] = {key: toolchain.get(key, "") for key in TOOLCHAIN}
        found = {**self._facts(), "node": self._node(), "toolchain": commands}
        found |= {name: given(self.command.inputs, self.payloads), "up": self._slots(up=True)}
        return found | self._slots(up=False)

    def _facts(self) -> dict[str, Json]:
        step, attempt, most = self._place()
        allowed = permissions(self.protocol, self.command, self.payloads)
        return {
            "run": {"id": self.state.run, "protocol": self.protocol.name},
            "step": step,
            "role": self.step.role,
            "mode": {"type": self.step.mode},
            "attempt": attempt,
            "max_attempts": most,
            "gate_report": self._said("gate_report"),
            "human_note": self._said("human_note"),
            "scope": {
                "reads": list(allowed.reads),
                "writes": list(allowed.writes),
                "stubs": list(allowed.stubs),
                "hidden": list(allowed.hidden),
            },
            "signals": self._signals(),
            "reports": self._reports(),
            "session": dialogue(self.protocol, self.state.run, self.inst),
            "params": line(self.parameters()),
            "exit_schema": schema(self.protocol, self.step) if self.step.kind == "agent" else {},
            "vars": dict(self._vars()),
            "last": {variable(step): self.inst.last.get(step, "") for step in self.graph.steps},
            "ways": self._ways(),
            "verified": verified(self.graph.steps, self.step),
        }

    def parameters(self) -> Parameters:
        value = given(self.command.inputs, self.payloads)
        known: dict[str, Json] = {**value} if isinstance(value, dict) else {}
        own = {
            "session": dialogue(self.protocol, self.state.run, self.inst),
            "phase": phase(self.protocol, self._place()[0], self.step),
        }
        return parameters(self.protocol.roles.get(self.step.role), {**known, **self._vars(), **own})

    def _ways(self) -> dict[str, Json]:
        """Answer of a question → the titles of the steps that it can lead to; none where it ends something."""
        routes = self.step.routes if self.step.kind == "ask" else {}
        names = {key: [place.name for row in rows if (place := target(row.to)).name] for key, rows in routes.items()}
        steps = self.graph.steps
        return {key: [steps[it].title or it for it in found if it in steps] for key, found in names.items()}

    def _place(self) -> tuple[str, int, int]:
        """The step, its attempt, and how many it has; for a question that several steps lead to: those of the one."""
        if isinstance(self.command, RunAgent):
            return self.command.step, self.command.attempt, self.command.attempts
        cause = self.command.step.partition("@")[2]
        name = cause if cause in self.graph.steps else self.command.step
        return base_of(name), self.inst.attempts.get(name, 1), self.graph.steps[name].attempts

    def _node(self) -> Json:
        inst = self.inst
        return {
            "id": inst.id,
            "key": inst.key,
            "graph": inst.graph,
            "branch": branch(self.state.run, inst.id),
            "parent": inst.parent,
            "depth": inst.depth,
            "children": self._children(),
        }

    def _children(self) -> list[Json]:
        """The children that the instance has spawned, oldest first; one that is at work has no outcome."""
        ids = [id_ for group in self.inst.groups.values() if not group.mapped for id_ in group.members.values()]
        found = sorted((child for id_ in ids if (child := self.state.insts.get(id_))), key=lambda child: child.n)
        return [
            {"id": child.id, "key": child.key, "outcome": child.outcome, "trouble": self._trouble(child)}
            for child in found
        ]

    def _trouble(self, child: Instance) -> str:
        if child.live or child.outcome in self.graph.ok.get(child.group, ()):
            return ""
        return trouble(self.protocol, child, self.payloads, self._worded)

    def _vars(self) -> Mapping[str, int | str | bool]:
        return self.command.vars if isinstance(self.command, RunAgent) else self.inst.vars

    def _said(self, slot: str) -> Json:
        """A report or a note, of a report that has more to it only its words to whoever reads them; empty if none.

        A step whose attempts are spent leaves what its last one said.
        """
        ref = next(iter(self.command.inputs.get(slot, ())), "")
        found = self._worded(self.payloads.get(ref) if ref else "")
        return told(self.protocol.exits.values(), found) if isinstance(found, dict) else found

    def _signals(self) -> list[Json]:
        """What the step serves: one entry for each payload, or one for a signal that brought none."""
        frame = next((frame for frame in self.inst.frames if frame.id == self.command.id), None)
        found: list[Json] = []
        for message in frame.signals if frame else ():
            for ref in message.refs or ("",):
                data = self.payloads.get(ref) if ref else {}
                found.append({"name": message.name, "sender": message.sender, "data": data})
        return found

    def _slots(self, *, up: bool) -> dict[str, Json]:
        """The needs of the step by step and exit; an optional one that is not there is left out."""
        found: dict[str, Json] = {}
        for need in self.step.needs:
            if need.step and need.up == up:
                exits = found.setdefault(variable(need.step), {})
                refs = self.command.inputs.get(str(need).rstrip("?*"), ())
                if isinstance(exits, dict) and (refs or need.every):
                    exits[need.exit] = self._slot(need, refs)
        return found

    def _reports(self) -> list[Json]:
        """What the needs of the step say, as a list: for templates that do not know which steps lead to theirs."""
        found: list[Json] = []
        for need in self.step.needs:
            is_told = need.step and not need.up and self._holds(need)
            for ref in self.command.inputs.get(str(need).rstrip("?*"), ()) if is_told else ():
                data = self.payloads.get(ref) if ref else {}
                if isinstance(data, dict):
                    title = self.graph.steps[need.step].title or need.step
                    found.append({"step": need.step, "title": title, "exit": need.exit, "data": data})
        return found

    def _holds(self, need: Need) -> bool:
        """Whether an optional need is how its step was left last: what came right since is no news."""
        last = self.inst.last.get(need.step, "")
        return not need.optional or not last or last.startswith("!") or tag_of(last) == tag_of(need.exit)

    def _slot(self, need: Need, refs: tuple[str, ...]) -> Json:
        if need.every:
            return [self.payloads.get(ref) if ref else SILENT for ref in refs]
        if not refs[0]:
            return self._routed(need)
        found = self.payloads.get(refs[0])
        return self._worded(found) if need.exit == "Failed" and self._is_check(need.step) else found

    def _is_check(self, step: str) -> bool:
        source = self.protocol.graphs[self.command.graph].steps.get(step)
        return source is not None and source.kind == "check"

    def _worded(self, found: Json) -> Json:
        """What checks had to say, in the words for whoever reads them."""
        return for_person(found) if isinstance(self.command, AskHuman) else for_agent(found)

    def _routed(self, need: Need) -> Json:
        """What a map or a check leaves: no payload, but counts that the kernel has made itself."""
        owner = self.state.insts.get(self.inst.parent) if need.up else self.inst
        slot = owner.slots.get(need.slot) if owner else None
        if not owner or not slot or not slot.fields:
            return SILENT
        found = {name: _plain(value) for name, value in slot.fields.items()}
        if need.exit in MAP_EXITS:
            results = slot.fields.get("results")
            found["results"] = ended_children(self.state, owner, need.step, results, self.payloads, self._worded)
        return found


def _plain(value: Routed) -> Json:
    if not isinstance(value, tuple):
        return value
    return [_item(item) if isinstance(item, Item) else item for item in value]


def _item(item: Item) -> Json:
    return {"key": item.key, **{name: _plain(value) for name, value in item.fields.items()}}
