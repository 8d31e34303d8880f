"""Effects fill in every field that the shipped protocols declare, in the protocols' own words."""

from pathlib import Path
from typing import Final

import pytest
from immutables import Map
from msgspec.structs import replace

from tests.git.place import RUN, Stage, git, repository, run, write
from tests.git.test_merge import Checks
from tests.prompts.stage import Memory
from tests.refusals import refused
from treadle.errors import PortError
from treadle.git.effects import GitEffects, PublishResult, publish_files, reason_for
from treadle.git.slots import Checkouts
from treadle.kernel.commands import RunEffect
from treadle.kernel.state import Group, Slot
from treadle.ports import Case, Effects, Outcome
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.runtime.claims import envelope_of

V3, FRACTAL, WATERFALL, DPTR, RIPER = (load(name) for name in ("v3", "fractal", "waterfall", "dptr", "riper"))
CHILD = "root/k0"


def effects(stage: Stage, bad: str = "") -> Effects:
    checkouts = Checkouts(stage.repository, stage.project.worktrees)
    return GitEffects(stage.lanes, checkouts, lambda *_: Checks(bad), lambda _: [])


async def scene(tmp_path: Path) -> Stage:
    stage = await Stage(repository(tmp_path)).start()
    stage.add(CHILD)
    stage.insts["root"].groups["backend"] = Group(members=Map({"k0": CHILD}))
    await stage.work({"src/app.py": "def f(a) -> int:\n    return 1\n\ndef g(): ...\n"}, inst=CHILD)
    return stage


async def perform(
    stage: Stage, protocol: Protocol, effect: str, inst: str = CHILD, bad: str = "", ends: str = ""
) -> Outcome:
    """One effect of a protocol, in the first step that may end by `ends`; every exit it may end by is whole."""
    graph, step = next(
        (graph, step)
        for graph, one in protocol.graphs.items()
        for step in one.steps
        if one.steps[step].effect == effect and (not ends or ends in one.steps[step].exits)
    )
    job = RunEffect(id=f"{inst}:{step}#1.1", inst=inst, graph=graph, step=step, visit=1, attempt=1, effect=effect)
    memory = Memory()
    case = Case(protocol=protocol, state=stage.state, payloads=memory)
    outcome = await effects(stage, bad).perform(job, case)
    declared = {name for name, field in protocol.exits[outcome.exit].fields.items() if field.by != "kernel"}
    assert set(outcome.fields) == declared
    assert envelope_of(protocol, outcome.exit, outcome.fields, memory).payload_ref
    for result in outcome.results:
        kept = memory.get(result.report_ref)
        assert isinstance(kept, dict)
        assert {"check", "commit", "tree", "command", "exit", "duration", "output"} <= kept.keys()
        assert (kept["check"], kept["ok"]) == (result.check, result.ok)
    again = await effects(stage, bad).perform(job, case)
    assert (again.exit, again.fields) == (outcome.exit, outcome.fields)
    return outcome


@pytest.mark.parametrize("protocol", [V3, FRACTAL, WATERFALL, DPTR, RIPER], ids=lambda one: str(one.name))
def test_a_merge_is_complete_or_refused_in_every_protocol(tmp_path: Path, protocol: Protocol) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        refused = await perform(stage, protocol, "merge", bad="contract")
        assert refused.exit == "MergeRejected"
        assert refused.fields["reason"] == "ContractViolation"
        done = await perform(stage, protocol, "merge")
        assert done.exit == "MergeComplete"
        assert done.fields["mergeCommit"] == await stage.head()
        assert [(one.check, one.ok) for one in refused.results] == [("build", True), ("contract", False)]
        assert [(one.check, one.ok) for one in done.results] == [("build", True), ("contract", True), ("suite", True)]

    run(story())


GAP: dict[str, Json] = {"code": "proof.red", "what": "no red run", "criterion": "AC-1", "spec": "k0", "instance": CHILD}


def older(protocol: Protocol) -> Protocol:
    """The protocol as it was before merges could be refused as unverified."""
    rejected = protocol.exits["MergeRejected"]
    reason = rejected.fields["reason"]
    kinds = " | ".join(kind for kind in reason.type.split(" | ") if kind != "Unverified")
    fields = {**rejected.fields, "reason": replace(reason, type=kinds)}
    return replace(protocol, exits={**protocol.exits, "MergeRejected": replace(rejected, fields=fields)})


@pytest.mark.parametrize(
    ("protocol", "exit_"), [(V3, "MergeRejected"), (older(V3), "MergeComplete")], ids=["now", "older"]
)
def test_unverified_criteria_refuse_a_merge_where_the_protocol_has_the_reason(
    tmp_path: Path, protocol: Protocol, exit_: str
) -> None:
    async def story() -> None:
        stage, memory = await scene(tmp_path), Memory()
        before = await stage.head()
        graph, step = next(
            (g, s) for g, one in protocol.graphs.items() for s in one.steps if one.steps[s].effect == "merge"
        )
        job = RunEffect(id="m", inst=CHILD, graph=graph, step=step, visit=1, attempt=1, effect="merge")
        checkouts = Checkouts(stage.repository, stage.project.worktrees)
        asked = GitEffects(stage.lanes, checkouts, lambda *_: Checks(""), lambda _: [GAP])
        outcome = await asked.perform(job, Case(protocol=protocol, state=stage.state, payloads=memory))
        assert (outcome.exit, await stage.head() == before) == (exit_, exit_ == "MergeRejected")
        if exit_ == "MergeRejected":
            [result] = outcome.results
            record = memory.get(result.report_ref)
            assert isinstance(record, dict)
            assert (outcome.fields["reason"], result.check, record["findings"]) == ("Unverified", "verified", [GAP])

    run(story())


CHANGES: list[Json] = [
    {
        "symbol": "app.f",
        "changeType": "SignatureChange",
        "from": "def f() -> int",
        "to": "def f(a) -> int",
        "reason": "feat(k0): implement",
    },
    {"symbol": "app.g", "changeType": "NewExport", "to": "def g()", "reason": "feat(k0): implement"},
]


def test_the_changes_of_a_merge_use_the_protocols_words(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        done = await perform(stage, V3, "merge")
        assert done.fields["changes"] == CHANGES
        assert done.fields["impactLevel"] == "Breaking"
        assert "+def g(): ..." in str(done.fields["diff"])
        await stage.work({"src/more.py": "h = 1\n"}, inst=CHILD, n="2.1")
        entry = {"symbol": "more.h", "type": "NEW_EXPORT", "to": "h", "reason": "feat(k0): implement"}
        stage.insts[CHILD].visits["merge"] = 2
        await stage.refs.delete(stage.integration.names("r1").of_activity(f"{CHILD}:merge#1.1", "accepted"))
        other = await perform(stage, FRACTAL, "merge")
        assert (other.fields["impactLevel"], other.fields["changes"]) == ("ADDITIVE", [entry])

    run(story())


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ('{"lib::f": "fn f(%s)"}', ("lib::f", "SignatureChange", "feat(k0): implement")),
        ("%s no JSON", ("src/lib.rs", "BehaviorChange", "`toolchain.api_dump` failed: it prints no JSON")),
    ],
)
def test_the_projects_api_dump_describes_unreadable_files(
    tmp_path: Path, printed: str, expected: tuple[str, str, str]
) -> None:
    async def dump(path: Path) -> str:
        return printed % (path / "src/lib.rs").read_text().strip()

    async def story() -> None:
        stage = await Stage(repository(tmp_path, {"src/lib.rs": "a\n"})).start()
        stage.add(CHILD)
        await stage.work({"src/lib.rs": "b\n"}, inst=CHILD)
        checkouts = Checkouts(stage.repository, stage.project.worktrees)
        job = RunEffect(
            id=f"{CHILD}:merge#1.1", inst=CHILD, graph="node", step="merge", visit=1, attempt=1, effect="merge"
        )
        case = Case(protocol=V3, state=stage.state, payloads=Memory())
        done = await GitEffects(stage.lanes, checkouts, lambda *_: Checks(""), lambda _: [], dump=dump).perform(
            job, case
        )
        changes = done.fields["changes"]
        assert isinstance(changes, list)
        [change] = changes
        assert isinstance(change, dict)
        assert (change["symbol"], change["changeType"]) == expected[:2]
        assert expected[2] in str(change["reason"])

    run(story())


@pytest.mark.parametrize(
    ("protocol", "unclean"), [(V3, "RebaseDrift"), (WATERFALL, "RebaseConflict"), (DPTR, "RebaseDrift")]
)
def test_a_rebase_is_clean_or_not(tmp_path: Path, protocol: Protocol, unclean: str) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        await stage.head(CHILD)
        await stage.work({"README.md": "new\n"}, n="1.1")
        clean = await perform(stage, protocol, "rebase", ends=unclean)
        assert (clean.exit, clean.fields) == ("RebaseClean", {"newBase": await stage.head()})
        await stage.work({"src/app.py": "other\n"}, n="2.1")
        drift = await perform(stage, protocol, "rebase", ends=unclean)
        assert drift.exit == unclean
        assert drift.fields["conflictFiles"] == ["src/app.py"]

    run(story())


def test_rollback_and_fold(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        back = await perform(stage, DPTR, "rollback")
        assert back == Outcome(exit="RolledBack", fields={"restoredCommit": await stage.head(CHILD)})
        folded = await perform(stage, WATERFALL, "fold", inst="root")
        assert folded.fields == {"commit": await stage.head(), "files_changed": ["src/app.py"]}
        assert folded.exit == "Folded"
        stage.add("root/k1")
        stage.insts["root"].groups["frontend"] = Group(members=Map({"k1": "root/k1"}))
        await stage.work({"src/app.py": "one\n"}, inst=CHILD, n="3.1")
        await stage.work({"src/app.py": "two\n"}, inst="root/k1")
        conflict = await perform(stage, WATERFALL, "fold", inst="root")
        assert (conflict.exit, conflict.fields) == ("FoldConflict", {"files": ["src/app.py"]})

    run(story())


def test_an_effect_that_is_not_available_is_refused_by_name(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        with pytest.raises(PortError, match="notify") as refused:
            await perform(stage, RIPER, "notify")
        assert refused.value.code == "git.effect"

    run(story())


def test_the_users_branch_is_where_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        before = git(stage.root, "rev-parse", "main")
        await perform(stage, V3, "merge")
        done = await perform(stage, V3, "merge", inst="root")
        assert git(stage.root, "rev-parse", "treadle/r1/result") == done.fields["mergeCommit"]
        assert git(stage.root, "rev-parse", "main") == before

    run(story())


# A delta that has become part of the design is filed away, once, under the date of that day.

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
        checkouts = Checkouts(self.stage.repository, self.stage.project.worktrees)
        effects = GitEffects(self.stage.lanes, checkouts, lambda *_: Checks(""), lambda _: [])
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


def test_archiving_again_gives_the_same_result(tmp_path: Path) -> None:
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


def test_a_missing_delta_is_not_archived(tmp_path: Path) -> None:
    async def story() -> None:
        scene = await Scene(tmp_path).start()
        scene.stage.insts[STORY].input = Slot(scene.memory.put({"id": "US-8"}))
        with pytest.raises(PortError, match=r"docs/deltas/US-8\.md") as missing:
            await scene.archive()
        assert missing.value.code == "git.no_object"
        scene.stage.insts[STORY].input = Slot(scene.memory.put({"id": "../../etc"}))
        with pytest.raises(PortError, match="docs/deltas") as outside:
            await scene.archive()
        assert outside.value.code == "git.effect"

    run(story())


# Documents reach the user's tree, and nothing that a person wrote is lost there.

BANK = {"memory-bank/plan.md": "one\n", "memory-bank/deep/state.md": "s\n", "README.md": "from the run\n"}
PATHS = [*BANK, "memory-bank/none.md"]


async def publish(stage: Stage, paths: list[str] | None = None) -> PublishResult:
    return await publish_files(stage.integration, stage.state, "root", PATHS if paths is None else paths)


def test_published_files_match_the_run_and_other_files_stay(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        index, head = (stage.root / ".git/index").read_bytes(), git(stage.root, "rev-parse", "HEAD")
        commit = await stage.work({**BANK, "src/app.py": "changed\n"})
        done = await publish(stage)
        assert done == PublishResult(commit, tuple(sorted(BANK, key=PATHS.index)))
        assert {path: (stage.root / path).read_text() for path in BANK} == BANK
        assert (stage.root / "src/app.py").read_text() != "changed\n"
        assert ((stage.root / ".git/index").read_bytes(), git(stage.root, "rev-parse", "HEAD")) == (index, head)
        assert not list(stage.root.glob("**/.*.md.*"))
        assert await publish(stage) == done, "done already"

    run(story())


def test_the_next_text_replaces_the_last_and_a_persons_stays(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work(BANK)
        await publish(stage)
        write(stage.root, {"README.md": "by hand\n"})
        await stage.work({"memory-bank/plan.md": "two\n", "README.md": "later\n"}, n="2.1")
        done = await publish(stage)
        assert done.kept == ("README.md",)
        assert (stage.root / "README.md").read_text() == "by hand\n"
        assert (stage.root / "memory-bank/plan.md").read_text() == "two\n"

    run(story())


def test_no_link_is_followed_and_git_is_out_of_reach(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        outside = tmp_path / "outside"
        outside.mkdir()
        (stage.root / "memory-bank").symlink_to(outside)
        (stage.root / "README.md").unlink()
        (stage.root / "README.md").symlink_to(outside / "readme")
        await stage.work(BANK)
        done = await publish(stage, [*PATHS, ".git/hooks/pre-commit", "../escape", "/tmp/escape"])
        assert (done.files, set(done.kept)) == ((), set(BANK))
        assert list(outside.iterdir()) == []

    run(story())


def test_a_bare_repository_has_no_files_to_publish(tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path)), str(bare))

    async def story() -> None:
        stage = await Stage(bare).start()
        await stage.integration.trunk(RUN)
        with refused("git.bare"):
            await publish(stage)

    run(story())


# Rollbacks: back to what was accepted, with nothing lost.


def test_a_lane_is_at_its_last_accepted_commit_again(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        accepted = await stage.work({"src/green.py": "g\n"}, step="green")
        job = stage.job(step="refactor")
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/green.py": "broken\n", "src/more.py": "m\n"})
        stage.ended(job, "!gate")
        for _ in range(2):
            done = await perform(stage, DPTR, "rollback", inst="root")
            assert done.fields == {"restoredCommit": accepted}
            assert (lane.path / "src/green.py").read_text() == "g\n"
            assert not (lane.path / "src/more.py").exists()
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity(job.id, "wip"))
        assert stage.cat(wip, "src/green.py") == "broken"

    run(story())


# Why names changed.

REASONS = {"shop.labels.label": "plurals", "money": "cents", "shop.money": "a package"}


@pytest.mark.parametrize(
    ("symbol", "reason"),
    [
        ("shop.labels.label", "plurals"),
        ("shop.money.the_money.money", "cents"),
        ("shop.money", "a package"),
        ("shop.funny", "otherwise"),
        ("xmoney", "otherwise"),
    ],
)
def test_the_nearest_name_counts(symbol: str, reason: str) -> None:
    assert reason_for(symbol, REASONS, "otherwise") == reason
