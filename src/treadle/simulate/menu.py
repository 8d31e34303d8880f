"""What can come of a step at a small scope: claims with their verdicts, and failures."""

from typing import Final, NamedTuple

from treadle.kernel.events import CheckResult, Envelope
from treadle.protocol.fields import RecordType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import CheckRef, Graph, Protocol, Rows, Step, exit_keys, row, system_keys, tag_of
from treadle.simulate.alternatives import Alternatives
from treadle.simulate.claims import is_derived, routed, with_variant
from treadle.simulate.relevance import Relevance
from treadle.simulate.scope import Scope


class Verdict(NamedTuple):
    """What the checks of a claim may say."""

    results: tuple[CheckResult, ...]
    derived: dict[str, Routed]
    failed: bool = False


class Claim(NamedTuple):
    """An exit with one choice of its fields, and the verdicts it may meet (none: nothing is checked)."""

    envelope: Envelope
    verdicts: tuple[Verdict, ...]


class Work(NamedTuple):
    """What can come of one step."""

    claims: tuple[Claim, ...]
    verdicts: tuple[Verdict, ...]
    """Of a check step."""
    failures: tuple[str, ...]
    """System exits, one for each row that they can take."""


class Menu:
    """What can come of the steps of one protocol at one scope; what leads to the same place is listed once."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: dict[str, Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._relevant = relevant
        self._alternatives = Alternatives(protocol, scope, relevant.values())
        self._made: dict[tuple[str, str, bool], Work] = {}

    def inputs(self) -> list[Item]:
        """The inputs that a run may start with."""
        name, type_ = self._protocol.graphs[self._protocol.root].input
        inner = bare(parse_type(type_)) if type_ else None
        if not isinstance(inner, RecordType):
            return [Item(name, "")]
        fields = {key: field for key, field in self._protocol.types[inner.name].fields.items() if field.route}
        return [Item(name, "", values) for values in self._alternatives.combinations("input", fields, False)]

    def work(self, graph: str, step: str, leaf: bool) -> Work:
        """What can come of a step, in an instance that may have children or (a leaf) may not."""
        made = self._made.get((graph, step, leaf))
        if made is None:
            made = self._made[graph, step, leaf] = self._make(graph, step, leaf)
        return made

    def _make(self, name: str, at: str, leaf: bool) -> Work:
        graph = self._protocol.graphs[name]
        step = graph.steps[at]
        if step.kind == "check":
            return Work((), self._check(graph, at, step), self._failures(graph, at, step))
        claims: list[Claim] = []
        refused: list[Verdict] = []
        for key in self._distinct(name, at, step):
            claims += self._claims(name, at, key, leaf, refused)
        return Work(tuple(claims), (), self._failures(graph, at, step))

    def _check(self, graph: Graph, at: str, step: Step) -> tuple[Verdict, ...]:
        verdicts = self._verdicts(graph, at, step.checks, "Failed", [{}])
        allowed = self._scope.menu(at, ("Passed", "Failed"))
        return tuple(verdict for verdict in verdicts if ("Failed" if verdict.failed else "Passed") in allowed)

    def _distinct(self, name: str, at: str, step: Step) -> list[str]:
        """The keys of a step, without those that differ from another one in nothing that matters."""
        relevant = self._relevant[name]
        seen: list[tuple[object, ...]] = []
        kept = []
        for key in self._scope.menu(at, exit_keys(self._protocol, step)):
            tag = tag_of(key)
            slot = f"{at}.{tag}"
            matters = routed(self._protocol, tag) or slot in (*relevant.slots, *relevant.present)
            gated = self._protocol.duties[name][at].get(key) is not None
            rows = row(self._protocol.graphs[name], at, key)
            told = any(f"last.{at}" in names for names in relevant.live.values())
            sign = (rows, key if matters or told else "", gated)
            if sign not in seen:
                seen.append(sign)
                kept.append(key)
        return kept

    def _claims(self, name: str, at: str, key: str, leaf: bool, refused: list[Verdict]) -> list[Claim]:
        graph = self._protocol.graphs[name]
        fields = routed(self._protocol, tag_of(key))
        late = {field: part for field, part in fields.items() if graph.steps[at].kind == "agent" and is_derived(part)}
        now = {field: part for field, part in fields.items() if field not in late}
        checks = self._protocol.duties[name][at].get(key)
        tag, _, variant = key.partition(".")
        found = []
        for values in self._alternatives.combinations(tag, now, leaf):
            verdicts: tuple[Verdict, ...] = ()
            if checks is not None:
                derived = self._alternatives.combinations(tag, late, leaf)
                derived = [with_variant(self._protocol, key, some) for some in derived]
                verdicts = self._verdicts(graph, at, checks, "!gate", derived)
                verdicts = tuple(verdict for verdict in verdicts if not verdict.failed or verdict not in refused)
                refused += [verdict for verdict in verdicts if verdict.failed]
            found.append(Claim(Envelope(tag, variant, with_variant(self._protocol, key, values)), verdicts))
        return found

    def _verdicts(
        self, graph: Graph, at: str, checks: tuple[CheckRef, ...], tag: str, derived: list[dict[str, Routed]]
    ) -> tuple[Verdict, ...]:
        """Passed with each derivation; failed in each way that has a row of its own."""
        names = [check.name for check in checks if not check.advisory]
        passed = [Verdict(tuple(CheckResult(name, True) for name in names), fields) for fields in derived]
        if not names or (tag == "!gate" and tag not in self._scope.faults):
            return tuple(passed)
        routes = {**graph.system, **graph.steps[at].routes}
        special = [name for name in names if f"{tag}.{name}" in routes]
        plain = [name for name in names if name not in special][:1]
        broken = [Verdict(tuple(CheckResult(name, name != bad) for name in names), {}, True) for bad in special + plain]
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
