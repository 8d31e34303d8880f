"""What a lane holds as a commit."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, SKELETON, Stage, run
from tests.git.place import git
from treadle.kernel.state import Slot
from treadle.protocol.items import Json

MARKED = "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    ("check", "files", "said"),
    [
        ("commit", {}, "nothing was changed"),
        ("commit", {"src/calc/add.py": SKELETON}, "nothing was changed"),
        ("commit", {"src/calc/add.py": "x = 1\n"}, ""),
        ("commit_once", {}, "nothing was changed"),
        ("commit_once", {"src/calc/add.py": "x = 1\n"}, ""),
        ("checkpoint", {}, ""),
        ("checkpoint", {"src/calc/new.py": ""}, ""),
        ("readonly", {}, ""),
        ("readonly", {"README.md": "other\n"}, "README.md: was modified"),
        ("readonly", {"new.txt": "x\n"}, "new.txt: was added"),
        ("readonly", {"README.md": None}, "README.md: was deleted"),
    ],
)
def test_a_lane_is_changed_or_not(tmp_path: Path, check: str, files: dict[str, str | None], said: str) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("impl", "TestsPassed", files, checks=check)
        assert verdict.results[0].ok == (not said)
        assert said in verdict.report

    run(story())


def test_a_document_that_is_still_right_passes_when_its_step_comes_again(tmp_path: Path) -> None:
    async def story() -> None:
        given: dict[str, Json] = {"id": "US-1", "title": "Sums", "description": "Adds."}
        stage = await Stage(tmp_path, "waterfall", FILES, "story", given).start()
        empty = await stage.claim("sdd-delta", "pass", {})
        assert "### schema:delta\n- docs/deltas/US-1.md: " in empty.report, "it must be there"
        assert "[document.missing]" in empty.report
        delta = "# Delta\n## ADDED\n- sums: `add(a, b)`\n\n## MODIFIED\nNone\n\n## REMOVED\nNone\n"
        written = await stage.claim("sdd-delta", "pass", {"docs/deltas/US-1.md": delta}, n="1.2")
        assert written.report == ""
        again = await stage.claim("sdd-delta", "pass", {}, n="2.1")
        assert again.report == ""
        assert again.fields["commit"]
        assert again.fields["files_changed"] == []
        assert stage.codes(again, "schema") == ["document.unchanged"]
        other = await stage.claim("contract", "pass", {}, checks="commit_once")
        assert "nothing was changed" in other.report, "what another step has left is not its work"
        broken = await stage.claim("sdd-delta", "pass", {"docs/deltas/US-1.md": "# Delta\n"}, n="3.1")
        assert "has no section ADDED" in broken.report, "and its checks hold all the same"

    run(story())


@pytest.mark.parametrize("check", ["checkpoint", "readonly"])
def test_a_change_in_the_users_own_files_is_a_note_and_charges_no_agent(tmp_path: Path, check: str) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("impl", "TestsPassed", {"../../../../README.md": "mine\n"}, checks=check)
        assert verdict.results[0].ok, "it proves nothing against the agent"
        assert stage.codes(verdict, check) == ["record.repository_changed"]
        (said,) = verdict.notes
        assert "README.md" in said
        assert stage.evidence(verdict, check)["meanwhile"] == [said]
        assert verdict.fields["advice"] == [said]
        again = await stage.claim("impl", "TestsPassed", {}, checks=check, n="1.2")
        assert (again.notes, again.fields["advice"]) == ((), [])

    run(story())


def test_links_out_of_the_lane_and_repositories_inside_of_it_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/new.py": ""}, checks="commit")
        assert verdict.results[0].ok
        lane = next(iter((tmp_path / "repo/.treadle/local/worktrees").glob("lane-*[0-9]")))
        (lane / "out").symlink_to("/etc/passwd")
        inner = lane / "vendor"
        inner.mkdir()
        git(inner, "init", "-q")
        job = await stage.claim("impl", "TestsPassed", {}, checks="commit", n="1.1")
        assert sorted(stage.found(job, "commit")) == [("out", "record.link"), ("vendor/.git", "record.repository")]

    run(story())


def test_a_link_that_the_user_has_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, files=FILES)
        (stage.root / "link").symlink_to("/etc/hosts")
        git(stage.root, "add", "-A")
        git(stage.root, "commit", "-q", "-m", "link")
        await stage.start()
        assert (await stage.claim("impl", "TestsPassed", {"src/calc/n.py": "x\n"}, checks="commit")).report == ""

    run(story())


def test_work_that_does_not_stand_on_its_parents_head_is_not_rebased(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        assert (
            await stage.claim("adapt", "RebaseAdapted", {"src/calc/n.py": "x = 1\n"}, checks="rebased")
        ).report == ""
        verdict = await stage.claim("adapt", "RebaseAdapted", {"src/calc/n.py": MARKED}, checks="rebased", n="2.1")
        markers = {("src/calc/n.py:1", "rebase.marker"), ("src/calc/n.py:5", "rebase.marker")}
        assert markers <= set(stage.found(verdict, "rebased"))
        (stage.root / "more.txt").write_text("more\n")
        git(stage.root, "add", "-A")
        git(stage.root, "commit", "-q", "-m", "the user goes on")
        verdict = await stage.claim("adapt", "RebaseAdapted", {"src/calc/n.py": "x = 3\n"}, checks="rebased", n="3.1")
        assert "rebase.not_on_parent" in stage.codes(verdict, "rebased")

    run(story())


def test_each_role_resolves_the_conflicts_that_it_may_write(tmp_path: Path) -> None:
    async def story() -> None:
        cycle: dict[str, Json] = {"id": "TDD1", "files": [], "interface": ""}
        stage = await Stage(tmp_path, "dptr", graph="cycle", given=cycle).start()
        marked: dict[str, str | None] = {"src/calc/n.py": MARKED, "tests/n.json": MARKED, "src/calc/m.py": MARKED}
        assert (await stage.claim("adapt", "TI", marked, checks="checkpoint resolved")).report == "", "no conflict yet"
        drift: Json = {"conflictFiles": ["src/calc/n.py", "tests/n.json", "gone.txt"]}
        stage.insts["root"].slots["rebase.RebaseDrift"] = Slot(stage.payloads.put(drift), seq=stage.seq)
        left = await stage.claim("adapt", "TI", {}, checks="resolved", n="2.1")
        markers = {("src/calc/n.py:1", "rebase.marker"), ("src/calc/n.py:5", "rebase.marker")}
        assert markers <= set(stage.found(left, "resolved"))
        assert "tests/n.json" not in left.report
        assert "src/calc/m.py" not in left.report
        mended: dict[str, str | None] = {"src/calc/n.py": "x = 3\n"}
        assert (await stage.claim("adapt", "TI", mended, checks="resolved", n="3.1")).report == ""
        left = await stage.claim("refactor_tests", "RTC", {}, checks="resolved")
        assert ("tests/n.json:1", "rebase.marker") in stage.found(left, "resolved")

    run(story())
