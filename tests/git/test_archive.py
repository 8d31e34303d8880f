"""A delta that has become part of the design is filed away, once, under the date of that day."""

from pathlib import Path
from typing import Final

import pytest

from tests.evidence.stage import Memory
from tests.git.place import Stage, git, repository, run
from tests.git.test_merge import Checks
from treadle.errors import PortError
from treadle.git.checkout import Checkouts
from treadle.git.effects import GitEffects
from treadle.kernel.commands import RunEffect
from treadle.kernel.state import Slot
from treadle.ports import Case, Outcome
from treadle.protocol.load import load
from treadle.runtime.envelope import envelope_of

WATERFALL: Final = load("waterfall")
STORY: Final = "root/US-7"
DELTA: Final = {"docs/deltas/US-7.md": "## ADDED\n- a\n\n## MODIFIED\nNone\n\n## REMOVED\nNone\n"}
FILED: Final = "docs/deltas/archive/2023-11-14-US-7.md"


class Scene:
    """A story of the waterfall whose delta is written."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path, self.memory = tmp_path, Memory()

    async def start(self) -> "Scene":
        self.stage = await Stage(repository(self.tmp_path)).start()
        self.stage.add(STORY)
        ref = self.memory.put({"id": "US-7", "title": "t", "description": "d"})
        self.stage.insts[STORY].input = Slot(ref)
        await self.stage.work(DELTA, inst=STORY)
        return self

    async def archive(self, visit: int = 1) -> Outcome:
        checkouts = Checkouts(self.stage.repository, self.stage.recorder, self.stage.project.worktrees)
        effects = GitEffects(self.stage.lanes, checkouts, lambda *_: Checks(""))
        id_ = f"{STORY}:archive#{visit}.1"
        job = RunEffect(id=id_, inst=STORY, graph="story", step="archive", visit=visit, attempt=1, effect="archive")
        done = await effects.perform(job, Case(protocol=WATERFALL, state=self.stage.state, payloads=self.memory))
        assert envelope_of(WATERFALL, done.exit, done.fields, self.memory).payload_ref
        return done

    async def names(self) -> list[str]:
        return git(self.stage.root, "ls-tree", "-r", "--name-only", await self.stage.head(STORY), "docs").splitlines()


def test_a_delta_is_archived_on_the_storys_branch_and_the_next_lane_has_it(tmp_path: Path) -> None:
    async def story() -> None:
        scene = await Scene(tmp_path).start()
        before = await scene.stage.head(STORY)
        done = await scene.archive()
        head = await scene.stage.head(STORY)
        assert (done.exit, done.fields) == ("Archived", {"archive": FILED, "commit": head})
        assert await scene.names() == [FILED]
        assert scene.stage.cat(head, FILED) == DELTA["docs/deltas/US-7.md"].strip()
        assert git(scene.stage.root, "rev-parse", f"{head}^") == before
        assert git(scene.stage.root, "show", "-s", "--format=%s|%an", head) == "US-7: archive the delta|Treadle"
        lane = await scene.stage.lanes.open(scene.stage.state, scene.stage.job(STORY, "update-memory"))
        assert (lane.path / FILED).is_file()
        assert not (lane.path / "docs/deltas/US-7.md").exists()

    run(story())


def test_asked_again_it_says_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        scene = await Scene(tmp_path).start()
        assert await scene.archive() == await scene.archive()
        assert await scene.archive(visit=2) == await scene.archive()

    run(story())


def test_a_delta_that_is_written_anew_gets_a_name_of_its_own(tmp_path: Path) -> None:
    async def story() -> None:
        scene = await Scene(tmp_path).start()
        await scene.archive()
        await scene.stage.work({"docs/deltas/US-7.md": "other\n"}, inst=STORY, n="2.1")
        done = await scene.archive(visit=2)
        assert done.fields["archive"] == FILED.replace(".md", "-2.md")
        assert await scene.archive(visit=2) == done
        await scene.stage.work(DELTA, inst=STORY, n="3.1")
        assert (await scene.archive(visit=3)).fields["archive"] == FILED, "the same text is the same document"

    run(story())


def test_without_a_delta_nothing_is_archived(tmp_path: Path) -> None:
    async def story() -> None:
        scene = await Scene(tmp_path).start()
        scene.stage.insts[STORY].input = Slot(scene.memory.put({"id": "US-8"}))
        with pytest.raises(PortError, match=r"there is no docs/deltas/US-8\.md to archive, and none in the archive"):
            await scene.archive()
        scene.stage.insts[STORY].input = Slot(scene.memory.put({"id": "../../etc"}))
        with pytest.raises(PortError, match="nobody knows where"):
            await scene.archive()

    run(story())
