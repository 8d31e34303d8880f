"""The five protocols in a random world, and in small scopes that are searched to the end."""

import os
import time

import pytest

from treadle.protocol.load import BUILT_IN, load
from treadle.simulate.explore import explore
from treadle.simulate.run import many
from treadle.simulate.scope import Scope
from treadle.simulate.scopes import read_scopes

FIVE = ["v3", "fractal", "dptr", "riper", "waterfall"]
SMALL = [
    ("waterfall", "story", 50),
    ("waterfall", "team", 500),
    ("riper", "cycles", 400),
    ("dptr", "batch", 1000),
    ("v3", "leaf", 150),
    ("v3", "planning", 2000),
    ("v3", "child", 1000),
    ("fractal", "leaf", 5000),
    ("fractal", "child", 300),
    ("fractal", "failures", 1000),
]
LARGE = [("v3", "merging", 20_000)]


def scope_named(protocol: str, name: str) -> Scope:
    return read_scopes((BUILT_IN / protocol / "scopes.yaml").read_text(encoding="utf-8"))[name]


def soak_seconds() -> float:
    return float(os.environ.get("SOAK_MINUTES", "10")) * 60


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("part", range(4))
def test_no_invariant_breaks_in_a_random_world(name: str, part: int) -> None:
    [summary] = many([load(name)], runs=100, faults=0.3, seed=part * 100)
    assert summary.findings == ()
    assert summary.kills > 0
    assert len(summary.outcomes) > 1


def exhausted(name: str, scope: str, at_least: int, limit: int) -> None:
    found = explore(load(name), scope_named(name, scope), limit_states=limit)
    assert found.exhausted
    assert found.findings == ()
    assert found.states >= at_least
    assert found.outcomes


@pytest.mark.parametrize(("name", "scope", "at_least"), SMALL)
def test_a_small_scope_has_no_deadlock(name: str, scope: str, at_least: int) -> None:
    exhausted(name, scope, at_least, limit=40_000)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "scope", "at_least"), LARGE)
def test_a_large_scope_has_no_deadlock(name: str, scope: str, at_least: int) -> None:
    exhausted(name, scope, at_least, limit=1_000_000)


@pytest.mark.soak
def test_two_children_of_the_fractal_as_far_as_time_goes() -> None:
    scope = scope_named("fractal", "children")
    found = explore(load("fractal"), scope, 2_000_000, min(soak_seconds(), 600), time.monotonic)
    assert found.findings == ()
    assert found.states > 1000


@pytest.mark.soak
@pytest.mark.parametrize("name", FIVE)
def test_many_more_runs_in_a_random_world(name: str) -> None:
    protocol, seed = load(name), 1000
    deadline = time.monotonic() + soak_seconds() / len(FIVE)
    while time.monotonic() < deadline and seed < 5000:
        [summary] = many([protocol], runs=50, faults=0.3, seed=seed)
        assert summary.findings == ()
        seed += 50
