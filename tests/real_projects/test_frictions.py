"""What people met who tried Treadle on real repositories, each as a case."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.real_projects import scripts
from tests.real_projects.features import INITIALS, ROMAN, SHARE, Addition, Feature, GoAddition
from tests.real_projects.project import RealProject

pytestmark = pytest.mark.real

Clone = Callable[[str], RealProject]
QUICK = "inflection"
"""A package whose suite takes a second."""
ONE_OF_EACH = (QUICK, *(pytest.param(name, marks=pytest.mark.soak_full) for name in ("merge-json-schemas", "uuid")))
ALL = {"AC-1": "verified", "AC-2": "verified", "AC-3": "verified"}
FIRST = {"1.1"}
UNSTABLE = """\
import random

import pytest


@pytest.mark.parametrize("number", [1, 2, 3])
def test_that_has_failed_for_long(number):
    assert number > 3


def test_that_fails_now_and_then():
    assert random.random() < 0.5
"""


def test_failures_from_before_the_work_are_not_charged_to_it(clone: Clone) -> None:
    project = clone(QUICK)
    project.commit("Leave some tests for later", {"tests/test_unstable.py": UNSTABLE})
    check_honest_run(project, SHARE)


def test_an_older_manifest_does_not_block_an_honest_run(clone: Clone) -> None:
    """Honest agents prove each criterion although an older manifest, without a spec id, has the same ids."""
    project = clone(QUICK)
    older = INITIALS.in_(project.package)
    project.commit(
        "Add initials by hand",
        {
            older.interface: older.interface_text(),
            older.module: older.code(),
            older.test_file: older.tests(),
            older.contract_file: older.contract_suite(),
            **older.manifest(*older.ids, spec_id=""),
        },
    )
    kept = (project.root / older.manifest_file).read_text()
    check_honest_run(project, SHARE)
    assert project.treadle("deliver", SHARE.id).code == 0
    assert project.git("show", f"main:{older.manifest_file}") == kept.strip(), "an older manifest stays as it was"


def test_a_result_is_verified_again_where_the_branch_has_moved(clone: Clone) -> None:
    """The branch gets a test that the result fails, and loses it again."""
    project = clone(QUICK)
    check_honest_run(project, SHARE)
    text = "import importlib.util\n\n\ndef test_no_share():\n"
    text += f'    assert importlib.util.find_spec("{project.package.target}.share") is None\n'
    moved = project.commit("Forbid it meanwhile", {f"{project.package.tests}/test_no_share.py": text})

    assert project.treadle("deliver", SHARE.id).code == 2, "without --rebase, nothing is changed"
    refused = project.treadle("deliver", SHARE.id, "--rebase")
    assert refused.code != 0, refused
    assert "[deliver.unverified]" in refused.err
    assert project.git("rev-parse", "main") == moved

    project.git("rm", "-q", f"{project.package.tests}/test_no_share.py")
    moved = project.commit("Allow it again", {"NOTES.md": "Meanwhile.\n"})
    done = project.treadle("deliver", SHARE.id, "--rebase")
    assert done.code == 0, done
    assert project.git("merge-base", "--is-ancestor", moved, "main") == ""
    assert {"NOTES.md", SHARE.in_(project.package).module} <= project.files("main")
    assert project.standings(SHARE.id) == ALL


def test_three_features_at_once_are_verified(clone: Clone) -> None:
    project = clone(QUICK)
    processes = []
    for feature in (SHARE, INITIALS, ROMAN):
        addition = feature.in_(project.package)
        processes.append(project.start(*project.run_words(addition, scripts.v3(addition))))
    ends = [project.ended(process) for process in processes]
    assert [ended.code for ended in ends] == [0, 0, 0], "\n".join(map(str, ends))
    assert [project.standings(it.id) for it in (SHARE, INITIALS, ROMAN)] == [ALL, ALL, ALL]
    assert project.treadle("deliver", SHARE.id).code == 0
    for feature in (INITIALS, ROMAN):
        done = project.treadle("deliver", feature.id, "--rebase")
        assert done.code == 0, done


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_short_name_that_fits_several_tests_is_refused(name: str, clone: Clone) -> None:
    """A test of the same name is in another file: the manifest has to say which one it means."""
    project = clone(name)
    addition = SHARE.in_(project.package)
    short = addition.test_name("AC-1")
    project.commit("Have a test of the same name", same_name(addition, short))
    rules = scripts.v3(addition)
    entries = {short: "AC-1"} | {addition.full_name(addition.test_file, it): it for it in ("AC-2", "AC-3")}
    contract = addition.listed()
    at_tests = next(rule for rule in rules if rule["step"] == "tests")
    honest = at_tests["turns"][0]
    wrong = {**honest, "run": [scripts.listing(addition, contract | entries)]}
    right = {**honest, "run": [scripts.listing(addition, addition.listed(*addition.ids))]}
    at_tests["turns"] = [wrong, right]

    ended = project.run(addition, rules)
    assert ended.code == 0, ended
    assert project.attempts(SHARE.id)["root:tests"] == ["1.1", "1.2"]
    assert "manifest.ambiguous" in project.codes(SHARE.id, "root:tests#1.1")
    told = project.treadle("show", SHARE.id, "root:tests#1.1", "--json").out
    assert addition.full_name(addition.test_file, "AC-1") in told, "the candidates are named"
    assert project.standings(SHARE.id) == ALL


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_scaffold_that_breaks_other_tests_is_refused_at_once(name: str, clone: Clone) -> None:
    project = clone(name)
    addition = SHARE.in_(project.package)
    rules = scripts.v3(addition)
    at_scaffold = next(rule for rule in rules if rule["step"] == "scaffold")
    honest = at_scaffold["turns"][0]
    file, whole, broken = breakage(project)
    breaking = {**honest, "write": {**honest["write"], file: broken}}
    mending = {**honest, "write": {**honest["write"], file: whole}}
    at_scaffold["turns"] = [breaking, mending]

    ended = project.run(addition, rules)
    assert ended.code == 0, ended
    tries = project.attempts(SHARE.id)
    assert tries.pop("root:scaffold") == ["1.1", "1.2"]
    assert {it for of_step in tries.values() for it in of_step} == FIRST, "no implementer pays for it"
    assert project.standings(SHARE.id) == ALL


def test_a_helper_beside_the_tests_of_node_is_no_failure(clone: Clone) -> None:
    """`node --test` runs test/utils.js, too, which has no tests and was there before the work."""
    project = clone("merge-json-schemas")
    settings = project.treadle("config", "--json").json()
    assert not any("test/" in word for word in setting(settings, "toolchain.test"))
    check_honest_run(project, SHARE)


@pytest.mark.soak_full
def test_a_formatter_that_fails_before_the_work_is_not_charged_to_it(clone: Clone) -> None:
    """`init` sets gofmt up, and seven files of the package were written for an older one."""
    project = clone("uuid")
    addition = msgspec.structs.replace(SHARE, criteria=SHARE.criteria[:1]).in_(project.package)
    ended = project.run(addition, scripts.fractal(addition), "--protocol", "fractal")
    assert ended.code == 0, ended
    assert project.standings(SHARE.id) == {"AC-1": "verified"}


def test_go_tests_may_be_named_by_their_file(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GoAddition, "names_files", True)
    check_honest_run(clone("uuid"), SHARE)


@pytest.mark.parametrize("protocol", ["dptr", "riper"])
def test_protocols_without_a_manifest_prove_the_criteria_of_their_brief(protocol: str, clone: Clone) -> None:
    project = clone(QUICK)
    addition = SHARE.in_(project.package)
    play = {"dptr": scripts.dptr, "riper": scripts.riper}[protocol]
    ended = project.run(addition, play(addition), "--protocol", protocol, spec=scripts.brief(addition))
    ended = project.drive(ended, SHARE.id)
    assert ended.code == 0, ended
    assert project.standings(SHARE.id) == ALL


def test_init_takes_the_runner_that_the_environment_has(clone: Clone) -> None:
    """The tests of more-itertools are unittest's, and its environment has pytest, which runs them one by one."""
    settings = clone("more-itertools").treadle("config", "--json").json()
    assert setting(settings, "toolchain.kind") == "pytest"


def test_a_missing_linter_stops_the_run_before_an_agent_is_paid(clone: Clone) -> None:
    """The settings name ruff, which the environment lacks; `doctor` says so, and a run that needs it does not start."""
    project = clone(QUICK)
    file = project.root / "treadle.toml"
    linter = 'lint = "{root}/.venv/bin/python -m ruff check ."'
    project.commit("Lint with ruff", {file.name: file.read_text().replace('#lint = "make lint"', linter)})
    states = {line["what"]: line["state"] for line in project.treadle("doctor", "--json").json()["lines"]}
    assert states["toolchain lint"] != "ok"
    addition = SHARE.in_(project.package)
    ended = project.run(addition, scripts.fractal(addition), "--protocol", "fractal")
    assert ended.code == 2, ended


def check_honest_run(project: RealProject, feature: Feature) -> None:
    """Honest agents are believed at the first attempt."""
    addition = feature.in_(project.package)
    ended = project.run(addition, scripts.v3(addition))
    assert ended.code == 0, ended
    assert project.lost_attempts(feature.id) == {}
    assert project.standings(feature.id) == ALL


def same_name(addition: Addition, test: str) -> dict[str, str]:
    """A file with a passing test that has a given name."""
    match addition.package.language:
        case "python":
            return {f"{addition.package.tests}/test_others.py": f"def {test}():\n    assert True\n"}
        case "javascript":
            text = f"'use strict'\n\nconst {{ test }} = require('node:test')\n\ntest('{test}', () => {{}})\n"
            return {f"{addition.package.tests}/others.test.js": text}
        case "go":
            text = f'package others\n\nimport "testing"\n\nfunc {test}(t *testing.T) {{}}\n'
            return {"others/others_test.go": text}


def breakage(project: RealProject) -> tuple[str, str, str]:
    """A file of the package that a planner may write, its text, and one that breaks its tests."""
    python, go = "def pluralize(word: str) -> str:\n", "func (uuid UUID) URN() string {\n"
    javascript = "function arraysUnion (keyword, values, mergedSchema) {\n"
    file, before, added = {
        "inflection": ("inflection/__init__.py", python, "    return word\n\n\ndef unused(word: str) -> str:\n"),
        "merge-json-schemas": ("lib/resolvers.js", javascript, "  values = []\n"),
        "uuid": ("uuid.go", go, "\tuuid[0] = 0\n"),
    }[project.package.name]
    text = (project.root / file).read_text()
    assert before in text
    return file, text, text.replace(before, before + added, 1)


def setting(told: Any, name: str) -> Any:
    """The value of a setting in `treadle config --json`."""
    found = [it for it in told["settings"] if it["key"] == name]
    return found[0]["value"]
