"""A result of riper, dptr or waterfall meets a branch that has changed the same file: the run itself resolves it."""

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end import dptr, riper, waterfall
from tests.end_to_end.ending import RESULT, RUN
from tests.end_to_end.test_delivery import commit, deliver
from tests.end_to_end.world import World
from treadle.config.project import Project
from treadle.engines.delivery import reopen
from treadle.store.sqlite import opened_store

SHOUT: Final = "def shout(noun: str) -> str:\n    return noun.upper() + '!'\n"
SHOUTED: Final = "def test_shout():\n    assert shout('pen') == 'PEN!'\n"


class Meeting(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and the file to which both it and the user add a function."""

    world: dict[str, Any]
    answers: dict[str, Any] = {}
    file: str
    ours: str
    """What the result has there."""
    cheat: dict[str, str]
    """What a dishonest adaptation writes."""
    honest: dict[str, str] = {}
    """What the honest one writes besides that file."""
    check: str
    code: str

    @property
    def theirs(self) -> dict[str, str]:
        """What the user commits after the run."""
        module = self.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return {self.file: SHOUT, "tests/test_shout.py": f"from {module} import shout\n\n\n{SHOUTED}"}

    @property
    def both(self) -> str:
        return f"{self.ours}\n\n{SHOUT}"


RIPER, DPTR, STORY = riper.LABEL, dptr.PARSE, waterfall.LABEL
BETTER: Final = RIPER.code(RIPER.better)
MEETINGS: Final = {
    "riper, and a test of the result is made hollow": Meeting(
        world=riper.world_of(),
        file=RIPER.file,
        ours=BETTER,
        cheat={RIPER.file: f"{BETTER}\n\n{SHOUT}", RIPER.test_file: "def test_label():\n    assert True\n"},
        honest={RIPER.test_file: RIPER.tests()},
        check="mechanical_tests",
        code="canon.new_logic",
    ),
    "dptr, and a function of the branch does something else": Meeting(
        world=dptr.product(dptr.ONE),
        file=DPTR.module,
        ours=DPTR.code(),
        cheat={DPTR.module: f"{DPTR.code()}\n\n{SHOUT.replace('upper', 'lower')}"},
        check="canon",
        code="canon.changed",
    ),
    "waterfall, and the work of the story is lost": Meeting(
        world=waterfall.backlog(),
        answers={f"{STORY.at}:review": "approve"},
        file=STORY.file,
        ours=STORY.code(),
        cheat={STORY.file: SHOUT},
        check="same_colour",
        code="colour.changed",
    ),
}


def adapted(files: dict[str, str]) -> dict[str, Any]:
    return {"write": files, "exit": {"type": "RebaseAdapted", "adaptations": ["shout stands below."]}}


def reopened(root: Path) -> bool:
    project = Project(root)
    with opened_store(project) as store:
        return asyncio.run(reopen(project, store, store.run(RUN)))


@pytest.mark.soak
@pytest.mark.parametrize("story", MEETINGS)
def test_the_run_resolves_a_conflict_with_the_branch_and_is_delivered(place: Path, story: str) -> None:
    meeting = MEETINGS[story]
    world = World(place, **meeting.world)
    world.agent("adapt", **adapted(meeting.cheat))
    world.agent("adapt", **adapted({meeting.file: meeting.both, **meeting.honest}))
    end = world.run(meeting.answers)
    assert end.outcome == "Done", end.told
    moved = commit(world.root, meeting.theirs)
    refused = deliver(world.root)
    assert refused is not None
    assert (refused.code, refused.files) == ("deliver.conflict", (meeting.file,))

    assert reopened(world.root)
    end = world.go_on()

    assert end.outcome == "Done", end.told
    steps = ["rebase RebaseDrift", "adapt !gate", "adapt RebaseAdapted", "deliver MergeComplete"]
    assert end.steps()[-4:] == steps
    assert not end.checks("root:adapt#1.1")[meeting.check]
    assert meeting.code in end.refusals("root:adapt#1.1")
    assert end.git("rev-parse", "main").strip() == moved, "nobody has delivered it yet"
    assert deliver(world.root) is None
    assert end.git("rev-parse", "main") == end.git("rev-parse", RESULT)
    assert (world.root / meeting.file).read_text() == meeting.both
    assert end.suite().startswith("2 passed")
    assert {it["standing"] for it in end.evidence()["criteria"]} == {"verified"}


@pytest.mark.soak
def test_a_person_settles_a_contradiction_and_confirms_protected_files(place: Path) -> None:
    guarded = msgspec.structs.replace(RIPER, module="interface")
    world = World(place, **riper.world_of(riper.Shop(cycles=(guarded,))))
    end = world.run({f"{guarded.at}:confirm": ["confirm", "confirm"]})
    assert end.outcome == "Done", end.told
    commit(world.root, {guarded.file: SHOUT})
    both = f"{guarded.code(guarded.better)}\n\n{SHOUT}"
    blocked = {
        "type": "RebaseBlocked",
        "conflictFile": guarded.file,
        "ourChange": "It names things.",
        "theirChange": "It shouts.",
        "whyUnresolvable": "Nobody has said that a module may do both.",
    }
    world.agent("adapt", exit=blocked)
    world.agent("adapt", **adapted({guarded.file: both}))
    world.agent("adapt", **adapted({}))

    assert reopened(world.root)
    end = world.go_on({"root:conflict": ("retry", "It may do both."), "root:confirm": "confirm"})

    assert end.outcome == "Done", end.told
    assert end.steps()[-7:] == [
        "rebase RebaseDrift",
        "adapt RebaseBlocked",
        "conflict retry",
        "adapt !gate.protection",
        "confirm confirm",
        "adapt RebaseAdapted",
        "deliver MergeComplete",
    ]
    assert "It may do both." in end.prompt("root:adapt#2.1")
    assert deliver(world.root) is None
    assert (world.root / guarded.file).read_text() == both
