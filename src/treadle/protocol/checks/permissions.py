"""Check 16, permissions: write scopes, permissions, protections and the writers of artifacts."""

import re
from collections.abc import Iterable, Iterator

from treadle.protocol.checks.subject import Flow, ProtocolSubject, step_path
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import CheckRef, Protocol, Step, row, tag_of
from treadle.protocol.paths import glob_fault, names_tests, quote_glob

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_DOCUMENT = re.compile(r"(^|/)(docs?|memory-bank)/|\.(md|rst|adoc|txt|json|ya?ml|toml)$")
_EVERYTHING = re.compile(r"(\*\*/)?\*\*?(\.\w+)?")


def scopes_make_sense(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Scopes stay inside the repository, permissions fit them, placeholders, levels and writers exist."""
    protocol = subject.protocol
    yield from _glob_faults(subject)
    for name, role in protocol.roles.items():
        if role.writes and "modify" not in role.perms:
            message = "has a write scope but not the permission 'modify'"
            yield subject.finding(16, name, f"roles.{name}", message, "add `modify` to `perms`, or empty `writes`")
    for flow, name, step in subject.steps():
        if step.kind == "agent" and step.role in protocol.roles:
            for part, message, hint in _step_faults(protocol, flow, step):
                yield subject.at_step(16, flow, name, message, hint, part)
    for protection in protocol.protections:
        if protection.level not in range(1, 7):
            message = f"'{protection.glob}' has protection level {protection.level}"
            yield subject.finding(16, "", "protections", message, "levels are 1 to 6")
    for name, artifact in protocol.artifacts.items():
        if artifact.writer != "orchestrator" and artifact.writer not in protocol.roles:
            message = f"artifact '{name}' is written by unknown role '{artifact.writer}'"
            hint = suggest(artifact.writer, [*protocol.roles, "orchestrator"]) or "name a role, or `orchestrator`"
            yield subject.finding(16, "", f"artifacts.{name}.writer", message, hint)


def _glob_faults(subject: ProtocolSubject) -> Iterator[Finding]:
    """Report write scopes, protections and artifacts outside of the repository."""
    protocol = subject.protocol
    listed = [(name, f"roles.{name}.writes", role.writes) for name, role in protocol.roles.items()]
    for flow, name, step in subject.steps():
        path = step_path(flow.name, name)
        listed.append((f"{flow.name}.{name}", f"{path}.writes", step.writes or ()))
        listed.append((f"{flow.name}.{name}", f"{path}.stubs", step.stubs))
    listed.append(("", "protections", tuple(protection.glob for protection in protocol.protections)))
    listed += [("", f"artifacts.{name}.path", (artifact.path,)) for name, artifact in protocol.artifacts.items()]
    for where, path, globs in listed:
        among = "its write scope" if where else f"the {path.partition('.')[0]}"
        if where and globs and all(glob.startswith("!") for glob in globs):
            message = f"its write scope only excludes ({', '.join(map(quote_glob, globs))}), so nothing may be written"
            yield subject.finding(16, where, path, message, "say first what may be written, as in 'src/**'")
        for number, glob in enumerate(globs):
            if fault := glob_fault(glob):
                what, hint = fault
                yield subject.finding(16, where, f"{path}.{number}", f"{quote_glob(glob)} in {among} {what}", hint)


def _step_faults(protocol: Protocol, flow: Flow, step: Step) -> Iterator[tuple[str, str, str]]:
    role = protocol.roles[step.role]
    if step.writes and "modify" not in role.perms:
        hint = f"add `modify` to role '{step.role}', or empty `writes`"
        yield "writes", f"has a write scope, but role '{step.role}' may not modify", hint
    if any(has_gate(gates, "tests_unmodified") for gates in step.gates.values()) and writes_tests(protocol, step):
        message = f"may write tests ({', '.join(write_scope(protocol, step))}), but its gates want them unmodified"
        yield "gates", message, "exclude them with `!`, e.g. '!tests/**'"
    known = protocol.types.get(flow.graph.input[1])
    fields = list(known.fields) if known else []
    reads = role.reads if step.reads is None else step.reads
    for glob in (*reads, *write_scope(protocol, step), *step.stubs, *role.hidden):
        for name in _PLACEHOLDER.findall(glob):
            if name not in fields:
                hint = suggest(name, fields) or f"its fields are {', '.join(fields) or 'none'}"
                yield "", f"'{glob}' has a placeholder '{name}' that the graph's input does not have", hint


def write_scope(protocol: Protocol, step: Step) -> tuple[str, ...]:
    """The globs an agent step may write; none for a role that may not modify anything."""
    role = protocol.roles.get(step.role)
    if role is None or "modify" not in role.perms:
        return ()
    return role.writes if step.writes is None else step.writes


def writes_tests(protocol: Protocol, step: Step) -> bool:
    """Whether the scope plainly includes test files: it names them, or includes everything without excluding them."""
    scope = write_scope(protocol, step)
    if any(glob.startswith("!") and names_tests(glob[1:]) for glob in scope):
        return False
    return any(names_tests(glob) or _EVERYTHING.fullmatch(glob) for glob in scope if not glob.startswith("!"))


def is_document(glob: str) -> bool:
    """Whether a glob names documents and data, not code."""
    return bool(_DOCUMENT.search(glob))


def gates_of(step: Step, key: str) -> tuple[CheckRef, ...]:
    """The checks that an exit must pass: those of its key, else of its tag."""
    return step.gates.get(key) or step.gates.get(tag_of(key)) or ()


def has_gate(gates: Iterable[CheckRef], *names: str) -> bool:
    """Whether one of these checks is among the gates and can refuse."""
    return any(gate.name in names and not gate.advisory for gate in gates)


# Check 16, protected files: a protected change that needs a person's consent leads to a question for a person.


def protected_files_ask_a_person(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Where `protection` is a gate, its refusal leads to a person."""
    for flow, name, step in subject.steps():
        if not any(has_gate(gates, "protection") for gates in step.gates.values()):
            continue
        goals = [flow.graph.steps.get(way.to) for way in row(flow.graph, name, "!gate.protection") or ()]
        if not all(goal is not None and goal.asks == "human" for goal in goals):
            message = "is gated by 'protection', but its refusal does not lead to a person"
            yield subject.at_step(16, flow, name, message, "lead '!gate.protection' to an `ask: human`", "routes")
