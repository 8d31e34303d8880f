"""Folds: a team's lanes become one."""

from pathlib import Path

from immutables import Map

from tests.git.place import Stage, git, repository, run
from treadle.git.fold import Folding
from treadle.kernel.state import Group


async def team(tmp_path: Path, one: dict[str, str], other: dict[str, str]) -> Stage:
    stage = await Stage(repository(tmp_path)).start()
    members = {"t1": "root/t1", "t2": "root/t2"}
    stage.insts["root"].groups["backend"] = Group(members=Map(members))
    for inst, files in zip(members.values(), (one, other), strict=True):
        stage.add(inst)
        await stage.work(files, inst=inst)
    return stage


def test_the_work_of_all_members_is_taken_in_once(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"src/a.py": "a\n"}, {"src/b.py": "b\n"})
        folding = Folding(stage.lanes)
        done = await folding.fold(stage.state, "root", ("backend",))
        assert done.is_clean
        assert done.files == ("src/a.py", "src/b.py")
        assert await stage.head() == done.commit == await stage.head("root/t1")
        assert await folding.fold(stage.state, "root", ("backend",)) == done
        assert git(stage.root, "rev-list", "--count", f"HEAD..{done.commit}") == "2"
        await stage.work({"src/a.py": "a2\n"}, inst="root/t1", n="2.1")
        later = await folding.fold(stage.state, "root")
        assert stage.cat(later.commit, "src/a.py") == "a2"
        assert git(stage.root, "rev-list", "--count", f"HEAD..{later.commit}") == "3"

    run(story())


def test_a_conflict_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"README.md": "a\n"}, {"README.md": "b\n"})
        before = (await stage.head(), await stage.head("root/t1"), await stage.head("root/t2"))
        done = await Folding(stage.lanes).fold(stage.state, "root")
        assert (done.is_clean, done.files) == (False, ("README.md",))
        assert (await stage.head(), await stage.head("root/t1"), await stage.head("root/t2")) == before

    run(story())


def test_groups_that_are_not_named_stay_out(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"src/a.py": "a\n"}, {"src/b.py": "b\n"})
        head = await stage.head()
        assert (await Folding(stage.lanes).fold(stage.state, "root", ("other",))).commit == head

    run(story())
