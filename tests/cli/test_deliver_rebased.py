"""A result is delivered onto a branch that has moved: rebased beside the user's files, verified there, or refused."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import Outcome, treadle
from treadle.cli.delivery import deliver_result
from treadle.config.project import Project
from treadle.engines.delivery import DeliveryRefusal, reopen
from treadle.store.sqlite import opened_store

PROTOCOL: Final = """
protocol: merging
version: "1"
title: Do it, and merge it
root: main
include: [merge-exits]
pools: {branch: 1}
types:
  Chore: {id: text, what: text, description: text}
exits:
  Did: {summary: text}
roles:
  worker: {display: Worker, template: work.jinja, perms: [read_files, modify], writes: ["**"]}
graphs:
  main:
    input: {chore: Chore}
    start: work
    ends: {Finished: [work.Did, deliver.MergeComplete], Aborted: []}
    system: {"!*": stuck}
    steps:
      work:
        role: worker
        exits: [Did]
        gates: {Did: commit scope}
        routes: {Did: deliver}
      deliver:
        title: Deliver
        effect: merge
        exits: [MergeComplete, MergeRejected]
        needs: [work.Did]
        pools: ["parent:branch"]
        routes: {MergeComplete: "@end:Finished", MergeRejected: stuck}
      stuck:
        title: It cannot go on
        ask: human
        needs: ["deliver.MergeRejected?", "!*?"]
        choices: {abort: give up}
        routes: {abort: "@end:Aborted"}
"""
FOLLOWING: Final = (
    PROTOCOL.replace("protocol: merging", "protocol: following")
    .replace(
        "roles:",
        """  RebaseClean: {newBase: {type: text, by: git}}
  RebaseDrift:
    severity: WARN
    newBase: {type: text, by: git}
    conflictFiles: {type: "[path]", by: git}
    changedTests: {type: "[text]", by: tests}
roles:""",
    )
    .replace(
        "    steps:",
        """    handlers: {ContextShift: {step: rebase, prio: 0, coalesce: true}}
    steps:
      rebase:
        effect: rebase
        exits: [RebaseClean, RebaseDrift]
        pools: ["self:branch"]
        routes: {RebaseClean: "@resume", RebaseDrift: adapt}
      adapt:
        role: worker
        exits: [Did]
        needs: [rebase.RebaseDrift]
        gates: {Did: commit scope rebased canon build same_colour}
        routes: {Did: "@resume"}""",
    )
)
"""The same, with a root that follows its parent's head."""
TOML: Final = (
    f'[toolchain]\nkind = "pytest"\ntest = ["{sys.executable}", "-m", "pytest", "-q", "-p", "no:cacheprovider"]\n'
)
CODE: Final = "def price():\n    return 1\n"
TEST: Final = "from {0} import price as it\n\n\ndef test_{0}():\n    assert it() == 1\n"
PATH: Final = "import pathlib, sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"


class Shop(Chores):
    """A package with one passing test, and agents that each add a module with its test."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.add("merging", PROTOCOL)
        self.add("following", FOLLOWING)
        files = {
            "treadle.toml": TOML,
            "conftest.py": PATH,
            "old.py": CODE,
            "test_old.py": TEST.format("old"),
            ".gitignore": "__pycache__/\n.treadle/local/\n",
        }
        for name, text in files.items():
            (root / name).write_text(text)
        self.commit("second")

    def git(self, *words: str) -> str:
        program = [shutil.which("git") or "git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        done = subprocess.run([*program, *words], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def commit(self, subject: str, **files: str) -> None:
        for name, text in files.items():
            (self.root / f"{name}.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def run(
        self, name: str, protocol: str = "merging", adapted: str = "", in_conflict: str = "old", **files: str
    ) -> Outcome:
        """A run whose agent writes some modules, and one of them as it is to be after a conflict."""
        spec = {"id": name.upper(), "what": "it", "description": f"Add the module {name}. It costs 1."}
        turn = {"write": {f"{it}.py": text for it, text in files.items()}, "exit": {"type": "Did", "summary": "x"}}
        folder = self.root / ".treadle" / "local"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(spec))
        agents = [{"step": "work", "turns": [turn]}]
        agents += [{"step": "adapt", "turns": [{**turn, "write": {f"{in_conflict}.py": adapted}}]}] if adapted else []
        (folder / f"{name}.yaml").write_text(json.dumps({"agents": agents}))
        agent = f"scripted:.treadle/local/{name}.yaml"
        return treadle("run", f".treadle/local/{name}.json", "-p", protocol, "--agent", agent, "--name", name)

    def module(self, name: str) -> Outcome:
        """A run that adds a module with a passing test."""
        done = self.run(name, **{name: CODE, f"test_{name}": TEST.format(name)})
        assert done.code == 0, done
        return done

    def refusal(self, run: str, *, rebase: bool = True) -> DeliveryRefusal:
        """Why a delivery was refused, after which everything of the user's is as it was."""
        project = Project(self.root)
        before = self.git("for-each-ref"), self.git("status", "--porcelain"), self.git("rev-parse", "HEAD")
        with opened_store(project) as store, pytest.raises(DeliveryRefusal) as caught:
            deliver_result(project, store, run, rebase=rebase)
        assert (self.git("for-each-ref"), self.git("status", "--porcelain"), self.git("rev-parse", "HEAD")) == before
        return caught.value


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path)


def test_without_a_move_the_delivered_commit_is_that_of_the_result_branch(shop: Shop) -> None:
    shop.module("pen")
    result = shop.git("rev-parse", "treadle/pen/result")
    assert treadle("deliver", "pen", "--rebase").code == 0
    assert shop.git("rev-parse", "main") == result
    assert shop.git("log", "-1", "--format=%s") == "feat(PEN): Add the module pen"
    assert shop.git("log", "-1", "--format=%(trailers:key=Treadle-Run,valueonly)").strip() == "pen"
    assert "treadle evidence pen" in shop.git("log", "-1", "--format=%b")


def test_two_parallel_runs_are_delivered_one_after_the_other(shop: Shop) -> None:
    shop.module("pen")
    shop.module("ink")
    assert treadle("deliver", "pen").code == 0
    moved = shop.refusal("ink", rebase=False)
    assert (moved.code, "treadle deliver ink --rebase" in str(moved)) == ("deliver.moved", True)
    assert "treadle deliver ink --rebase" in treadle("status", "ink").out
    assert "treadle deliver ink --rebase" in treadle().out
    assert treadle("status", "ink", "--json").json()["result"]["moved"] is True
    done = treadle("deliver", "ink", "--rebase")
    assert done.code == 0, done
    assert shop.git("log", "--format=%s").splitlines()[:2] == [
        "feat(INK): Add the module ink",
        "feat(PEN): Add the module pen",
    ]
    assert shop.git("rev-parse", "main") == shop.git("rev-parse", "treadle/ink/result")
    result = treadle("evidence", "ink", "--json").json()["result"]
    assert (result["taken"], result["verified_on"]) == (True, shop.git("rev-parse", "main^"))
    assert shop.git("status", "--porcelain") == ""
    assert (shop.root / "ink.py").read_text() == CODE
    again = treadle("deliver", "ink", "--rebase")
    assert (again.code, again.out) == (0, done.out)


def test_a_result_that_breaks_a_test_of_the_branch_is_refused(shop: Shop) -> None:
    alone = (
        "import pathlib\n\n\ndef test_alone():\n    assert not pathlib.Path(__file__).with_name('pen.py').exists()\n"
    )
    shop.module("pen")
    shop.commit("alone", test_alone=alone)
    refused = shop.refusal("pen")
    assert (refused.code, refused.tests) == ("deliver.unverified", ("test_alone.py::test_alone",))
    assert refused.onto == shop.git("rev-parse", "main")


@pytest.mark.soak
def test_a_result_is_refused_if_its_own_test_fails_on_the_branch(shop: Shop) -> None:
    test = "from old import price\n\n\ndef test_pen():\n    assert price() == 1\n"
    shop.run("pen", test_pen=test)
    shop.commit("dearer", old="def price():\n    return 2\n", test_old="def test_old():\n    pass\n")
    refused = shop.refusal("pen")
    assert (refused.code, refused.tests) == ("deliver.unverified", ("test_pen.py::test_pen",))


@pytest.mark.soak
def test_failures_that_the_branch_already_has_are_not_charged(shop: Shop) -> None:
    shop.module("pen")
    shop.commit("broken", test_broken="def test_broken():\n    assert False\n")
    onto = shop.git("rev-parse", "main")
    done = treadle("deliver", "pen", "--rebase")
    assert done.code == 0
    excused, code = "test_broken.py::test_broken", "baseline.failing"
    assert treadle("evidence", "pen", "--json").json()["result"]["excused"] == {excused: code}
    for said in (done.out, treadle("evidence", "pen").out, treadle("status", "pen").out):
        assert said.count(excused) == said.count(f"[{code}]") == 1
        assert onto[:12] in said
    assert shop.git("log", "--format=%s").splitlines()[:2] == ["feat(PEN): Add the module pen", "broken"]


@pytest.mark.soak
def test_a_branch_test_that_is_no_longer_collected_refuses_the_delivery(shop: Shop) -> None:
    shop.run("pen", conftest=f"{PATH}\ncollect_ignore = ['test_new.py']\n")
    shop.commit("new", test_new="def test_new():\n    pass\n")
    refused = shop.refusal("pen")
    assert (refused.code, refused.tests) == ("deliver.unverified", ("test_new.py::test_new",))


def test_conflicts_are_named_and_no_branch_moves(shop: Shop) -> None:
    shop.run("pen", old="def price():\n    return 1  # a pen\n")
    shop.commit("ink", old="def price():\n    return 1  # ink\n")
    refused = shop.refusal("pen")
    assert (refused.code, refused.files) == ("deliver.conflict", ("old.py",))
    assert treadle("deliver", "pen", "--rebase").code == 2


@pytest.mark.soak
def test_uncommitted_files_in_the_way_are_refused_before_verification(shop: Shop) -> None:
    shop.module("pen")
    shop.commit("other", other=CODE)
    (shop.root / "pen.py").write_text("mine\n")
    refused = shop.refusal("pen")
    assert refused.code == "deliver.dirty"
    assert (shop.root / "pen.py").read_text() == "mine\n"
    (shop.root / "pen.py").unlink()
    (shop.root / "old.py").write_text(f"{CODE}# mine\n")
    assert treadle("deliver", "pen", "--rebase").code == 0
    assert (shop.root / "old.py").read_text() == f"{CODE}# mine\n", "it is in nobody's way"


@pytest.mark.soak
def test_commits_that_the_user_dropped_from_the_branch_do_not_come_back(shop: Shop) -> None:
    shop.commit("mistake", mistake=CODE)
    shop.module("pen")
    shop.git("reset", "-q", "--hard", "HEAD^")
    shop.commit("instead", instead=CODE)
    assert treadle("deliver", "pen", "--rebase").code == 0
    assert not (shop.root / "mistake.py").exists()
    assert shop.git("log", "--format=%s").splitlines()[:2] == ["feat(PEN): Add the module pen", "instead"]


@pytest.mark.soak
def test_hooks_of_the_repository_do_not_run(shop: Shop) -> None:
    shop.module("pen")
    shop.commit("other", other=CODE)
    hooks = shop.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-rebase", "post-checkout", "post-merge", "pre-commit", "post-rewrite", "reference-transaction"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {shop.root / 'hooked'}\nexit 1\n")
        hook.chmod(0o755)
    assert treadle("deliver", "pen", "--rebase").code == 0
    assert not (shop.root / "hooked").exists()


def test_a_delivery_that_was_killed_is_done_again_with_the_same_result(shop: Shop) -> None:
    shop.module("pen")
    shop.commit("other", other=CODE)
    before = shop.git("for-each-ref"), shop.git("rev-parse", "HEAD")
    with shop.background("deliver", "pen", "--rebase") as process:
        assert process.stderr is not None
        assert "verifying" in process.stderr.readline()
        process.kill()
        process.wait()
    assert (shop.git("for-each-ref"), shop.git("rev-parse", "HEAD")) == before
    assert treadle("deliver", "pen", "--rebase").code == 0
    delivered = shop.git("rev-parse", "main")
    assert shop.git("rev-parse", "treadle/pen/result") == delivered
    # Killed after the result branch was moved, before the user's was: the next one only has to fast-forward.
    shop.git("reset", "-q", "--hard", "HEAD^")
    assert treadle("deliver", "pen").code == 0
    assert shop.git("rev-parse", "main") == delivered


OWN: Final = "from pen import price\n\nPEN = 1\n\n\ndef test_pen():\n    assert price() == 1\n"
OTHER: Final = "from old import price\n\nINK = 2\n\n\ndef test_pen():\n    assert price() == 1\n"


@pytest.mark.parametrize(
    ("adapted", "code"),
    [
        (OTHER, 3),
        (OTHER + "\n\ndef test_other():\n    from pen import price\n\n    assert price() == 1\n", 3),
        (OWN, 3),
        (OWN + "\n\nimport old\n\nINK = 2\n\n\ndef test_other():\n    assert old.price() == 1\n", 0),
    ],
    ids=["dropped", "renamed", "the branch's dropped", "kept"],
)
def test_a_test_of_the_branch_never_replaces_one_of_the_work(shop: Shop, adapted: str, code: int) -> None:
    done = shop.run("pen", "following", adapted, "test_pen", pen=CODE, test_pen=OWN)
    assert done.code == 0, done
    shop.commit("another test of that name", test_pen=OTHER.replace("== 1", "== 1  # as ever"))
    delivered = treadle("deliver", "pen", "--rebase")
    assert delivered.code == code, delivered
    assert ("canon.replaced" in treadle("log", "pen", "--json").out) is (code != 0)


def test_tests_that_the_branch_added_to_a_file_in_conflict_stay(shop: Shop) -> None:
    done = shop.run("pen", "following", OWN, "test_pen", pen=CODE, test_pen=OWN)
    assert done.code == 0, done
    shop.commit("a test of another name", test_pen=OTHER.replace("test_pen", "test_ink"))
    assert treadle("deliver", "pen", "--rebase").code == 3
    assert "colour.changed" in treadle("log", "pen", "--json").out


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_conflict_is_resolved_by_the_run_itself_and_then_delivered(shop: Shop, killed: bool) -> None:
    both = "def price():\n    return 1  # a pen and ink\n"
    done = shop.run("pen", "following", both, old="def price():\n    return 1  # a pen\n")
    assert done.code == 0, done
    shop.commit("ink", old="def price():\n    return 1  # ink\n")
    if killed:  # after the run was taken up again, before anything was done about it
        with opened_store(Project(shop.root)) as store:
            assert asyncio.run(reopen(Project(shop.root), store, store.run("pen")))
    delivered = treadle("deliver", "pen", "--rebase")
    assert delivered.code == 0, delivered
    assert (shop.root / "old.py").read_text() == both
    assert shop.git("log", "--format=%s").splitlines()[:2] == ["feat(PEN): Add the module pen", "ink"]
    assert shop.git("rev-parse", "main") == shop.git("rev-parse", "treadle/pen/result")
    assert treadle("replay", "pen").code == 0
    assert [line["type"] for line in map(json.loads, treadle("log", "pen", "--json").out.splitlines())].count(
        "Reopened"
    ) == 1
