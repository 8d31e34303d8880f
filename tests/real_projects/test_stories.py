"""Four features in each real package: two in a row, then two at once; every criterion is verified."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.real_projects import scripts
from tests.real_projects.features import INITIALS, MIDDLE, ROMAN, SHARE, Feature
from tests.real_projects.project import Ended, RealProject
from tools.real_projects.packages import PACKAGES

pytestmark = pytest.mark.real
STORIES = [
    pytest.param(package.name, marks=pytest.mark.soak_full if package.slow else ())
    for package in PACKAGES
    if package.name != "inflection"  # which is there for the cases that need many runs
]
ALL = {"AC-1": "verified", "AC-2": "verified", "AC-3": "verified"}


@pytest.mark.parametrize("name", STORIES)
def test_every_feature_is_verified_and_delivered(
    name: str, clone: Callable[[str], RealProject], record: Callable[..., None]
) -> None:
    began, project = time.monotonic(), clone(name)
    doctor = project.treadle("doctor", "--json")
    assert doctor.code == 0, doctor
    tests, seconds = project.suite()
    assert tests >= project.package.suite
    verified = 0

    for feature in (SHARE, INITIALS):
        verified += check_verified(project, feature, run(project, feature))
        delivered = project.treadle("deliver", feature.id)
        assert delivered.code == 0, delivered
        check_delivered(project, feature)
        check_one_branch(project, feature)

    together = (ROMAN, MIDDLE)
    base = project.git("rev-parse", "main")
    with ThreadPoolExecutor() as threads:
        ends = list(threads.map(lambda feature: run(project, feature), together))
    for feature, ended in zip(together, ends, strict=True):
        verified += check_verified(project, feature, ended)
        assert project.git("merge-base", "main", ended.json()["result"]["branch"]) == base
    first = project.treadle("deliver", ROMAN.id)
    assert first.code == 0, first
    second = project.treadle("deliver", MIDDLE.id, "--rebase")
    assert second.code == 0, second
    for feature in together:
        check_delivered(project, feature)
        assert project.standings(feature.id) == ALL, "a delivery changes no verdict"

    after, _ = project.suite()
    assert after == tests + 4 * 4, "each feature has a contract test and one for each criterion"
    whole = time.monotonic() - began
    record(package=name, version=project.package.version, tests=tests, suite=seconds, verified=verified, seconds=whole)


def run(project: RealProject, feature: Feature) -> Ended:
    """A run of v3 with honest agents."""
    addition = feature.in_(project.package)
    return project.run(addition, scripts.v3(addition))


def check_verified(project: RealProject, feature: Feature, ended: Ended) -> int:
    """How many criteria are verified: all of them, at the first attempt of each step."""
    assert ended.code == 0, ended
    assert ended.json()["outcome"] == "Merged"
    standings = project.standings(feature.id)
    assert standings == ALL
    assert project.lost_attempts(feature.id) == {}
    return len(standings)


def check_delivered(project: RealProject, feature: Feature) -> None:
    """Code and tests are on the branch; the manifest, which the next run would trip over, is not."""
    addition, files = feature.in_(project.package), project.files("main")
    assert {addition.interface, addition.module, addition.test_file, addition.contract_file} <= files
    assert addition.manifest_file not in files


def check_one_branch(project: RealProject, feature: Feature) -> None:
    """A run leaves one branch, and a commit whose trailers name the run and its criteria."""
    branches = project.git("for-each-ref", "--format=%(refname:short)", f"refs/heads/treadle/{feature.id}").splitlines()
    assert branches == [f"treadle/{feature.id}/result"]
    trailers = project.git("log", "-1", "--format=%(trailers:only,unfold)", "main").splitlines()
    named = [line.partition(": ")[::2] for line in trailers]
    assert ("Treadle-Run", feature.id) in named
    criteria = [value.split()[0].rstrip(":") for key, value in named if key == "Criterion"]
    assert [it.rpartition("/")[2] for it in criteria] == list(ALL)
