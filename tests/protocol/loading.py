"""A minimal protocol to plant things into, and its problems as they are printed."""

from typing import Any

import pytest

from treadle.errors import ProtocolError
from treadle.protocol.findings import LOAD, Finding
from treadle.protocol.model import Protocol, Step
from treadle.protocol.reading.assembly import Files, Loaded, assemble

MINIMAL = """\
protocol: small
root: main
roles:
  de: {template: work.jinja, modes: {Fix: {template: fix.jinja, exits: [Fixed, Stuck]}, Look: {exits: [Seen]}}}
graphs:
  main:
    start: work
    ends: [Done]
    steps:
"""
STEP = "      work: {role: de, exits: [Fixed], routes: {Fixed: '@end:Done'}}\n"


def loaded(text: str, **files: str) -> Loaded:
    return assemble(Files({"protocol.yaml": text, **files}))


def protocol(text: str) -> Protocol:
    return loaded(text).protocol


def step(body: str) -> Step:
    """The step `work` with this flow mapping as its body."""
    return protocol(f"{MINIMAL}      work: {body}\n").graphs["main"].steps["work"]


def graph(body: str) -> Any:
    """The graph `main` with further keys."""
    return protocol(MINIMAL.replace("    steps:\n", f"    {body}\n    steps:\n") + STEP).graphs["main"]


def problems(text: str) -> list[str]:
    """What the reader finds wrong with a protocol, line by line; names that do not exist are told beside it."""
    return [str(finding) for finding in findings(text) if finding.check == LOAD]


def findings(text: str) -> list[Finding]:
    """Everything that is told about a protocol that cannot be loaded."""
    with pytest.raises(ProtocolError) as caught:
        loaded(text)
    return [finding for finding in caught.value.findings if isinstance(finding, Finding)]
