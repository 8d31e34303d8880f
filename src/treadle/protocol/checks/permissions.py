"""Check 16, who may touch what: write scopes, permissions, protections and the writers of artifacts."""

import re
from collections.abc import Iterable, Iterator

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.globs import glob_fault, shown
from treadle.protocol.model import CheckRef, Protocol, Step, tag_of
from treadle.protocol.test_paths import names_tests

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_DOCUMENT = re.compile(r"(^|/)(docs?|memory-bank)/|\.(md|rst|adoc|txt|json|ya?ml|toml)$")
_EVERYTHING = re.compile(r"(\*\*/)?\*\*?(\.\w+)?")


def scopes_make_sense(subject: Subject) -> Iterator[Finding]:
    """16. Scopes stay inside the repository, permissions fit them, placeholders, levels and writers exist."""
    protocol = subject.protocol
    yield from _globs(subject)
    for name, role in protocol.roles.items():
        if role.writes and "modify" not in role.perms:
            message = "has a write scope but not the permission 'modify'"
            yield subject.finding(16, name, f"roles.{name}", message, "add `modify` to `perms`, or empty `writes`")
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if step.kind == "agent" and step.role in protocol.roles:
                for part, message, hint in _step(protocol, flow, step):
                    path = f"{step_path(flow.name, name)}{part}"
                    yield subject.finding(16, f"{flow.name}.{name}", path, message, hint)
    for protection in protocol.protections:
        if protection.level not in range(1, 7):
            message = f"'{protection.glob}' has protection level {protection.level}"
            yield subject.finding(16, "", "protections", message, "levels are 1 to 6")
    for name, artifact in protocol.artifacts.items():
        if artifact.writer != "orchestrator" and artifact.writer not in protocol.roles:
            message = f"artifact '{name}' is written by unknown role '{artifact.writer}'"
            hint = suggest(artifact.writer, [*protocol.roles, "orchestrator"]) or "name a role, or `orchestrator`"
            yield subject.finding(16, "", f"artifacts.{name}.writer", message, hint)


def _globs(subject: Subject) -> Iterator[Finding]:
    """What may be written, what is protected and what the protocol is about lies inside the repository."""
    protocol = subject.protocol
    listed = [(name, f"roles.{name}.writes", role.writes) for name, role in protocol.roles.items()]
    listed += [
        (f"{flow.name}.{name}", f"{step_path(flow.name, name)}.{key}", globs)
        for flow in subject.flows.values()
        for name, step in flow.graph.steps.items()
        for key, globs in (("writes", step.writes or ()), ("stubs", step.stubs))
    ]
    listed.append(("", "protections", tuple(protection.glob for protection in protocol.protections)))
    listed += [("", f"artifacts.{name}.path", (artifact.path,)) for name, artifact in protocol.artifacts.items()]
    for where, path, globs in listed:
        among = "its write scope" if where else f"the {path.partition('.')[0]}"
        if where and globs and all(glob.startswith("!") for glob in globs):
            message = f"its write scope only excludes ({', '.join(map(shown, globs))}), so nothing may be written"
            yield subject.finding(16, where, path, message, "say first what may be written, as in 'src/**'")
        for number, glob in enumerate(globs):
            if fault := glob_fault(glob):
                what, hint = fault
                yield subject.finding(16, where, f"{path}.{number}", f"{shown(glob)} in {among} {what}", hint)


def _step(protocol: Protocol, flow: Flow, step: Step) -> Iterator[tuple[str, str, str]]:
    role = protocol.roles[step.role]
    if step.writes and "modify" not in role.perms:
        hint = f"add `modify` to role '{step.role}', or empty `writes`"
        yield ".writes", f"has a write scope, but role '{step.role}' may not modify", hint
    if any(has_gate(gates, "tests_unmodified") for gates in step.gates.values()) and writes_tests(protocol, step):
        message = f"may write tests ({', '.join(write_scope(protocol, step))}), but its gates want them unmodified"
        yield ".gates", message, "exclude them with `!`, e.g. '!tests/**'"
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
    """Whether the scope plainly holds test files: names them, or holds everything without excluding them."""
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
