"""The variables of a template: the common ones and the needs of its step. All of them are plain JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.git.ref_names import RefNames, short_ref
from treadle.kernel.commands import AskHuman, Inputs, RunAgent
from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.prompts.foreign import inline
from treadle.prompts.outcomes import ended_children, exit_text, for_agent, for_person, trouble
from treadle.prompts.scope import permissions
from treadle.protocol.agent_lines import CONTEXT, ContextPart, Parameters, render_context, render_parameters
from treadle.protocol.answers.schema import schema
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.checks.shapes import variable_name
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.model import CHECK_EXITS, MAP_EXITS, CheckRef, Need, Protocol, Role, Step, base_of, tag_of, target
from treadle.protocol.vocabulary import CHECKS, RECORDS

# The dialogue of an instance.

_LOOP: Final = "_loop"
_SESSION: Final = "{session}"
_BELOW: Final = "+"
"""No instance has it in its name, and no line of parameters splits at it."""


def has_dialogue(role: Role) -> bool:
    """Whether a role's parameters name a session."""
    return any(_SESSION in text for text in role.params.values())


def dialogue_kind(protocol: Protocol, inst: Instance) -> str:
    """Return the kind of an instance's dialogue."""
    return protocol.graphs[inst.graph].dialogue or f"{inst.graph}{_LOOP}"


def dialogue(protocol: Protocol, run: str, inst: Instance) -> str:
    """Return the name of an instance's dialogue: one for each plan, one for each cycle."""
    kind = dialogue_kind(protocol, inst).removesuffix(_LOOP).upper()
    return f"{kind}_{run}_{inst.id.replace('/', _BELOW)}"


# The parameters of a prompt: `[S:…,R:2,C:TDD₁,P:ℜ,CTX:design=…, plan=…]`, as declared by its role.

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(r"([^\W\d][\w.-]*)=(.*)", re.DOTALL)
_SEPARATOR: Final = ", "
_QUOTE: Final = '"'


def parameters(role: Role | None, known: Mapping[str, Json]) -> Parameters:
    """Fill the parameters of a role. Leave out each part of a text (separated by `, `) with an unknown name."""
    declared = role.params if role else {}
    parts = {letter: [*_fill(text, known)] for letter, text in declared.items()}
    letters = {
        letter: _SEPARATOR.join(f"{one.key}={one.value}" if one.key else one.value for one in several)
        for letter, several in parts.items()
        if letter != CONTEXT
    }
    return Parameters({letter: text for letter, text in letters.items() if text}, tuple(parts.get(CONTEXT, ())))


def phase(protocol: Protocol, name: str, step: Step) -> str:
    """Return the protocol's name for a step's phase: the symbol of its mode or its own, else its mode or its name."""
    role = protocol.roles.get(step.role)
    mode = role.modes.get(step.mode) if role else None
    return (mode.symbol if mode else "") or step.symbol or step.mode or name


def _fill(text: str, known: Mapping[str, Json]) -> Iterator[ContextPart]:
    def fill(placeholder: re.Match[str]) -> str:
        value = known[placeholder[1]]
        return value if isinstance(value, str) else inline(value)

    for part in text.split(_SEPARATOR):
        if any(known.get(name) in (None, "", []) for name in _PLACEHOLDER.findall(part)):
            continue
        named = _NAMED.fullmatch(part)
        key, value = (named[1], named[2]) if named else ("", part)
        is_quoted = len(value) > 1 and value[0] == value[-1] == _QUOTE
        if filled := _PLACEHOLDER.sub(fill, value[1:-1] if is_quoted else value):
            yield ContextPart(key, filled, is_quoted)


# The checks that a step's inputs have already passed, so that an agent need not repeat them.

_RECORD: Final = RECORDS | {"measure"}
"""Checks that do not judge the work."""


def verified_checks(steps: Mapping[str, Step], step: Step) -> dict[str, Json]:
    """Return step → exit → the checks that an accepted exit passed, in words, for the needs of a step."""
    found: dict[str, dict[str, Json]] = {}
    for need in step.needs:
        if need.step and not need.up:
            source = steps.get(need.step)
            checks: tuple[CheckRef, ...] = ()
            if source and source.kind == "check":
                checks = source.checks if need.exit == CHECK_EXITS[0] else ()
            elif source:
                checks = source.gates.get(need.exit, ())
            judging = [it.name for it in checks if not it.advisory and it.name in CHECKS and it.name not in _RECORD]
            found.setdefault(variable_name(need.step), {})[need.exit] = [CHECKS[name].help for name in judging]
    return dict(found)


SILENT: Final = "(nothing was said)"
"""Stands for an exit without a payload, so that a template sees that the step took this exit."""


def variables(
    protocol: Protocol,
    state: State,
    command: RunAgent | AskHuman,
    payloads: Payloads,
    toolchain: Mapping[str, str],
) -> dict[str, Json]:
    """Return all variables that the template of a step may use."""
    return _Subject(protocol, state, command, payloads).variables(toolchain)


def parameters_of(protocol: Protocol, state: State, command: RunAgent | AskHuman, payloads: Payloads) -> dict[str, str]:
    """Return the parameters that the role of a step declares, by letter; the context as the prompt shows it."""
    found = _Subject(protocol, state, command, payloads).parameters()
    return found.letters | ({CONTEXT: render_context(found.context)} if found.context else {})


def input_values(inputs: Inputs, payloads: Payloads) -> Json:
    """Return the input of the instance."""
    ref = next(iter(inputs.get("in", ())), "")
    return payloads.get(ref) if ref else {}


class _Subject:
    """A command, with the step and the instance it belongs to."""

    def __init__(self, protocol: Protocol, state: State, command: RunAgent | AskHuman, payloads: Payloads) -> None:
        self.protocol, self.state, self.command, self.payloads = protocol, state, command, payloads
        self.graph = protocol.graphs[command.graph]
        self.step: Step = self.graph.steps[command.step]
        self.inst: Instance = state.insts[command.inst]

    def variables(self, toolchain: Mapping[str, str]) -> dict[str, Json]:
        step, attempt, most = self._place()
        allowed = permissions(self.protocol, self.command, self.payloads)
        return {
            "run": {"id": self.state.run, "protocol": self.protocol.name},
            "step": step,
            "role": self.step.role,
            "mode": {"type": self.step.mode},
            "attempt": attempt,
            "max_attempts": most,
            "gate_report": self._report("gate_report"),
            "human_note": self._report("human_note"),
            "scope": {
                "reads": list(allowed.reads),
                "writes": list(allowed.writes),
                "stubs": list(allowed.stubs),
                "hidden": list(allowed.hidden),
            },
            "signals": self._signals(),
            "reports": self._reports(),
            "session": dialogue(self.protocol, self.state.run, self.inst),
            "params": render_parameters(self.parameters()),
            "exit_schema": schema(self.protocol, self.step) if self.step.kind == "agent" else {},
            "vars": dict(self._variables()),
            "last": {variable_name(name): self.inst.last.get(name, "") for name in self.graph.steps},
            "ways": self._ways(),
            "verified": verified_checks(self.graph.steps, self.step),
            "node": self._node(),
            "toolchain": {key: toolchain.get(key, "") for key in TOOLCHAIN},
            self.graph.input[0]: input_values(self.command.inputs, self.payloads),
            "up": self._slots(up=True),
            **self._slots(up=False),
        }

    def parameters(self) -> Parameters:
        value = input_values(self.command.inputs, self.payloads)
        known: dict[str, Json] = {**value} if isinstance(value, dict) else {}
        own = {
            "session": dialogue(self.protocol, self.state.run, self.inst),
            "phase": phase(self.protocol, self._place()[0], self.step),
        }
        return parameters(self.protocol.roles.get(self.step.role), {**known, **self._variables(), **own})

    def _ways(self) -> dict[str, Json]:
        """Answer of a question → the titles of the steps that it can lead to; none where it ends something."""
        routes = self.step.routes if self.step.kind == "ask" else {}
        names = {key: [place.name for row in rows if (place := target(row.to)).name] for key, rows in routes.items()}
        steps = self.graph.steps
        return {key: [steps[it].title or it for it in found if it in steps] for key, found in names.items()}

    def _place(self) -> tuple[str, int, int]:
        """Return the step, its attempt and its number of attempts; for a question, those of the step that led to it."""
        if isinstance(self.command, RunAgent):
            return self.command.step, self.command.attempt, self.command.attempts
        cause = self.command.step.partition("@")[2]
        name = cause if cause in self.graph.steps else self.command.step
        return base_of(name), self.inst.attempts.get(name, 1), self.graph.steps[name].attempts

    def _node(self) -> Json:
        inst = self.inst
        ids = [id_ for group in inst.groups.values() if not group.mapped for id_ in group.members.values()]
        spawned = sorted((self.state.insts[id_] for id_ in ids if id_ in self.state.insts), key=lambda child: child.n)
        children: list[Json] = []
        for child in spawned:  # a running child has no outcome, and one that ended well no trouble
            is_well = child.live or child.outcome in self.graph.ok.get(child.group, ())
            why = "" if is_well else trouble(self.protocol, child, self.payloads, self._words)
            children.append({"id": child.id, "key": child.key, "outcome": child.outcome, "trouble": why})
        return {
            "id": inst.id,
            "key": inst.key,
            "graph": inst.graph,
            "branch": short_ref(RefNames(self.state.run).integration(inst.id)),
            "parent": inst.parent,
            "depth": inst.depth,
            "children": children,
        }

    def _variables(self) -> Mapping[str, int | str | bool]:
        return self.command.vars if isinstance(self.command, RunAgent) else self.inst.vars

    def _report(self, slot: str) -> Json:
        """Return a report or a note in the words for its reader; empty if there is none.

        A step with spent attempts leaves the payload of its last attempt.
        """
        ref = next(iter(self.command.inputs.get(slot, ())), "")
        found = self._words(self.payloads.get(ref) if ref else "")
        return exit_text(self.protocol.exits.values(), found) if isinstance(found, dict) else found

    def _signals(self) -> list[Json]:
        """Return the signals that the step serves: one entry for each payload, or one for a signal without payload."""
        frame = next((frame for frame in self.inst.frames if frame.id == self.command.id), None)
        found: list[Json] = []
        for message in frame.signals if frame else ():
            for ref in message.refs or ("",):
                data = self.payloads.get(ref) if ref else {}
                found.append({"name": message.name, "sender": message.sender, "data": data})
        return found

    def _slots(self, *, up: bool) -> dict[str, Json]:
        """Return the needs of the step by step and exit, without optional ones that are absent."""
        found: dict[str, Json] = {}
        for need in self.step.needs:
            if need.step and need.up == up:
                exits = found.setdefault(variable_name(need.step), {})
                refs = self.command.inputs.get(str(need).rstrip("?*"), ())
                if isinstance(exits, dict) and (refs or need.every):
                    exits[need.exit] = self._slot(need, refs)
        return found

    def _reports(self) -> list[Json]:
        """Return the payloads of the step's needs as a list, for templates that do not know which steps lead to
        theirs.
        """
        found: list[Json] = []
        for need in self.step.needs:
            if not need.step or need.up:
                continue
            # An optional need that is not the last exit of its step any more is old news: a later success made it so.
            last = self.inst.last.get(need.step, "")
            is_news = not need.optional or not last or last.startswith("!") or tag_of(last) == tag_of(need.exit)
            for ref in self.command.inputs.get(str(need).rstrip("?*"), ()) if is_news else ():
                data = self.payloads.get(ref) if ref else {}
                if isinstance(data, dict):
                    title = self.graph.steps[need.step].title or need.step
                    found.append({"step": need.step, "title": title, "exit": need.exit, "data": data})
        return found

    def _slot(self, need: Need, refs: tuple[str, ...]) -> Json:
        if need.every:
            return [self.payloads.get(ref) if ref else SILENT for ref in refs]
        if not refs[0]:
            return self._computed(need)
        found = self.payloads.get(refs[0])
        source = self.graph.steps.get(need.step)
        is_check_report = need.exit == "Failed" and source is not None and source.kind == "check"
        return self._words(found) if is_check_report else found

    def _words(self, report: Json) -> Json:
        """Return the words of a check report for the reader of this command."""
        return for_person(report) if isinstance(self.command, AskHuman) else for_agent(report)

    def _computed(self, need: Need) -> Json:
        """Return the result of a map or check: no payload, but counts that the kernel computed."""
        owner = self.state.insts.get(self.inst.parent) if need.up else self.inst
        slot = owner.slots.get(need.slot) if owner else None
        if not owner or not slot or not slot.fields:
            return SILENT
        found = {name: _plain(value) for name, value in slot.fields.items()}
        if need.exit in MAP_EXITS:
            results = slot.fields.get("results")
            found["results"] = ended_children(self.state, owner, need.step, results, self.payloads, self._words)
        return found


def _plain(value: Routed | Item) -> Json:
    if isinstance(value, Item):
        return {"key": value.key, **{name: _plain(field) for name, field in value.fields.items()}}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
