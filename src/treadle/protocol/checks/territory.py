"""Check 16, the tests' own ground: whoever is held to the tests may not write where their authors do."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from treadle.protocol.checks.evidence import slots_that_prove
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.permissions import has_gate, is_document, write_scope
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Step

_WILD = re.compile(r"[*?\[{]")


def tests_are_out_of_reach(subject: Subject) -> Iterator[Finding]:
    """16. The scope of who must leave the tests alone excludes what the authors of red tests write."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            kept = any(has_gate(gates, "tests_unmodified") for gates in step.gates.values())
            glob = next(iter(_shared(flow, step)), "") if kept else ""
            if glob:
                message = f"may write '{glob}', where the tests are written, but its gates want them unmodified"
                path = f"{step_path(flow.name, name)}.writes"
                yield subject.finding(16, f"{flow.name}.{name}", path, message, f"exclude it with '!{glob}'")


def may_hold_tests(flow: Flow, step: Step) -> bool:
    """Whether a step may write where the authors of the graph's red tests do."""
    return any(_shared(flow, step))


def _shared(flow: Flow, step: Step) -> Iterator[str]:
    """The authors' globs that another scope does not keep out."""
    scope = write_scope(flow.protocol, step)
    excluded = {glob[1:] for glob in scope if glob.startswith("!")}
    allowed = [glob for glob in scope if not glob.startswith("!") and not is_document(glob)]
    for glob in test_globs(flow):
        if glob not in excluded and any(_may_meet(glob, other) for other in allowed):
            yield glob


def test_globs(flow: Flow) -> dict[str, None]:
    """Where the authors of a graph's red tests write."""
    authors = {slot.partition(".")[0] for slot in slots_that_prove(flow.protocol, flow, "red")}
    scopes = [write_scope(flow.protocol, flow.graph.steps[name]) for name in flow.graph.steps if name in authors]
    return dict.fromkeys(glob for scope in scopes for glob in scope if not glob.startswith("!"))


def _may_meet(one: str, other: str) -> bool:
    """Whether two globs can name the same file, as far as their fixed beginnings tell."""
    for path, glob in ((one, other), (other, one)):
        if not _WILD.search(path):
            return fnmatchcase(path, glob)
    heads = sorted((_WILD.split(one)[0], _WILD.split(other)[0]), key=len)
    return heads[1].startswith(heads[0])
