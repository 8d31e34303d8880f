"""How the project's tests ended on the commit that a run started from."""

import msgspec

MOST = 400
"""Tests that are named; the rest is counted."""


class OldTest(msgspec.Struct, frozen=True):
    """A test that did not pass before the run, or not every time."""

    test: str
    code: str
    """`baseline.failing`: it failed. `baseline.flaky`: its verdict changed from run to run."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of the base commit, before the first agent starts."""

    commit: str
    tree: str
    passed: int
    failed: int
    skipped: int
    duration: float
    """Seconds that a run of all tests takes."""
    exit: int | None = None
    tests: tuple[OldTest, ...] = ()
    commands: tuple[str, ...] = ()
    """Commands of the toolchain that fail there, by name: `lint`, `format` (`baseline.lint`)."""


def counts(found: Baseline) -> str:
    """`412 passed, 3 failed, 12.3 s`"""
    parts = [f"{found.passed} passed", f"{found.failed} failed"]
    parts += [f"{found.skipped} skipped"] if found.skipped else []
    if not (found.passed or found.failed or found.skipped):
        parts = ["no test yet" if found.exit in (0, 5) else f"the test command ended with {found.exit}"]
    return ", ".join([*parts, f"{found.duration:.1f} s"])
