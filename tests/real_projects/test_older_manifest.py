"""An older manifest has the same criterion id, and no agent writes a test for it: refused, in every protocol."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.real_projects import scripts
from tests.real_projects.features import SHARE, Addition
from tests.real_projects.project import Ended, RealProject

pytestmark = pytest.mark.real

full = pytest.mark.soak_full
PACKAGES = ("inflection", "merge-json-schemas", "uuid")
"""One of each language."""
QUICK_FIRST = ("inflection", *(pytest.param(name, marks=full) for name in PACKAGES[1:]))
PROOFS = set(
    "manifest manifest_complete traceable red red_one sharp coverage_complete scenarios_tested plan_sound".split()
)
"""Checks that may find that a criterion has no test."""
TWO_CRITERIA = msgspec.structs.replace(SHARE, criteria=SHARE.criteria[:2])
PROVED = ("AC-1",)
OLDER = {"other-spec": "older", "no-spec": ""}
"""The spec id of the older manifest."""


@pytest.mark.parametrize("older", ["other-spec", pytest.param("no-spec", marks=full)])
@pytest.mark.parametrize("protocol", ["v3", "fractal", "waterfall"])
@pytest.mark.parametrize("name", PACKAGES)
def test_an_older_manifest_proves_no_criterion(
    name: str, protocol: str, older: str, clone: Callable[[str], RealProject]
) -> None:
    project = clone(name)
    addition = TWO_CRITERIA.in_(project.package)
    add_older_manifest(project, addition, OLDER[older], waterfall=protocol == "waterfall")
    ended = run(project, addition, protocol)
    check_refused(project, addition, ended)


@pytest.mark.parametrize("name", QUICK_FIRST)
def test_an_agent_that_keeps_the_older_spec_id_proves_no_criterion(
    name: str, clone: Callable[[str], RealProject]
) -> None:
    """The agent adds its tests below the older id, so that the file as a whole belongs to another spec."""
    project = clone(name)
    addition = TWO_CRITERIA.in_(project.package)
    add_older_manifest(project, addition, "older")
    ended = project.run(addition, once(scripts.v3(addition, PROVED, spec_id="-")))
    check_refused(project, addition, ended)
    (act, *_) = project.refused(addition.feature.id)
    assert {"manifest.uncovered", "manifest.set_aside"} <= project.codes(addition.feature.id, act)


WRITES_TESTS = {"v3": "root:tests", "fractal": "root:test_author", "waterfall": "root/US-1:scaffold"}
"""Where the manifest is written, by protocol."""


@pytest.mark.parametrize("protocol", ["v3", *(pytest.param(name, marks=full) for name in ("fractal", "waterfall"))])
@pytest.mark.parametrize("name", PACKAGES)
def test_an_old_test_is_refused_where_the_manifest_is_written(
    name: str, protocol: str, clone: Callable[[str], RealProject]
) -> None:
    """The agents enter a test for AC-2 that passes on the base commit, and write none."""
    project = clone(name)
    addition = TWO_CRITERIA.in_(project.package)
    test_file, text, test = addition.passing_test("older")
    documents = scripts.DOCUMENTS if protocol == "waterfall" else {}
    project.commit("Test something else", {**documents, test_file: text})
    ended = run(project, addition, protocol, enters={test: "AC-2"})
    check_refused(project, addition, ended)
    ((act, _),) = project.refused(addition.feature.id).items()
    assert act.startswith(f"{WRITES_TESTS[protocol]}#1."), "no person and no reviewer had to see it"
    assert "red.never_failed" in project.codes(addition.feature.id, act)


@pytest.mark.parametrize("protocol", ["dptr", "riper"])
@pytest.mark.parametrize("name", QUICK_FIRST)
def test_a_plan_without_a_criterion_is_no_proof_of_it(
    name: str, protocol: str, clone: Callable[[str], RealProject]
) -> None:
    """These protocols have no manifest of their own; one that lies there stands for nothing either."""
    project = clone(name)
    addition = TWO_CRITERIA.in_(project.package)
    add_older_manifest(project, addition, addition.feature.id)
    ended = run(project, addition, protocol)
    check_refused(project, addition, ended)


def add_older_manifest(project: RealProject, addition: Addition, spec_id: str, waterfall: bool = False) -> None:
    """A manifest in the history of the package, in which an old test stands for AC-2."""
    test_file, text, test = addition.passing_test("older")
    file = scripts.WATERFALL_MANIFEST if waterfall else addition.manifest_file
    value = {**({"spec_id": spec_id} if spec_id else {}), "acceptance_criteria_map": {test: "AC-2"}}
    documents = scripts.DOCUMENTS if waterfall else {}
    manifest = {file: msgspec.json.encode(value).decode()}
    project.commit("Keep what an earlier run has left", {**documents, test_file: text, **manifest})


def run(project: RealProject, addition: Addition, protocol: str, enters: dict[str, str] | None = None) -> Ended:
    """A run whose agents prove AC-1 and nothing else, and may enter more tests in the manifest."""
    play, spec = {
        "v3": (scripts.v3, addition.spec),
        "fractal": (scripts.fractal, addition.spec),
        "waterfall": (scripts.waterfall, scripts.waterfall_spec(addition)),
        "dptr": (scripts.dptr, scripts.brief(addition)),
        "riper": (scripts.riper, scripts.brief(addition)),
    }[protocol]
    rules = once(play(addition, PROVED))
    for turn in [turn for rule in rules for turn in rule["turns"] if enters and is_manifest_written(protocol, rule)]:
        *command, _ = turn["run"][0]
        turn["run"].append([*command, json.dumps(enters)])
    ended = project.run(addition, rules, "--protocol", protocol, spec=spec)
    return project.drive(ended, addition.feature.id, {"review": "approve"})


def is_manifest_written(protocol: str, rule: dict[str, Any]) -> bool:
    step = WRITES_TESTS[protocol].rpartition(":")[2]
    return bool(rule["step"] == step and rule["turns"][0].get("run"))


def once(rules: scripts.Rules) -> scripts.Rules:
    """What is refused is not tried again: a second attempt finds no turn, and a person is asked."""
    return [{"attempt": "1", **rule} for rule in rules]


def check_refused(project: RealProject, addition: Addition, ended: Ended) -> None:
    """The work was refused where it was claimed, nothing is merged, and nothing is said to be verified."""
    assert ended.code in (1, 3), ended
    told = ended.json()
    assert told["outcome"] == ""
    assert told["result"] is None
    assert project.standings(addition.feature.id)["AC-2"] != "verified"
    refusals = project.refused(addition.feature.id)
    assert refusals or project.unverified(addition.feature.id)
    assert all(checks <= PROOFS for checks in refusals.values()), "nothing else was wrong with the work"
