"""Check 3, the toolchain: the commands that a project is asked for are the ones that checks run."""

from collections.abc import Iterator
from typing import Final

from treadle.protocol.catalogue import CHECKS
from treadle.protocol.checks.flow import step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import CheckRef, Protocol

_RUN_BY: Final[dict[str, frozenset[str]]] = {
    command: frozenset(name for name, spec in CHECKS.items() if spec.runs == command)
    for command in ("build", "contract", "lint", "format")
}
"""The checks that stand and fall with one command; the tests' own are run by too many to tell anything."""


def commands_are_run(subject: Subject) -> Iterator[Finding]:
    """3. A listed command is run by some check, and a check's command is listed, if a toolchain is."""
    protocol = subject.protocol
    used = {check.name for _, check in _checks(protocol)}
    for command in protocol.toolchain:
        if command in _RUN_BY and not used & _RUN_BY[command]:
            message = f"toolchain command '{command}' is asked of the project, but no check runs it"
            yield subject.finding(3, "", "toolchain", message, "add a check that does, or remove the command")
    for where, check in _checks(protocol) if protocol.toolchain else ():
        for command, checks in _RUN_BY.items():
            if check.name in checks and command not in protocol.toolchain:
                graph, _, step = where.partition(".")
                message = f"check '{check.name}' runs command '{command}', which is not in the toolchain"
                yield subject.finding(3, where, step_path(graph, step), message, f"add '{command}' to `toolchain`")


def _checks(protocol: Protocol) -> Iterator[tuple[str, CheckRef]]:
    for name, graph in protocol.graphs.items():
        for step_name, step in graph.steps.items():
            for checks in (step.checks, *step.gates.values()):
                yield from ((f"{name}.{step_name}", check) for check in checks)
