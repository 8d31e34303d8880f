"""The five protocols in a random world, and in small scopes that are searched to the end."""

import os
import time

import pytest

from tests.simulate.test_run import simulated
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import base_of, exit_keys, tag_of
from treadle.simulate.explore import explore
from treadle.simulate.scope import Scope, read_scopes

FIVE = ["v3", "fractal", "dptr", "riper", "waterfall"]
IN_THE_SUITE = [
    ("waterfall", "story", 50),
    ("waterfall", "team", 500),
    ("riper", "cycles", 400),
    ("dptr", "batch", 1000),
    ("dptr", "moved", 500),
    ("waterfall", "moved", 2000),
    ("v3", "leaf", 150),
    ("v3", "outages", 1500),
    ("v3", "planning", 2000),
    ("fractal", "failures", 1000),
]
IN_THE_SOAK = [
    ("fractal", "merging", 1000),
    ("riper", "commands", 4000),
    ("riper", "moved", 4000),
    ("v3", "merging", 20_000),
    ("v3", "replanning", 10_000),
    ("v3", "waiting", 40_000),
    ("fractal", "leaf", 5000),
    ("fractal", "critiques", 2000),
    ("fractal", "probes", 1000),
]
ENDLESS = [("fractal", "children")]
FOLLOW = "rebase adapt conflict"
UNVISITED = {
    "v3": "",
    # an only child has nothing to rebase upon, and nobody outside speaks up
    "fractal": "rebase rebaser conflict@rebase conflict@rebaser critique status",
    # a map fails by itself only if it would exceed the limit of instances, and the branch does not move
    "dptr": f"halt@cycles halt@batches halt@design halt@plan halt@found halt@modules halt@rebase halt@adapt {FOLLOW}",
    "riper": f"stopped@O2A_found stopped@O2A_modules stopped@O5T stopped@rebase stopped@adapt confirm@adapt {FOLLOW}",
    "waterfall": f"halt@stories work {FOLLOW} halt@rebase halt@adapt",
}
"""Steps at which nobody stands in the scope `small` of a protocol."""


def scopes_of(protocol: str) -> dict[str, Scope]:
    return read_scopes((BUILT_IN / protocol / "scopes.yaml").read_text(encoding="utf-8"))


def soak_seconds() -> float:
    return float(os.environ.get("SOAK_MINUTES", "10")) * 60


@pytest.mark.parametrize("name", FIVE)
def test_no_invariant_breaks_in_a_random_world(name: str) -> None:
    summary = simulated(load(name), runs=50, faults=0.3, seed=0, odd=True)
    assert summary.findings == ()
    assert summary.kills > 0
    assert len(summary.outcomes) > 1


@pytest.mark.parametrize("name", FIVE)
def test_without_faults_most_runs_end_well(name: str) -> None:
    summary = simulated(load(name), runs=20, faults=0.0)
    good = summary.outcomes.get("Done", 0) + summary.outcomes.get("Merged", 0)
    assert good >= 16, summary.outcomes


def exhausted(name: str, scope: str, at_least: int, limit: int) -> None:
    found = explore(load(name), scopes_of(name)[scope], limit_states=limit)
    assert found.exhausted
    assert found.findings == ()
    assert found.states >= at_least
    assert found.outcomes


def test_every_named_scope_is_searched() -> None:
    searched = {(name, scope) for name, scope, _ in [*IN_THE_SUITE, *IN_THE_SOAK]} | {(name, "small") for name in FIVE}
    assert {(name, scope) for name in FIVE for scope in scopes_of(name)} == searched | set(ENDLESS)
    assert all(scope.help for name in FIVE for scope in scopes_of(name).values())


@pytest.mark.parametrize("name", FIVE)
def test_a_menu_names_only_exits_of_its_step(name: str) -> None:
    """A misspelt entry would make the search smaller without a word."""
    protocol = load(name)
    offered: dict[str, set[str]] = {}
    for graph in protocol.graphs.values():
        for step, definition in graph.steps.items():
            keys = {*exit_keys(protocol, definition), *definition.routes}
            offered.setdefault(base_of(step), set()).update(keys, map(tag_of, keys))
    menus = [menu for scope in scopes_of(name).values() for menu in scope.menus.items()]
    assert [(step, key) for step, keys in menus for key in keys if key not in offered.get(step, ())] == []


@pytest.mark.parametrize("name", FIVE)
def test_the_default_scope_is_exhausted_soon_and_visits_most_steps(name: str) -> None:
    found = explore(load(name), scopes_of(name)["small"], limit_states=2_000)
    assert found.exhausted
    assert found.findings == ()
    assert "Aborted" in found.outcomes
    assert {step.partition(".")[2] for step in found.unvisited} == set(UNVISITED[name].split())


@pytest.mark.parametrize(("name", "scope", "at_least"), IN_THE_SUITE)
def test_a_small_scope_has_no_deadlock(name: str, scope: str, at_least: int) -> None:
    exhausted(name, scope, at_least, limit=40_000)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "scope", "at_least"), IN_THE_SOAK)
def test_a_large_scope_has_no_deadlock(name: str, scope: str, at_least: int) -> None:
    exhausted(name, scope, at_least, limit=1_000_000)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "scope"), ENDLESS)
def test_an_endless_scope_has_no_deadlock_as_far_as_time_goes(name: str, scope: str) -> None:
    found = explore(load(name), scopes_of(name)[scope], 2_000_000, min(soak_seconds(), 600), time.monotonic)
    assert found.findings == ()
    assert found.states > 1000


@pytest.mark.soak
@pytest.mark.parametrize("name", FIVE)
def test_many_more_runs_in_a_random_world(name: str) -> None:
    """Four hundred of each protocol in any case, more as time allows."""
    protocol, seed = load(name), 1000
    deadline = time.monotonic() + soak_seconds() / len(FIVE)
    while seed < 1400 or (time.monotonic() < deadline and seed < 5000):
        summary = simulated(protocol, runs=50, faults=0.3, seed=seed, odd=True)
        assert summary.findings == ()
        seed += 50
