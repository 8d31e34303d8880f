"""A verified result meets a branch that has moved: criteria are verified again, conflicts go to the rebase step."""

import asyncio
from contextlib import chdir
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.end_to_end.ending import RESULT, RUN
from tests.end_to_end.honest import played
from tests.end_to_end.world import World
from tests.git.place import git, write
from treadle.config.project import Project
from treadle.engines.client import Client
from treadle.engines.delivery import DeliveryRefusal, reopen, take_over_rebased
from treadle.store.sqlite import opened_store

INIT = "src/basket/__init__.py"
THEIRS = '"""The basket of a shop."""\n'
ADDED = '"""A second way to add up."""\n'


def commit(root: Path, files: dict[str, str]) -> str:
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Meanwhile")
    return git(root, "rev-parse", "HEAD").strip()


def deliver(root: Path) -> DeliveryRefusal | None:
    """Deliver with a rebase; why it was refused."""
    project = Project(root)
    with opened_store(project) as store:
        try:
            asyncio.run(take_over_rebased(project, store, store.run(RUN), lambda _: None))
        except DeliveryRefusal as refusal:
            return refusal
    return None


@pytest.mark.soak
def test_conflicts_go_back_to_the_protocols_own_rebase_step(place: Path) -> None:
    world = World(place, **played("leaf"))
    ours = next(it for it in world.cast.others if it.step == "scaffold").turn.write[INIT]
    both = ours.replace('"""What the things in a basket cost."""\n', THEIRS)
    adapted = {"symbol": "basket", "change": "its description is kept", "reason": "the shop has described it"}
    world.agent("adapt", write={INIT: both}, exit={"type": "RebaseAdapted", "adaptations": [adapted]})
    end = world.run()
    assert end.outcome == "Merged", end.told
    moved = commit(world.root, {INIT: THEIRS})
    before = git(world.root, "for-each-ref")

    refused = deliver(world.root)
    assert refused is not None
    assert (refused.code, refused.files, refused.onto) == ("deliver.conflict", (INIT,), moved)
    assert git(world.root, "for-each-ref") == before

    project = Project(world.root)
    with opened_store(project) as store:
        assert asyncio.run(reopen(project, store, store.run(RUN)))
        assert not asyncio.run(reopen(project, store, store.run(RUN))), "it goes on already"
    end = world.go_on()

    assert end.outcome == "Merged", end.told
    assert end.steps()[-3:] == ["rebase RebaseDrift", "adapt RebaseAdapted", "merge MergeComplete"]
    assert f"{moved}, the head " in end.prompt("root:adapt#1.1")
    assert end.git("rev-parse", f"{RESULT}^") == moved
    assert end.git("rev-parse", "main") == moved, "nobody has delivered it yet"
    assert deliver(world.root) is None
    assert git(world.root, "rev-parse", "main") == git(world.root, "rev-parse", RESULT)
    assert (world.root / INIT).read_text() == both
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")
    trailers = end.git("log", "-1", "--format=%(trailers:key=Criterion,valueonly)", "main").split()
    assert trailers == ["basket/AC-1", "basket/AC-2", "basket/AC-3"]


@pytest.mark.soak
def test_a_repeated_question_about_a_rebase_still_names_the_conflict(place: Path) -> None:
    world = World(place, **played("leaf"))
    adapted = {"symbol": "basket", "change": "nothing", "reason": "it still has markers"}
    world.agent("adapt", exit={"type": "RebaseAdapted", "adaptations": [adapted]})
    assert world.run().outcome == "Merged"
    moved = commit(world.root, {INIT: THEIRS})
    project = Project(world.root)
    with opened_store(project) as store:
        assert asyncio.run(reopen(project, store, store.run(RUN)))
    end = world.go_on({"root:conflict": ["retry", "abort"]})
    assert end.outcome == "Aborted", end.told
    assert [it.id.partition("#")[0] for it in end.heard] == ["root:conflict@adapt"] * 2
    assert all(moved in it.text and INIT in it.text for it in end.heard), [it.text for it in end.heard]


def test_an_aborted_rebase_leaves_the_result_deliverable(place: Path) -> None:
    world = World(place, **played("leaf"))
    assert world.run().outcome == "Merged"
    start = git(world.root, "rev-parse", "HEAD").strip()
    commit(world.root, {INIT: THEIRS})
    project = Project(world.root)
    with opened_store(project) as store:
        assert asyncio.run(reopen(project, store, store.run(RUN)))
        Client(project, store).abort(RUN)
    end = world.go_on()
    assert end.outcome == "Aborted"
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")
    with opened_store(project) as store:
        assert asyncio.run(reopen(project, store, store.run(RUN))), "another delivery tries the rebase again"
        Client(project, store).abort(RUN)
    assert world.go_on().outcome == "Aborted"
    git(world.root, "reset", "-q", "--hard", start)
    with chdir(world.root):
        assert treadle("deliver").code == 0
    assert git(world.root, "rev-parse", "main") == git(world.root, "rev-parse", RESULT)


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        ({"src/other.py": ADDED}, ()),
        (
            {"conftest.py": "collect_ignore = ['tests/basket/test_adding.py']\n"},
            ("tests/basket/test_adding.py::test_a_bad_quantity_is_refused",),
        ),
    ],
)
def test_the_tests_of_the_criteria_must_run_and_pass_on_the_branch(
    place: Path, files: dict[str, str], tests: tuple[str, ...]
) -> None:
    world = World(place, **played("leaf"))
    end = world.run()
    assert end.outcome == "Merged", end.told
    moved = commit(world.root, files)
    refused = deliver(world.root)
    assert (refused.code if refused else "") == ("deliver.unverified" if tests else "")
    assert set(tests) <= set(refused.tests if refused else ())
    assert git(world.root, "rev-parse", "main^" if refused is None else "main").strip() == moved


ADDING = "tests/basket/test_adding.py"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("", "\n\ndef add(basket: object) -> None:\n    pass\n", marks=pytest.mark.soak),
        ("", "\n\ndef test_a_bad_quantity_is_refused() -> None:\n    assert True\n"),
        pytest.param("assert ", "assert True or ", marks=pytest.mark.soak),
    ],
    ids=["a name is hidden by another one", "a test is hidden by another one", "tests are made hollow"],
)
def test_a_persons_changes_to_the_tests_of_criteria_are_not_called_verified(place: Path, old: str, new: str) -> None:
    world = World(place, **played("leaf"))
    assert world.run().outcome == "Merged"
    git(world.root, "checkout", "-q", RESULT)
    text = (world.root / ADDING).read_text()
    commit(world.root, {ADDING: text.replace(old, new) if old else text + new})
    git(world.root, "checkout", "-q", "main")
    refused = deliver(world.root)
    assert refused is not None
    assert refused.code == "deliver.branch_moved"


@pytest.mark.soak
@pytest.mark.parametrize("name", ["tests/conftest.py", "tests/basket/helpers.py", "tests/basket/prices.json"])
def test_a_persons_changes_to_shared_test_files_are_not_called_verified(place: Path, name: str) -> None:
    world = World(place, **played("leaf"))
    commit(world.root, {"tests/basket/helpers.py": "LIMIT = 1\n", "tests/basket/prices.json": "{}\n"})
    assert world.run().outcome == "Merged"
    git(world.root, "checkout", "-q", RESULT)
    commit(world.root, {name: "LIMIT = 2\n"})
    git(world.root, "checkout", "-q", "main")
    refused = deliver(world.root)
    assert refused is not None
    assert (refused.code, name in str(refused)) == ("deliver.branch_moved", True)
