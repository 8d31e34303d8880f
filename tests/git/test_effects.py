"""Effects fill in every field that the shipped protocols declare, in the protocols' own words."""

from pathlib import Path

import pytest
from immutables import Map

from tests.git.place import Stage, git, repository, run
from tests.git.test_merge import Checks
from tests.prompts.stage import Memory
from treadle.errors import PortError
from treadle.git.checkout import Checkouts
from treadle.git.effects import GitEffects
from treadle.kernel.commands import RunEffect
from treadle.kernel.state import Group
from treadle.ports import Case, Effects, Outcome
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.runtime.envelope import envelope_of

V3, FRACTAL, WATERFALL, DPTR, RIPER = (load(name) for name in ("v3", "fractal", "waterfall", "dptr", "riper"))
CHILD = "root/k0"


def effects(stage: Stage, bad: str = "") -> Effects:
    checkouts = Checkouts(stage.repository, stage.recorder, stage.project.worktrees)
    return GitEffects(stage.lanes, checkouts, lambda *_: Checks(bad))


async def scene(tmp_path: Path) -> Stage:
    stage = await Stage(repository(tmp_path)).start()
    stage.add(CHILD)
    stage.insts["root"].groups["backend"] = Group(members=Map({"k0": CHILD}))
    await stage.work({"src/app.py": "def f(a) -> int:\n    return 1\n\ndef g(): ...\n"}, inst=CHILD)
    return stage


async def perform(stage: Stage, protocol: Protocol, effect: str, inst: str = CHILD, bad: str = "") -> Outcome:
    """One effect of a protocol; every exit it may end by is whole."""
    graph, step = next(
        (graph, step)
        for graph, one in protocol.graphs.items()
        for step in one.steps
        if one.steps[step].effect == effect
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


def test_what_a_merge_changed_is_told_in_the_protocols_words(tmp_path: Path) -> None:
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
        ("%s no JSON", ("src/lib.rs", "BehaviorChange", "`toolchain.api_dump` has not helped: it prints no JSON")),
    ],
)
def test_a_command_of_the_project_says_what_cannot_be_read(
    tmp_path: Path, printed: str, expected: tuple[str, str, str]
) -> None:
    async def dump(path: Path) -> str:
        return printed % (path / "src/lib.rs").read_text().strip()

    async def story() -> None:
        stage = await Stage(repository(tmp_path, {"src/lib.rs": "a\n"})).start()
        stage.add(CHILD)
        await stage.work({"src/lib.rs": "b\n"}, inst=CHILD)
        checkouts = Checkouts(stage.repository, stage.recorder, stage.project.worktrees)
        job = RunEffect(
            id=f"{CHILD}:merge#1.1", inst=CHILD, graph="node", step="merge", visit=1, attempt=1, effect="merge"
        )
        case = Case(protocol=V3, state=stage.state, payloads=Memory())
        done = await GitEffects(stage.lanes, checkouts, lambda *_: Checks(""), dump=dump).perform(job, case)
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
        clean = await perform(stage, protocol, "rebase")
        assert (clean.exit, clean.fields) == ("RebaseClean", {"newBase": await stage.head()})
        await stage.work({"src/app.py": "other\n"}, n="2.1")
        drift = await perform(stage, protocol, "rebase")
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


def test_what_cannot_be_done_yet_says_what_is_missing(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path)
        with pytest.raises(PortError, match=r"'notify' .* a way to tell people is missing"):
            await perform(stage, RIPER, "notify")

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
