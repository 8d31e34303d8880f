"""Tests with known verdicts: the machinery of the real tests runs them, and the witness reports them apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


class CanaryError(Exception):
    """Raised by nothing else."""


class Canary(pytest.Item):
    """One test; for the hooks of the project it looks like a function in one of its files."""

    want = ""
    token = ""

    def prepare(self, want: str, token: str) -> Canary:
        self.want, self.token = want, token
        self.obj = self.sing
        self.funcargs: dict[str, Any] = {}
        self._fixtureinfo = SimpleNamespace(argnames=(), name2fixturedefs={}, initialnames=(), names_closure=[])
        _have_logging(self)
        return self

    def sing(self) -> None:
        value = int(self.token, 16)
        assert value == int(self.token, 16)
        if self.want == "failed":
            assert value == value + 1, "canary"

    def setup(self) -> None:
        if self.want == "error":
            raise CanaryError("canary")

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:  # noqa: ARG002
        """In a word: to lay out a traceback takes longer than all the rest."""
        return "canary"

    def runtest(self) -> None:
        self.ihook.pytest_pyfunc_call(pyfuncitem=self)


def sing(item: pytest.Item, want: str, token: str, name: str) -> str:
    """Run a canary as a neighbour of a test; its verdict."""
    try:
        canary = Canary.from_parent(item.session, name=name, nodeid=f"{item.nodeid.partition('::')[0]}::{name}")
        canary.path = item.path  # by which the hooks of the project's own `conftest.py` apply
        canary.prepare(want, token)
        for when in ("setup", "call"):
            outcome = _phase(canary, when)
            if outcome != "passed":
                return "error" if when == "setup" else outcome
    except Exception as error:  # noqa: BLE001, RUF100 - hooks of the project run here
        return f"broken by {type(error).__name__}"
    return "passed"


def _phase(canary: Canary, when: Any) -> str:
    # Not by `pytest_runtest_setup`: that would take down the fixtures which the next test shares with the last one.
    step = canary.setup if when == "setup" else lambda: canary.ihook.pytest_runtest_call(item=canary)
    call = pytest.CallInfo.from_call(step, when=when)
    report = canary.ihook.pytest_runtest_makereport(item=canary, call=call)
    return str(report.outcome)


def _have_logging(canary: Canary) -> None:
    try:
        from _pytest.logging import LogCaptureHandler, caplog_handler_key, caplog_records_key  # noqa: PLC0415

        records: dict[Any, list[Any]] = {}
        canary.stash[caplog_records_key] = records
        canary.stash[caplog_handler_key] = LogCaptureHandler()
    except (ImportError, AttributeError):
        pass
