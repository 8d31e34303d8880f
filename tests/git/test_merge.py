"""Merges: verified before they are published, once however often they are asked for."""

from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.git.checkout import Checkouts
from treadle.git.delivery import Policy, undelivered
from treadle.git.merge import Completed, Merging, Refused, Verify, Wanted, verify_by
from treadle.git.verifier import Tried

CHILD, ACT = "root/k0", "root/k0:merge#1.1"


async def fine(_: Path) -> Refused | None:
    return None


def merging(stage: Stage, policy: Policy = "branch") -> Merging:
    return Merging(stage.lanes, Checkouts(stage.repository, stage.recorder, stage.project.worktrees), policy)


async def child_with_work(root: Path) -> Stage:
    stage = await Stage(root).start()
    await stage.work({"src/interface.py": "class A: ...\n"}, step="scaffold")
    stage.add(CHILD)
    await stage.work({"src/k0.py": "k = 0\n"}, inst=CHILD, step="tests")
    await stage.work({"src/k0.py": "k = 1\n", "src/more.py": "m = 1\n"}, inst=CHILD)
    return stage


async def merge(stage: Stage, verify: Verify = fine, inst: str = CHILD, act: str = ACT) -> Completed | Refused:
    return await merging(stage).merge(stage.state, inst, act, Wanted("feat(k0): implement\n"), verify)


def test_a_child_becomes_one_commit_of_its_parent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        before = await stage.head()
        seen: list[str] = []

        async def verify(path: Path) -> Refused | None:
            assert await stage.head() == before
            seen.append((path / "src/k0.py").read_text())
            return None

        done = await merge(stage, verify)
        assert isinstance(done, Completed)
        assert seen == ["k = 1\n"]
        assert await stage.head() == done.commit
        assert git(stage.root, "log", "--format=%s", "-n", "2", done.commit).splitlines()[0] == "feat(k0): implement"
        assert git(stage.root, "rev-parse", f"{done.commit}^") == before
        assert await stage.head(CHILD) == done.commit
        again = await stage.lanes.open(stage.state, stage.job(CHILD, n="2.1"))
        assert again.base == done.commit

    run(story())


@pytest.mark.parametrize("crash", ["before publication", "before the child is moved"])
def test_a_merge_that_was_cut_off_is_completed_with_the_same_commit(tmp_path: Path, crash: str) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        names, before, child = stage.integration.names(RUN), await stage.head(), await stage.head(CHILD)
        done = await merge(stage)
        assert isinstance(done, Completed)
        values = {names.integration(CHILD): child, names.of_instance(CHILD, "base"): before}
        if crash == "before publication":
            values[names.integration("root")] = before
        await stage.refs.put_all(values)

        async def never(_: Path) -> Refused | None:
            raise AssertionError("verified already")

        resumed = await Stage(stage.root).start()
        resumed.insts = stage.insts
        assert await merge(resumed, never) == done
        assert await resumed.head() == done.commit
        assert await resumed.head(CHILD) == done.commit
        assert await merge(resumed, never) == done

    run(story())


def test_the_same_inputs_give_the_same_commit(tmp_path: Path) -> None:
    async def story(place: Path) -> str:
        place.mkdir()
        done = await merge(await child_with_work(repository(place)))
        assert isinstance(done, Completed)
        return done.commit

    assert run(story(tmp_path / "one")) == run(story(tmp_path / "two"))


def test_two_children_follow_each_other_and_nothing_is_merged_twice(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        stage.add("root/k1")
        await stage.work({"src/k1.py": "k = 1\n"}, inst="root/k1")
        assert isinstance(await merge(stage), Completed)
        done = await merge(stage, inst="root/k1", act="root/k1:merge#1.1")
        assert isinstance(done, Completed)
        assert stage.cat(done.commit, "src/k0.py") == "k = 1"
        await stage.work({"src/k0.py": "k = 2\n"}, inst=CHILD, n="2.1")
        later = await merge(stage, act="root/k0:merge#2.1")
        assert isinstance(later, Completed)
        assert git(stage.root, "diff-tree", "-r", "--name-only", f"{later.commit}^", later.commit) == "src/k0.py"
        assert git(stage.root, "rev-list", "--count", "HEAD.." + later.commit) == "4"

    run(story())


def test_a_conflict_is_told_with_both_sides_and_moves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        stage.add("root/k1")
        head = await stage.head(CHILD)
        await stage.work({"src/k0.py": "other\n"}, inst="root/k1")
        assert isinstance(await merge(stage, inst="root/k1", act="root/k1:merge#1.1"), Completed)
        parent = await stage.head()
        refused = await merge(stage)
        assert isinstance(refused, Refused)
        assert (refused.reason, refused.files) == ("IntegrationFailure", ("src/k0.py",))
        assert "--- ours\nother\n" in refused.details
        assert "--- theirs\nk = 1" in refused.details
        assert (await stage.head(), await stage.head(CHILD)) == (parent, head)

    run(story())


class Checks:
    """A verifier that fails at one of its checks."""

    def __init__(self, bad: str) -> None:
        self.bad, self.asked = bad, list[str]()

    async def _tried(self, name: str) -> Tried:
        self.asked.append(name)
        return Tried(name != self.bad, f"{name} failed", ("t::one",) if name == self.bad else ())

    async def build(self, _: Path) -> Tried:
        return await self._tried("build")

    async def contract(self, _: Path) -> Tried:
        return await self._tried("contract")

    async def suite(self, _: Path) -> Tried:
        return await self._tried("suite")

    async def same_colour(self, *_: str) -> Tried:
        return await self._tried("same_colour")


@pytest.mark.parametrize(
    ("bad", "reason", "asked"),
    [
        ("build", "BuildFailure", ["build"]),
        ("contract", "ContractViolation", ["build", "contract"]),
        ("suite", "IntegrationFailure", ["build", "contract", "suite"]),
    ],
)
def test_what_does_not_hold_is_not_published(tmp_path: Path, bad: str, reason: str, asked: list[str]) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        before, checks = await stage.head(), Checks(bad)
        refused = await merge(stage, verify_by(checks))
        assert isinstance(refused, Refused)
        assert (refused.reason, refused.details, refused.failing) == (reason, f"{bad} failed", ("t::one",))
        assert await stage.repository.parents(refused.commit) == [before], "what was tried stays a commit"
        assert checks.asked == asked
        assert await stage.head() == before

    run(story())


def test_a_parent_that_moves_during_the_checks_is_merged_into_again(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        rounds: list[str] = []

        async def verify(path: Path) -> Refused | None:
            rounds.append((path / "late.txt").read_text() if (path / "late.txt").exists() else "")
            if len(rounds) == 1:
                await stage.work({"late.txt": "late\n"}, step="tests", n="5.1")
                await stage.head()
            return None

        done = await merge(stage, verify)
        assert isinstance(done, Completed)
        assert rounds == ["", "late\n"]
        assert stage.cat(done.commit, "late.txt") == "late"

    run(story())


ROOT_ACT = "root:merge#1.1"


async def deliver(stage: Stage, policy: Policy) -> Completed:
    done = await merging(stage, policy).merge(stage.state, "root", ROOT_ACT, Wanted("feat(r1): implement\n"), fine)
    assert isinstance(done, Completed)
    assert done.delivered is not None
    return done


@pytest.mark.parametrize("policy", ["branch", "ask"])
def test_a_result_waits_on_its_branch(tmp_path: Path, policy: Policy) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        users = git(stage.root, "rev-parse", "main")
        git(stage.root, "commit", "-q", "--allow-empty", "-m", "the user goes on")
        done = await deliver(stage, policy)
        assert git(stage.root, "rev-parse", "treadle/r1/result") == done.commit
        assert git(stage.root, "rev-parse", f"{done.commit}^") == users
        assert str(done.delivered) == "the result waits on the branch treadle/r1/result"
        assert await deliver(stage, policy) == done
        assert not (stage.root / "a.txt").exists()

    run(story())


def test_never_leaves_no_branch(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        await deliver(stage, "never")
        assert git(stage.root, "branch", "--list", "treadle/r1/result") == ""

    run(story())


def test_auto_moves_a_clean_branch_forward(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        git(stage.root, "commit", "-q", "--allow-empty", "-m", "the user goes on")
        users = git(stage.root, "rev-parse", "main")
        done = await deliver(stage, "auto")
        assert git(stage.root, "rev-parse", "main") == done.commit
        assert git(stage.root, "rev-parse", "main^") == users
        assert (stage.root / "a.txt").read_text() == "a\n"
        assert git(stage.root, "status", "--porcelain") == ""
        assert str(done.delivered).startswith("main is at the result")
        assert await undelivered(stage.integration, RUN) == ""
        assert (await deliver(stage, "auto")).commit == done.commit

    run(story())


@pytest.mark.parametrize("is_staged", [False, True])
def test_auto_leaves_changes_alone_that_are_in_nobodys_way(tmp_path: Path, is_staged: bool) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        write(stage.root, {"README.md": "mine\n"})
        git(stage.root, *(["add", "README.md"] if is_staged else ["status"]))
        status = git(stage.root, "status", "--porcelain")
        done = await deliver(stage, "auto")
        assert git(stage.root, "rev-parse", "main") == done.commit
        assert (stage.root / "README.md").read_text() == "mine\n"
        assert (stage.root / "a.txt").read_text() == "a\n"
        assert git(stage.root, "status", "--porcelain") == status

    run(story())


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("dirty", "changes that are not committed in files that the result changes: README.md"),
        ("staged", "changes that are not committed in files that the result changes: README.md"),
        ("elsewhere", "you are not on main any more"),
        ("untracked", "changes that are not committed in files that the result changes: a.txt"),
        ("busy", "in the middle of a merge"),
    ],
)
def test_auto_leaves_a_checkout_alone_that_is_not_ready(tmp_path: Path, trouble: str, why: str) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n", "README.md": "theirs\n"})
        match trouble:
            case "dirty" | "staged":
                write(stage.root, {"README.md": "mine\n"})
                git(stage.root, *(["add", "README.md"] if trouble == "staged" else ["status"]))
            case "untracked":
                write(stage.root, {"a.txt": "mine\n"})
            case "elsewhere":
                git(stage.root, "checkout", "-q", "-b", "other")
            case "busy":
                write(stage.root, {".git/MERGE_HEAD": git(stage.root, "rev-parse", "HEAD") + "\n"})
        users, status = git(stage.root, "rev-parse", "main"), git(stage.root, "status", "--porcelain")
        done = await deliver(stage, "auto")
        assert done.delivered is not None
        assert why in done.delivered.why
        assert why in await undelivered(stage.integration, RUN)
        assert git(stage.root, "rev-parse", "main") == users
        assert git(stage.root, "status", "--porcelain") == status
        assert git(stage.root, "rev-parse", "treadle/r1/result") == done.commit

    run(story())


@pytest.mark.parametrize("policy", ["branch", "auto"])
def test_what_was_merged_before_may_stay_a_commit_each(tmp_path: Path, policy: Policy) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        users = git(stage.root, "rev-parse", "main")
        await merge(stage)
        if policy == "auto":
            git(stage.root, "commit", "-q", "--allow-empty", "-m", "the user goes on")
        wanted = Wanted("feat(r1): implement\n", keep_commits=True)
        done = await merging(stage, policy).merge(stage.state, "root", ROOT_ACT, wanted, fine)
        assert isinstance(done, Completed)
        assert done.before == git(stage.root, "rev-parse", "main@{1}" if policy == "auto" else users)
        said = git(stage.root, "log", "--format=%s", f"{users}..{done.commit}").splitlines()
        assert said[0] == "feat(k0): implement"
        assert said[1] == "work of root:scaffold#1.1"
        assert ("the user goes on" in said) == (policy == "auto")
        assert await merging(stage, policy).merge(stage.state, "root", ROOT_ACT, wanted, fine) == done

    run(story())
