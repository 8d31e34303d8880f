"""Merges: verified before they are published, once however often they are asked for."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from immutables import Map

from tests.git.place import RUN, Stage, git, repository, run, write
from tests.prompts.stage import Memory
from treadle.git.delivery import Policy, why_undelivered
from treadle.git.merge import (
    CommitVerifier,
    MergeRefusal,
    MergeRequest,
    MergeResult,
    TrialResult,
    fold_children,
    merge_instance,
)
from treadle.kernel.state import Group
from treadle.protocol.items import Json

CHILD, ACT = "root/k0", "root/k0:merge#1.1"


async def child_with_work(root: Path) -> Stage:
    stage = await Stage(root).start()
    await stage.work({"src/interface.py": "class A: ...\n"}, step="scaffold")
    stage.add(CHILD)
    await stage.work({"src/k0.py": "k = 0\n"}, inst=CHILD, step="tests")
    await stage.work({"src/k0.py": "k = 1\n", "src/more.py": "m = 1\n"}, inst=CHILD)
    return stage


class Checks(CommitVerifier):
    """A verifier that fails at one of its checks."""

    def __init__(self, bad: str = "") -> None:
        super().__init__()
        self.bad, self.asked = bad, list[str]()

    async def _tried(self, name: str) -> TrialResult:
        self.asked.append(name)
        return TrialResult(name != self.bad, f"{name} failed", ("t::one",) if name == self.bad else ())

    async def build(self, _: str) -> TrialResult:
        return await self._tried("build")

    async def contract(self, _: str) -> TrialResult:
        return await self._tried("contract")

    async def suite(self, _: str) -> TrialResult:
        return await self._tried("suite")

    async def same_colour(self, *_: str) -> TrialResult:
        return await self._tried("same_colour")


class Asking(Checks):
    """A verifier that asks a function about the commit of a merge."""

    def __init__(self, verify: Callable[[str], Awaitable[MergeRefusal | None]]) -> None:
        super().__init__()
        self._verify = verify

    async def verify_merge(self, commit: str) -> MergeRefusal | None:
        return await self._verify(commit)


async def merge(
    stage: Stage, verifier: CommitVerifier | None = None, inst: str = CHILD, act: str = ACT
) -> MergeResult | MergeRefusal:
    wanted = MergeRequest("feat(k0): implement\n")
    return await merge_instance(stage.lanes, stage.state, inst, act, wanted, verifier or Checks())


def test_a_child_becomes_one_commit_of_its_parent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        before = await stage.head()
        seen: list[str] = []

        async def verify(commit: str) -> MergeRefusal | None:
            assert await stage.head() == before
            seen.append(git(stage.project.root, "show", f"{commit}:src/k0.py"))
            return None

        done = await merge(stage, Asking(verify))
        assert isinstance(done, MergeResult)
        assert seen == ["k = 1"]
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
        assert isinstance(done, MergeResult)
        values = {names.integration(CHILD): child, names.of_instance(CHILD, "base"): before}
        if crash == "before publication":
            values[names.integration("root")] = before
        await stage.refs.put_all(values)

        async def never(_: str) -> MergeRefusal | None:
            raise AssertionError("verified already")

        resumed = await Stage(stage.root).start()
        resumed.insts = stage.insts
        assert await merge(resumed, Asking(never)) == done
        assert await resumed.head() == done.commit
        assert await resumed.head(CHILD) == done.commit
        assert await merge(resumed, Asking(never)) == done

    run(story())


def test_the_same_inputs_give_the_same_commit(tmp_path: Path) -> None:
    async def story(place: Path) -> str:
        place.mkdir()
        done = await merge(await child_with_work(repository(place)))
        assert isinstance(done, MergeResult)
        return done.commit

    assert run(story(tmp_path / "one")) == run(story(tmp_path / "two"))


def test_two_children_merge_in_turn_and_each_change_once(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        stage.add("root/k1")
        await stage.work({"src/k1.py": "k = 1\n"}, inst="root/k1")
        assert isinstance(await merge(stage), MergeResult)
        done = await merge(stage, inst="root/k1", act="root/k1:merge#1.1")
        assert isinstance(done, MergeResult)
        assert stage.cat(done.commit, "src/k0.py") == "k = 1"
        await stage.work({"src/k0.py": "k = 2\n"}, inst=CHILD, n="2.1")
        later = await merge(stage, act="root/k0:merge#2.1")
        assert isinstance(later, MergeResult)
        assert git(stage.root, "diff-tree", "-r", "--name-only", f"{later.commit}^", later.commit) == "src/k0.py"
        assert git(stage.root, "rev-list", "--count", "HEAD.." + later.commit) == "4"

    run(story())


def test_a_conflict_shows_both_sides_and_moves_no_head(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        stage.add("root/k1")
        head = await stage.head(CHILD)
        await stage.work({"src/k0.py": "other\n"}, inst="root/k1")
        assert isinstance(await merge(stage, inst="root/k1", act="root/k1:merge#1.1"), MergeResult)
        parent = await stage.head()
        refused = await merge(stage)
        assert isinstance(refused, MergeRefusal)
        assert (refused.reason, refused.files) == ("IntegrationFailure", ("src/k0.py",))
        assert "--- ours\nother\n" in refused.details
        assert "--- theirs\nk = 1" in refused.details
        assert (await stage.head(), await stage.head(CHILD)) == (parent, head)

    run(story())


@pytest.mark.parametrize(
    ("bad", "reason", "asked"),
    [
        ("build", "BuildFailure", ["build"]),
        ("contract", "ContractViolation", ["build", "contract"]),
        ("suite", "IntegrationFailure", ["build", "contract", "suite"]),
    ],
)
def test_a_merge_that_fails_a_check_is_not_published(tmp_path: Path, bad: str, reason: str, asked: list[str]) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        before, checks = await stage.head(), Checks(bad)
        refused = await merge(stage, checks)
        assert isinstance(refused, MergeRefusal)
        assert (refused.reason, refused.details, refused.failing) == (reason, f"{bad} failed", ("t::one",))
        assert await stage.repository.parents(refused.commit) == [before], "what was tried stays a commit"
        assert checks.asked == asked
        assert await stage.head() == before

    run(story())


def test_a_parent_that_moves_during_the_checks_is_merged_into_again(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        rounds: list[str] = []

        async def verify(commit: str) -> MergeRefusal | None:
            has_it = bool(git(stage.project.root, "ls-tree", commit, "late.txt"))
            rounds.append(git(stage.project.root, "show", f"{commit}:late.txt") if has_it else "")
            if len(rounds) == 1:
                await stage.work({"late.txt": "late\n"}, step="tests", n="5.1")
                await stage.head()
            return None

        done = await merge(stage, Asking(verify))
        assert isinstance(done, MergeResult)
        assert rounds == ["", "late"]
        assert stage.cat(done.commit, "late.txt") == "late"

    run(story())


ROOT_ACT = "root:merge#1.1"


async def deliver(stage: Stage, policy: Policy) -> MergeResult:
    done = await merge_instance(
        stage.lanes, stage.state, "root", ROOT_ACT, MergeRequest("feat(r1): implement\n", policy=policy), Checks()
    )
    assert isinstance(done, MergeResult)
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
        assert str(done.delivered).endswith(" treadle/r1/result")
        assert await deliver(stage, policy) == done
        assert not (stage.root / "a.txt").exists()

    run(story())


def test_the_policy_never_leaves_no_result_branch(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        await deliver(stage, "never")
        assert git(stage.root, "branch", "--list", "treadle/r1/result") == ""

    run(story())


def test_the_policy_auto_moves_a_clean_branch_forward(tmp_path: Path) -> None:
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
        assert str(done.delivered).startswith("main ")
        assert await why_undelivered(stage.integration, RUN) == ""
        assert (await deliver(stage, "auto")).commit == done.commit

    run(story())


@pytest.mark.parametrize("is_staged", [False, True])
def test_auto_keeps_unrelated_changes_of_the_user(tmp_path: Path, is_staged: bool) -> None:
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
        ("dirty", "uncommitted changes in files that the result changes: README.md"),
        ("staged", "uncommitted changes in files that the result changes: README.md"),
        ("elsewhere", "you are no longer on main"),
        ("untracked", "uncommitted changes in files that the result changes: a.txt"),
        ("busy", "in the middle of a merge"),
    ],
)
def test_the_policy_auto_leaves_an_unready_checkout_alone(tmp_path: Path, trouble: str, why: str) -> None:
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
        assert why in await why_undelivered(stage.integration, RUN)
        assert git(stage.root, "rev-parse", "main") == users
        assert git(stage.root, "status", "--porcelain") == status
        assert git(stage.root, "rev-parse", "treadle/r1/result") == done.commit

    run(story())


@pytest.mark.parametrize("policy", ["branch", "auto"])
def test_earlier_merges_may_stay_separate_commits(tmp_path: Path, policy: Policy) -> None:
    async def story() -> None:
        stage = await child_with_work(repository(tmp_path))
        users = git(stage.root, "rev-parse", "main")
        await merge(stage)
        if policy == "auto":
            git(stage.root, "commit", "-q", "--allow-empty", "-m", "the user goes on")
        wanted = MergeRequest("feat(r1): implement\n", keep_commits=True, policy=policy)
        done = await merge_instance(stage.lanes, stage.state, "root", ROOT_ACT, wanted, Checks())
        assert isinstance(done, MergeResult)
        assert done.before == git(stage.root, "rev-parse", "main@{1}" if policy == "auto" else users)
        said = git(stage.root, "log", "--format=%s", f"{users}..{done.commit}").splitlines()
        assert said[0] == "feat(k0): implement"
        assert said[1] == "work of root:scaffold#1.1"
        assert ("the user goes on" in said) == (policy == "auto")
        assert await merge_instance(stage.lanes, stage.state, "root", ROOT_ACT, wanted, Checks()) == done

    run(story())


# Folds: a team's lanes become one.


async def team(tmp_path: Path, one: dict[str, str], other: dict[str, str]) -> Stage:
    stage = await Stage(repository(tmp_path)).start()
    members = {"t1": "root/t1", "t2": "root/t2"}
    stage.insts["root"].groups["backend"] = Group(members=Map(members))
    for inst, files in zip(members.values(), (one, other), strict=True):
        stage.add(inst)
        await stage.work(files, inst=inst)
    return stage


def test_the_work_of_all_members_is_folded_once(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"src/a.py": "a\n"}, {"src/b.py": "b\n"})
        done = await fold_children(stage.lanes, stage.state, "root", ("backend",))
        assert done.is_clean
        assert done.files == ("src/a.py", "src/b.py")
        assert await stage.head() == done.commit == await stage.head("root/t1")
        assert await fold_children(stage.lanes, stage.state, "root", ("backend",)) == done
        assert git(stage.root, "rev-list", "--count", f"HEAD..{done.commit}") == "2"
        await stage.work({"src/a.py": "a2\n"}, inst="root/t1", n="2.1")
        later = await fold_children(stage.lanes, stage.state, "root")
        assert stage.cat(later.commit, "src/a.py") == "a2"
        assert git(stage.root, "rev-list", "--count", f"HEAD..{later.commit}") == "3"

    run(story())


def test_a_conflict_moves_no_head(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"README.md": "a\n"}, {"README.md": "b\n"})
        before = (await stage.head(), await stage.head("root/t1"), await stage.head("root/t2"))
        done = await fold_children(stage.lanes, stage.state, "root")
        assert (done.is_clean, done.files) == (False, ("README.md",))
        assert (await stage.head(), await stage.head("root/t1"), await stage.head("root/t2")) == before

    run(story())


def test_groups_that_are_not_named_stay_out(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await team(tmp_path, {"src/a.py": "a\n"}, {"src/b.py": "b\n"})
        head = await stage.head()
        assert (await fold_children(stage.lanes, stage.state, "root", ("other",))).commit == head

    run(story())


# What a merge or a rebase has checked is kept, with the commit it was checked on.

RAN: dict[str, Json] = {"command": ["make"], "exit": 0, "duration": 1.5, "output": "built"}


class Verifier(CommitVerifier):
    async def build(self, _: str) -> TrialResult:
        return TrialResult(ok=True, ran=RAN)

    async def contract(self, _: str) -> TrialResult:
        return TrialResult(ok=True, details="the project has no command for it")

    async def suite(self, commit: str) -> TrialResult:
        return TrialResult(commit == "good", "t fails", ("t",))

    async def same_colour(self, _before: str, _after: str) -> TrialResult:
        return TrialResult(ok=True)


def test_the_last_verification_is_recorded_in_full() -> None:
    async def story() -> None:
        witness, memory = Verifier(), Memory()
        for name in ("bad", "good"):
            assert (await witness.verify_merge(name) is None) == (name == "good")
        results = witness.results(memory, "c0ffee", "7ree")
        assert [(one.check, one.ok) for one in results] == [("build", True), ("contract", True), ("suite", True)]
        built, contract, _ = (memory.get(one.report_ref) for one in results)
        head = {"check": "build", "ok": True, "commit": "c0ffee", "tree": "7ree"}
        assert built == {**head, **RAN, "report": "", "findings": []}
        assert isinstance(contract, dict)
        assert (contract["command"], contract["exit"], contract["output"]) == ([], None, "")
        assert (contract["ok"], "no command" in str(contract["report"]), contract["findings"]) == (True, True, [])

    run(story())


def test_a_comparison_before_and_after_is_kept_too() -> None:
    async def story() -> None:
        witness = Verifier()
        assert (await witness.verify_rebase("a", "b")).ok
        assert [one.check for one in witness.results(Memory(), "c", "t")] == ["same_colour"]

    run(story())
