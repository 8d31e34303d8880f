"""Check 16, who proves what: an exit has the gates that its computed fields and its `proves` call for."""

from collections.abc import Iterator
from typing import Final

from treadle.protocol.catalogue import CHECKS, FIELDS, PROOFS, SCOPES
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.permissions import gates_of, has_gate, write_scope, writes_tests
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Exit, Proof, Protocol, Step, exit_keys, tag_of

_MEASURED: Final = ("git", "tests", "manifest")
"""Authorities that only a check can speak for; the kernel and the API diff need none."""
_BY_EFFECT: Final[dict[str, frozenset[Proof]]] = {"merge": frozenset({"green", "contract"})}
"""What an effect verifies by itself before it happens."""


def exits_are_proved(subject: Subject) -> Iterator[Finding]:
    """16. Computed fields have a check that computes them, proofs a check that establishes them."""
    protocol = subject.protocol
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if step.kind not in ("agent", "effect"):
                continue
            keys = exit_keys(protocol, step)
            for key in dict.fromkeys(key if key in step.gates else tag_of(key) for key in keys):
                exit_ = protocol.exits.get(tag_of(key))
                if exit_ is None:
                    continue
                for message, hint in dict.fromkeys(_faults(subject, flow, name, key, exit_)):
                    path = f"{step_path(flow.name, name)}.gates"
                    yield subject.finding(16, f"{flow.name}.{name}", path, message, hint)


def _faults(subject: Subject, flow: Flow, name: str, key: str, exit_: Exit) -> Iterator[tuple[str, str]]:
    step = flow.graph.steps[name]
    yield from _proofs(step, key, exit_)
    if step.kind == "effect":
        return
    yield from _computed(step, key, exit_)
    if not write_scope(subject.protocol, step):
        if step.role in subject.protocol.roles and not has_gate(gates_of(step, key), "readonly"):
            yield (
                f"exit '{key}' of a role that writes nothing is not gated by 'readonly'",
                "add 'readonly' to its gates",
            )
    elif exit_.proves == "green":
        yield from _implementer(subject, flow, name, key)


def _computed(step: Step, key: str, exit_: Exit) -> Iterator[tuple[str, str]]:
    gates = gates_of(step, key)
    derived = {by for gate in gates if gate.name in CHECKS and not gate.advisory for by in CHECKS[gate.name].derives}
    for field_name, field in exit_.fields.items():
        if field.by not in ("agent", "kernel") and field_name not in FIELDS:
            message = f"exit '{key}' has the field '{field_name}' by {field.by}, which nobody knows how to compute"
            yield message, suggest(field_name, FIELDS) or f"these can be computed: {', '.join(sorted(FIELDS))}"
        elif field.by in _MEASURED and field.by not in derived:
            able = [check for check, spec in CHECKS.items() if field.by in spec.derives]
            message = f"exit '{key}' has the field '{field_name}' by {field.by}, but no gate that computes it"
            yield message, f"gate it by one of {', '.join(able)}"
    if any(field.by == "git" for field in exit_.fields.values()) and not has_gate(gates, "readonly", *SCOPES):
        message = f"exit '{key}' records a commit, but no gate bounds what was changed"
        yield message, f"gate it by one of {', '.join(sorted(SCOPES))}"


def _proofs(step: Step, key: str, exit_: Exit) -> Iterator[tuple[str, str]]:
    if exit_.proves in _BY_EFFECT.get(step.effect, ()):
        return
    for checks in PROOFS[exit_.proves]:
        if not has_gate(gates_of(step, key), *checks):
            message = f"exit '{key}' proves {exit_.proves}, but no gate establishes it"
            yield message, f"gate it by {' or '.join(sorted(checks))}"
            return


def _implementer(subject: Subject, flow: Flow, name: str, key: str) -> Iterator[tuple[str, str]]:
    """Green by someone who does not write tests: against tests that were red, and are still those."""
    step = flow.graph.steps[name]
    if writes_tests(subject.protocol, step):
        return
    if not has_gate(gates_of(step, key), "tests_unmodified"):
        yield f"exit '{key}' proves green, but tests may have been changed for it", "gate it by 'tests_unmodified'"
    red = slots_that_prove(subject.protocol, flow, "red")
    known = subject.known[flow.name].get(name)
    if red and known is not None and not red & known:
        message = f"exit '{key}' proves green, but not every path here has been red before"
        yield message, f"lead every path through one of {', '.join(sorted(red))}"


def slots_that_prove(protocol: Protocol, flow: Flow, proof: Proof) -> set[str]:
    """The slots of a graph that are written only when something is proved."""
    return {
        f"{name}.{exit_}"
        for name, step in flow.graph.steps.items()
        for exit_ in step.exits
        if exit_ in protocol.exits and protocol.exits[exit_].proves == proof
    }
