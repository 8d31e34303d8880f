"""Options: every event that can happen next in a state, at a small scope.

For a field: the values that guards, spawns and maps distinguish. For a step: claims with their verdicts, and failures.
For a state: the events that may come next.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final, Literal, NamedTuple

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Replied,
    Signalled,
    TimerFired,
    Unavailable,
)
from treadle.kernel.instances import map_keys
from treadle.kernel.state import Activity, Instance, State
from treadle.kernel.waits import awaits_go
from treadle.protocol.fields import EnumType, OptionalType, ScalarType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import CheckRef, Field, Graph, Protocol, Rows, Step, exit_keys, row, system_keys, tag_of
from treadle.simulate.scope import Scope
from treadle.simulate.state_keys import GuardLiteral, Relevance
from treadle.simulate.values import (
    element_fields,
    input_fields,
    is_derived,
    is_item_list,
    routed_exit_fields,
    with_variant,
)

# The values of a field that an exhaustive search must try: one for each case that guards, spawns and maps
# distinguish.

_KEYS: Final = "abcdefgh"


NEW, OFTEN = "new", "often"
"""Two questions: how often one was asked is taken as given, as budgets are (see `explore`)."""


class Alternatives:
    """Small sets of values for one protocol at one scope."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: Iterable[Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._compared: dict[str, set[GuardLiteral]] = {}
        for part in relevant:
            for field, literals in part.fields.items():
                self._compared.setdefault(field, set()).update(literals)

    def of(self, owner: str, name: str, field: Field, leaf: bool) -> tuple[Routed, ...]:
        """Values of a field of an exit, a record or the input (`owner`); a leaf starts no children."""
        given = self._scope.values.get(f"{owner}.{name}", self._scope.values.get(name))
        if given is not None:
            return given
        if field.route == "asked":
            return (NEW, OFTEN)
        if name not in self._compared:
            return (None,)
        optional = isinstance(parse_type(field.type), OptionalType)
        if is_item_list(field):
            return self._lists(owner, name, field, optional, leaf)
        return (None, *self._scalars(name, field)) if optional else self._scalars(name, field)

    def _scalars(self, name: str, field: Field) -> tuple[Routed, ...]:
        literals = self._compared[name]
        match bare(parse_type(field.type)):
            case EnumType(values):
                return values
            case ScalarType("bool"):
                return (True, False)
            case ScalarType("text" | "path"):
                return (*sorted(value for value in literals if isinstance(value, str)), "other")
        near = {0, 1} | {int(value) + by for value in literals if isinstance(value, int | float) for by in (-1, 0, 1)}
        return tuple(sorted(value for value in near if value >= 0))

    def _lists(self, owner: str, name: str, field: Field, optional: bool, leaf: bool) -> tuple[Routed, ...]:
        if leaf:
            return (None,) if optional else ((),)
        given = self._scope.items.get(f"{owner}.{name}", self._scope.items.get(name))
        widths = given or ((None, *self._scope.widths) if optional else self._scope.widths)
        return tuple(
            None if width is None else tuple(self._item(field, key) for key in _KEYS[:width]) for width in widths
        )

    def _item(self, field: Field, key: str) -> Item | str:
        """One element; of its own fields, the last alternative (for a list: the widest)."""
        fields = element_fields(self._protocol, field)
        if fields is None:
            return key
        return Item(key, "", {name: self.of("", name, part, False)[-1] for name, part in fields.items()})

    def combinations(self, owner: str, fields: dict[str, Field], leaf: bool) -> list[dict[str, Routed]]:
        """Every combination of the values of some fields."""
        values = [self.of(owner, name, field, leaf) for name, field in fields.items()]
        return [dict(zip(fields, chosen, strict=True)) for chosen in product(*values)]


# The possible results of a step at a small scope: claims with their verdicts, and failures.


class VerdictOption(NamedTuple):
    """A possible verdict of the checks of a claim."""

    results: tuple[CheckResult, ...]
    derived: dict[str, Routed]
    failed: bool = False


class ClaimOption(NamedTuple):
    """An exit with one choice of its fields, and the verdicts it may meet (none: nothing is checked)."""

    envelope: Envelope
    verdicts: tuple[VerdictOption, ...]


class StepOptions(NamedTuple):
    """The possible results of one step."""

    claims: tuple[ClaimOption, ...]
    verdicts: tuple[VerdictOption, ...]
    """Of a check step."""
    failures: tuple[str, ...]
    """System exits, one for each row that they can select."""


class Menu:
    """The possible results of each step of a protocol at one scope; equivalent results appear once."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: dict[str, Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._relevant = relevant
        self._alternatives = Alternatives(protocol, scope, relevant.values())
        self._made: dict[tuple[str, str, bool], StepOptions] = {}

    def inputs(self) -> list[Item]:
        """The inputs that a run may start with."""
        graph = self._protocol.graphs[self._protocol.root]
        inputs = self._alternatives.combinations("input", input_fields(self._protocol, graph), False)
        return [Item(graph.input[0], "", values) for values in inputs]

    def work(self, graph: str, step: str, leaf: bool) -> StepOptions:
        """Return the possible results of a step, in an instance that may have children or (a leaf) may not."""
        made = self._made.get((graph, step, leaf))
        if made is None:
            made = self._made[graph, step, leaf] = self._make(graph, step, leaf)
        return made

    def _make(self, name: str, at: str, leaf: bool) -> StepOptions:
        graph = self._protocol.graphs[name]
        step = graph.steps[at]
        failures = self._failures(graph, at, step)
        if step.kind == "check":
            allowed = self._scope.menu(at, ("Passed", "Failed"))
            verdicts = self._verdicts(graph, at, step.checks, "Failed", [{}])
            kept = [verdict for verdict in verdicts if ("Failed" if verdict.failed else "Passed") in allowed]
            return StepOptions((), tuple(kept), failures)
        claims: list[ClaimOption] = []
        refused: list[VerdictOption] = []  # a refusal leads to the same state whichever claim it refuses
        for key in self._distinct(name, at, step):
            claims += self._claims(name, at, key, leaf, refused)
        return StepOptions(tuple(claims), (), failures)

    def _distinct(self, name: str, at: str, step: Step) -> list[str]:
        """Return the exit keys of a step, one for each group of keys with the same effect."""
        relevant = self._relevant[name]
        seen: list[tuple[object, ...]] = []
        kept = []
        for key in self._scope.menu(at, exit_keys(self._protocol, step)):
            tag = tag_of(key)
            slot = f"{at}.{tag}"
            matters = routed_exit_fields(self._protocol, tag) or slot in (*relevant.slots, *relevant.present)
            gated = self._protocol.checks_of_exit[name][at].get(key) is not None
            rows = row(self._protocol.graphs[name], at, key)
            is_read = any(f"last.{at}" in names for names in relevant.live.values())
            sign = (rows, key if matters or is_read else "", gated)
            if sign not in seen:
                seen.append(sign)
                kept.append(key)
        return kept

    def _claims(self, name: str, at: str, key: str, leaf: bool, refused: list[VerdictOption]) -> list[ClaimOption]:
        graph = self._protocol.graphs[name]
        fields = routed_exit_fields(self._protocol, tag_of(key))
        late = {field: part for field, part in fields.items() if graph.steps[at].kind == "agent" and is_derived(part)}
        now = {field: part for field, part in fields.items() if field not in late}
        checks = self._protocol.checks_of_exit[name][at].get(key)
        tag, _, variant = key.partition(".")
        found = []
        for values in self._alternatives.combinations(tag, now, leaf):
            verdicts: tuple[VerdictOption, ...] = ()
            if checks is not None:
                derived = self._alternatives.combinations(tag, late, leaf)
                derived = [with_variant(self._protocol, key, some) for some in derived]
                verdicts = self._verdicts(graph, at, checks, "!gate", derived)
                verdicts = tuple(verdict for verdict in verdicts if not verdict.failed or verdict not in refused)
                refused += [verdict for verdict in verdicts if verdict.failed]
            found.append(ClaimOption(Envelope(tag, variant, with_variant(self._protocol, key, values)), verdicts))
        return found

    def _verdicts(
        self, graph: Graph, at: str, checks: tuple[CheckRef, ...], tag: str, derived: list[dict[str, Routed]]
    ) -> tuple[VerdictOption, ...]:
        """Passed with each derivation; failed in each way that has a row of its own."""
        names = [check.name for check in checks if not check.advisory]
        passed = [VerdictOption(tuple(CheckResult(name, True) for name in names), fields) for fields in derived]
        if not names or (tag == "!gate" and tag not in self._scope.faults):
            return tuple(passed)
        routes = {**graph.system, **graph.steps[at].routes}
        special = [name for name in names if f"{tag}.{name}" in routes]
        plain = [name for name in names if name not in special][:1]
        broken = [
            VerdictOption(tuple(CheckResult(name, name != bad) for name in names), {}, True) for bad in special + plain
        ]
        return (*passed, *broken)

    def _failures(self, graph: Graph, at: str, step: Step) -> tuple[str, ...]:
        seen: list[Rows | None] = []
        kept = []
        for key in system_keys(step):
            if key in FAILURES and key in self._scope.faults and (rows := row(graph, at, key)) not in seen:
                seen.append(rows)
                kept.append(key)
        return tuple(kept)


FAILURES: Final = ("!timeout", "!crash", "!invalid", "!blocked", "!store")
"""System exits that the world can cause; the kernel makes the others itself."""


_WHY: Final[dict[str, Literal["crash", "invalid", "blocked", "store"]]] = {
    "!crash": "crash",
    "!invalid": "invalid",
    "!blocked": "blocked",
    "!store": "store",
}


class PossibleMove(NamedTuple):
    """One event; or a claim, and each of the verdicts that may follow it at once."""

    event: Event
    then: tuple[Event, ...] = ()


class Options:
    """The moves of one protocol at one scope."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: dict[str, Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._relevant = relevant
        self.menu = Menu(protocol, scope, relevant)

    def moves(self, state: State) -> list[PossibleMove]:
        """Every move of a state, always in the same order."""
        found: list[PossibleMove] = []
        for id_ in sorted(state.acts):
            found += self._of_activity(state, id_, state.acts[id_])
        for id_ in sorted(state.asks):
            command = state.asks[id_].command
            if command is not None:
                choices = self._scope.menu(command.step, command.choices)
                found += [PossibleMove(Replied(id="", ts=0, ask=id_, choice=choice)) for choice in choices]
        found += [
            PossibleMove(TimerFired(id="", ts=0, timer=id_))
            for id_ in sorted(state.timers)
            if "!preempt:" in id_ or id_ == OUTAGE
        ]
        for inst in sorted((inst for inst in state.insts.values() if not inst.outcome), key=lambda inst: inst.n):
            found += self._of_people(state, inst)
        return found

    def _of_activity(self, state: State, id_: str, act: Activity) -> Iterator[PossibleMove]:
        if act.phase == "held":
            return
        command = act.command
        inst = state.insts[command.inst]
        work = self.menu.work(command.graph, command.step, inst.depth >= self._scope.depth)
        if act.phase == "running":
            for claim in work.claims:
                exited = Exited(id="", ts=0, act=id_, envelope=claim.envelope)
                then = tuple(self._checked(id_, inst, command.step, verdict) for verdict in claim.verdicts)
                yield PossibleMove(exited, then if self._scope.atomic else ())
        elif act.phase == "verifying":
            for verdict in self._open_verdicts(work, act):
                yield PossibleMove(self._checked(id_, inst, command.step, verdict))
        if "outage" in self._scope.signals and isinstance(command, RunAgent) and not command.retry:
            yield PossibleMove(Unavailable(id="", ts=0, act=id_, why="rate"))
        for key in work.failures:
            yield PossibleMove(
                TimerFired(id="", ts=0, timer=id_) if key == "!timeout" else Failed(id="", ts=0, act=id_, why=_WHY[key])
            )

    def _open_verdicts(self, work: StepOptions, act: Activity) -> tuple[VerdictOption, ...]:
        if act.claim is None:
            return work.verdicts
        own = [claim for claim in work.claims if claim.envelope == act.claim]
        refusals = [verdict for claim in work.claims for verdict in claim.verdicts if verdict.failed]
        return (*(verdict for claim in own for verdict in claim.verdicts if not verdict.failed), *refusals)

    def _checked(self, id_: str, inst: Instance, step: str, verdict: VerdictOption) -> Event:
        print_ = ""
        if verdict.failed and self._relevant[inst.graph].same_failure:
            print_ = inst.failures.get(step, ("same", 0))[0].rpartition("\n")[2]
        return Checked(id="", ts=0, act=id_, results=verdict.results, derived=verdict.derived, fingerprint=print_)

    def _of_people(self, state: State, inst: Instance) -> Iterator[PossibleMove]:
        def signal(name: str, step: str = "", item: str = "") -> PossibleMove:
            return PossibleMove(Signalled(id="", ts=0, inst=inst.id, name=name, step=step, item=item))

        graph = self._protocol.graphs[inst.graph]
        if step := awaits_go(self._protocol, state, inst):
            yield signal("go", step)
        if inst.paused:
            yield signal("resume")
        for name in self._scope.signals:
            known = name in graph.handlers and all(message.name != name for message in inst.mailbox)
            if name == "abort" or (name == "pause" and not inst.paused) or known:
                yield signal(name)
        if "go" in self._scope.signals:
            yield from (signal("go", step) for step in sorted(graph.commanded))
            for step in sorted(graph.itemized):
                yield from (signal("go", step, item) for item in map_keys(inst, step, graph.steps[step]))
