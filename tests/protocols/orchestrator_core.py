"""The published orchestrator beside the kernel: the same STATE in, who comes next out.

What comes next is told in the same words for both: `impl 2` (an executor works on a step, in an attempt), `ask review`,
`ask person`, `wait` (nothing starts), `done`.
"""

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tools.orchestrator_core.install import HERE, NODE, PACKAGE
from treadle.kernel.commands import RunAgent
from treadle.protocol.load import load
from treadle.protocol.model import Protocol, base_of
from treadle.testing.scenario import Scenario, items

STEPS: Final = ("bdd", "sdd-delta", "contract", "scaffold", "impl", "verify", "update-memory")
PASSES: Final = {"bdd": "pass_bdd", "scaffold": "pass_red", "impl": "pass_green", "verify": "pass_verified"}
REASONS: Final = ("constitution_violation", "needs_clarification", "nfr_missing", "scope_warning", "test_timeout")
MOST: Final = {"bdd": 3, "sdd-delta": 3, "contract": 2, "scaffold": 2, "impl": 5, "verify": 2, "update-memory": 2}
PATIENCE: Final = 120
EARLY, LATE = "2020-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z"


class Move(NamedTuple):
    """A STATE, and what happens to it."""

    step: str
    attempt: int
    status: str
    reason: str = ""

    @property
    def name(self) -> str:
        """`impl 5: failing, scope_warning`."""
        return f"{self.step} {self.attempt}: {self.status}" + (f", {self.reason}" if self.reason else "")


def state(move: Move, **more: Any) -> dict[str, Any]:
    """A STATE.json with every field of the published schema."""
    return {
        "project": "shop", "story": "US-1", "step": move.step, "attempt": move.attempt,
        "max_attempts": MOST.get(move.step, 1), "status": move.status, "reason": move.reason or None,
        "dispatched_at": LATE, "completed_at": None, "timeout_min": 5, "tests": None, "failing_tests": [],
        "lint_pass": None, "files_changed": [], "blocked_by": [], "human_note": None, **more,
    }  # fmt: skip


def moves() -> Iterator[Move]:
    """Every transition that the published rules speak of."""
    for step in STEPS:
        for attempt in (1, MOST[step]):
            yield Move(step, attempt, "pass")
            yield Move(step, attempt, "failing")
            yield from (Move(step, attempt, "failing", reason) for reason in REASONS)
        yield from (Move(step, 1, status) for status in ("pending", "running", "needs_human", "timeout"))
    yield Move("review", 1, "pending")
    yield Move("review", 1, "pass")
    yield from (Move("review", 1, "failing", reason) for reason in ("", *REASONS))
    yield Move("done", 1, "pass")


# theirs


class Theirs(NamedTuple):
    """What the published orchestrator has answered."""

    answers: list[dict[str, Any]]
    rules: dict[str, dict[str, Any]]
    modes: list[str]


def ask(cases: list[dict[str, Any]], scratch: Path) -> Theirs:
    """Ask it; skips the test, saying what to do, where it is not installed."""
    if not PACKAGE.exists() or not NODE.exists():
        pytest.skip(f"the published orchestrator is not in {PACKAGE.parents[2]}; run `make orchestrator-core`")
    done = subprocess.run(
        [NODE, HERE / "drive.mjs", PACKAGE, scratch],
        input=json.dumps(cases), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Theirs(**json.loads(done.stdout))


def next_of_theirs(result: dict[str, Any]) -> str:
    match result["type"]:
        case "dispatched":
            return f"{result['step']} {result['attempt']}"
        case "needs_human":
            return f"ask {result['step']}"
        case "blocked" | "timeout":
            return "ask person"
        case "already_running":
            return "wait"
    return str(result["type"])


# ours


@cache
def waterfall() -> Protocol:
    return load("waterfall")


def next_of_ours(move: Move) -> str:
    """What the kernel does with a story that stands so."""
    if move.step == "review":
        return _reviewed(move)
    if move.step == "done":
        return _place(_pass(_at("update-memory", 1), "update-memory"))
    run = _at(move.step, move.attempt)
    match move.status:
        case "pass":
            _pass(run, move.step)
        case "failing":
            run.says(f"{_fails(move.step)}.{move.reason or 'none'}", move.step)
        case "needs_human":
            run.says("needs_human", move.step)
        case "timeout":
            run.times_out(move.step)
        case "running":
            return "wait"  # whoever works, works on: nothing in the kernel starts a second one
    return _place(run)


def _reviewed(move: Move) -> str:
    run = _at("review", 1)
    if move.status == "pending":
        return _place(run)
    choices = run.ask().choices
    choice = "approve" if move.status == "pass" else move.reason if move.reason in choices else "reject"
    return _place(run.answers(choice))


def _at(step: str, attempt: int) -> Scenario:
    """A story that stands at a step, in an attempt."""
    run = Scenario(waterfall(), {"stories": items("US-1")})
    for before in ("bdd", "sdd-delta", "contract", "review", "scaffold", "impl", "verify", "update-memory"):
        if before == step:
            break
        run = run.answers("approve") if before == "review" else _pass(run, before)
    for _ in range(attempt - 1):  # refused by a check: the one way back to itself that every step has
        run.says(PASSES.get(step, "pass"), step, fails=[_first_check(step)])
    return run


def _first_check(step: str) -> str:
    return waterfall().graphs["story"].steps[step].gates[PASSES.get(step, "pass")][0].name


def _pass(run: Scenario, step: str) -> Scenario:
    """A step passes, and with it what the orchestrator does by itself before the next one."""
    if step == "bdd":
        return run.says("pass_bdd", step, complexity="S", parallel_tasks=0)
    run.says(PASSES.get(step, "pass"), step)
    if step == "verify":
        run.says("Archived", "archive")
    return run.says("MergeComplete", "merge") if step == "update-memory" else run


def _fails(step: str) -> str:
    return "failing_measured" if step in ("impl", "verify") else "failing"


def _place(run: Scenario) -> str:
    story = next(inst for inst in run.state.insts.values() if inst.graph == "story")
    if story.outcome:
        return "done"
    if asked := run.asked():
        step = base_of(asked[0].rpartition(":")[2])
        return "ask review" if step == "review" else "ask person"
    job = run.job()
    assert isinstance(job, RunAgent)
    return f"{base_of(job.step)} {job.attempt}"
