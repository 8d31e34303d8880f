"""`treadle demo`: a real run with everything that it promises, and simulated ones."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.cli.treadle import treadle
from treadle.cli.driver_process import treadle_command
from treadle.testing.demos import demo, demos


class Promise(NamedTuple):
    """What a demo promises, apart from what it says itself."""

    log: tuple[str, ...]
    """Patterns, each of a line of its log."""
    shown: tuple[tuple[str, str], ...]
    """An activity, and what `treadle show` has about it."""
    answer: str
    """How the demo begins to answer what a person is asked; empty: nobody is."""
    tests: int
    """How many tests the result has."""
    least: int = 2
    """How much is under way, at least, when the driver is killed."""
    commits: int = 1
    """Of how many the result consists."""


PROMISES: Final = {
    "dptr": Promise(
        log=(
            r"a person sends go to root:architecture → root:architecture#1\.1 starts as design:Architecture",
            r"a person sends go to root:audit → root:audit#1\.1 starts as design_critic:Architecture",
            r"root/chords/design:critic#1\.1 claims REVISE",
            r"a person sends go to root/chords/design:design → root/chords/design:design#2\.1 starts",
            r"root/chords/design:critic#2\.1 claims ACCEPT",
            r"root/chords/plan:spec#1\.1 is checked: plan_sound failed.* → root/chords/plan:spec#1\.2 starts",
            r"root/chords/plan:critic#1\.1 claims NR",
            r"root/chords/plan:spec#2\.1 claims PR",
            r"root/chords/plan:critic#2\.1 claims PA",
            r"root/chords:phase0#1\.1 is checked: passed → .*TDD1:red#1\.1.*TDD2:red#1\.1.*TDD3:red#1\.1 starts",
            r"TDD\d:red#1\.1 is checked: passed → .*TDD1:green#1\.1.*TDD2:green#1\.1.*TDD3:green#1\.1 starts",
            r"root/chords/Batch1/TDD2:green#1\.1 claims TI .*→ root/chords/Batch1/TDD2:adjust#1\.1 starts as qa:TA",
            r"root/chords/Batch1/TDD2:adjust#1\.1 is checked: passed → .*TDD2:green#2\.1 starts",
            r"root/chords/Batch1/TDD3:green#1\.1 is checked: green_own_and_baseline failed",
            r"root/chords/Batch1/TDD1:refactor_impl#1\.1 is checked: green failed.* → .*rollback_impl#1\.1 starts",
            r"root/chords/Batch1/TDD1:rollback_impl#1\.1 ends with RolledBack .*→ .*refactor_impl#2\.1 starts",
            r"root/chords/Batch1/TDD3:review_impl#1\.1 claims NEEDS_CHANGE",
            r"root/chords/Batch1/TDD3:refactor_impl#2\.1 is checked: passed",
            r"root/chords/Batch1/TDD3:review_impl#2\.1 claims APPROVED",
            r"root/chords/Batch1:fold#1\.1 ends with MergeComplete .*→ root/chords/Batch2/TDD4:red#1\.1 starts",
            r"a person sends go to root:review → root:review#1\.1 starts as review",
            r"root:deliver#1\.1 ends with MergeComplete .*→ the run ends: Done",
        ),
        shown=(
            ("root/chords/design:design#2.1", "There is not one signature in it."),
            ("root/chords/plan:spec#1.1", "TDD4 builds on TDD1 in the same batch"),
            ("root/chords/Batch1/TDD2:adjust#1.1", "It wants D for 13; by design.md 13 is C#."),
            ("root/chords/Batch1/TDD3:green#1.1", "no test passed: all are skipped"),
            ("root/chords/Batch1/TDD3:refactor_impl#2.1", "The chord is cut in two places that say the same."),
        ),
        answer="",
        tests=7,
    ),
    "fractal": Promise(
        log=(
            r"root:planner#1\.1 claims SpawnTree",
            r"root:planner#1\.1 is checked: passed → root/clock:planner.*root/agenda:planner",
            r"root/agenda:planner#1\.1 is checked: passed → root/agenda/entries:planner.*agenda/order:planner",
            r"root/clock:planner#1\.1 claims InitLeaf",
            r"root/agenda:answer#1\.1 is checked: passed → root:answer#1\.1 starts",
            r"root:answer#1\.1 is checked: passed → root:escalate#1\.1 asks",
            r"a person \(.*\) answers root:escalate#1\.1: Clarified → root/agenda/entries:planner#2\.1 starts",
            r"root/agenda/entries:test_author#1\.1 is checked: red_one failed",
            r"root/agenda/entries:test_author#1\.2 is checked: passed",
            r"root/clock:test_author#1\.1 is checked: passed",
            r"root/clock:implementer#1\.1 is checked: green.* failed",
            r"root/clock:implementer#1\.2 is checked: passed",
            r"root/clock:test_author#2\.1 claims EmitChallenge",
            r"root/clock:implementer#2\.1 is checked: passed",
            r"root/clock:test_author#3\.1 claims ConcludeSuite",
            r"root/agenda/order:implementer#1\.1 claims Stuck\.SkillCeiling .*#2\.1 starts .* on tier strong",
            r"root/agenda/(entries|order):merger#1\.1 ends with MergeComplete",
            r"root/agenda/(entries|order):rebase#1\.1 ends with RebaseClean",
            r"root/(agenda|clock):rebase#1\.1 ends with RebaseClean",
            r"root/agenda:glue#1\.1 is checked: passed",
            r"root/agenda:lock#1\.1 is checked: passed",
            r"root/agenda:reviewer#1\.1 claims RequestChanges",
            r"root/agenda:fix#1\.1 is checked: passed",
            r"root/agenda:reviewer#2\.1 is checked: passed",
            r"root:glue#1\.1 is checked: passed",
            r"root:merger#1\.1 ends with MergeComplete .*→ the run ends: Merged",
        ),
        shown=(
            ("root/agenda/entries:planner#2.1", "45 minutes, if the line does not say it."),
            ("root/agenda/entries:test_author#1.1", "passes already, so it does not test the missing behaviour"),
            ("root/clock:implementer#1.1", "_Time takes a wrong value for the right one: '9:30' == '10:15'"),
            ("root/agenda:fix#1.1", "an empty line between two events breaks it"),
            ("root/agenda:merger#1.1", "symbol: timetable.agenda.listing.agenda"),
        ),
        answer="treadle answer timetable root:escalate Clarified --note",
        tests=9,
    ),
    "riper": Promise(
        log=(
            r"the run starts\n",
            r"a person sends go to root:O1P → root:O1P#1\.1 starts as architect",
            r"root:O2A#1\.1 claims REVISE",
            r"a person sends go to root:O1P → root:O1P#2\.1 starts as architect",
            r"root:O2A#2\.1 claims ACCEPT",
            r"root/weighing:audit#1\.1 is checked: passed → root/pricing:audit#1\.1 starts",
            r"root/labels:audit#1\.1 is checked: passed → root:O3P#1\.1 starts",
            r"root:O3P#1\.1 claims PC",
            r"root:O4C#1\.1 claims NR",
            r"root:O3P#2\.1 claims PR",
            r"root:O4C#2\.1 claims NR",
            r"root:O3P#3\.1 claims DG",
            r"root:O4C#3\.1 claims PA",
            r"root/TDD1:red#1\.1 is checked: passed → root/TDD1:green#1\.1 starts as de:RG\n",
            r"root/TDD1:green#1\.1 is checked: passed → root/TDD1:test#1\.1 starts as qa:Rft\n",
            r"root/TDD1:de_cross_review#1\.1 claims RFC",
            r"root/TDD1:fold#1\.1 ends with MergeComplete .*→ root/TDD2:red#1\.1 starts as qa:R\n",
            r"root/TDD2:green#1\.1 is checked: protection failed.* → root/TDD2:confirm@green#1\.1 asks",
            r"a person \(.*\) answers root/TDD2:confirm@green#1\.1: confirm → root/TDD2:green#2\.1 starts",
            r"root/TDD2:green#2\.1 is checked: passed",
            r"root/TDD3:green#1\.1 is checked: green.* failed.* → root:O6V_failed#1\.1 starts as validator:Failed",
            r"root:O6V_failed#1\.1 is checked: passed → root:manual#1\.1 asks",
            r"a person \(.*\) answers root:manual#1\.1: replan → root:O3P#4\.1 starts",
            r"root:O4C#4\.1 is checked: passed → root/TDD3~2:red#1\.1 starts as qa:R\n",
            r"root/TDD3~2:green#1\.1 is checked: passed",
            r"root:O6V#1\.1 claims Validated\.Passed",
            r"root:deliver#1\.1 ends with MergeComplete .*→ the run ends: Done",
        ),
        shown=(
            ("root:O1P#2.1", "0.1 + 0.2 is not 0.3"),
            ("root:O4C#3.1", "no criterion speaks of half a label"),
            ("root/TDD2:green#1.1", "src/parcel/contracts/tariff.py: is protected (Ψ5)"),
            ("root/TDD3:green#1.1", "pytest announced exit code 1, and the process ended with 0"),
            ("root:O3P#4.1", "LA-1 stays as it is: a begun tenth counts."),
        ),
        answer="treadle answer parcel root:manual replan --note",
        tests=8,
        least=1,
    ),
    "v3": Promise(
        log=(
            r"root:scaffold#1\.1 is checked: passed → root:tests#1\.1 starts.*money:scaffold.*basket:scaffold",
            r"root:answer#1\.1 is checked: passed → root:escalate#1\.1 asks",
            r"a person \(.*\) answers root:escalate#1\.1: Clarified",
            r"root/basket/lines:tests#1\.1 is checked: red failed",
            r"root/basket/lines:tests#1\.2 is checked: passed",
            r"root/money:impl#1\.1 is checked: .*tests_unmodified.* failed",
            r"root/money:impl#1\.2 is checked: passed",
            r"root/money:merge#1\.1 ends with MergeComplete",
            r"root/basket:rebase#1\.1 ends with RebaseDrift",
            r"root/basket:adapt#1\.1 is checked: passed",
            r"root/basket/lines:rebase#1\.1 ends with RebaseClean",
            r"root/basket:review#1\.1 claims MoreTests",
            r"root/basket:tests#2\.1 is checked: passed",
            r"root/basket:review#2\.1 is checked: passed",
            r"root:merge#1\.1 ends with MergeComplete .*→ the run ends: Merged",
        ),
        shown=(
            ("root/money:merge#1.1", "impactLevel: Breaking"),
            ("root/money:merge#1.1", "to_cents"),
            ("root/basket/lines:tests#1.1", "the tests pass whatever the code returns"),
        ),
        answer="treadle answer till root:escalate Clarified --note",
        tests=13,
    ),
    "waterfall": Promise(
        log=(
            r"the run starts → root/US-1:bdd#1\.1 starts .*root/US-2:bdd#1\.1 starts",
            r"root/US-1:contract#1\.1 is checked: passed → root/US-1:review#1\.1 asks",
            r"a person \(.*\) answers root/US-1:review#1\.1: approve → root/US-1:scaffold#1\.1 starts",
            r"root/US-1:scaffold#1\.1 is checked: passed → root/US-1:impl#1\.1 starts",
            r"root/US-1:verify#1\.1 is checked: delta_merged failed",
            r"root/US-1:verify#1\.2 is checked: passed → root/US-1:archive#1\.1 starts",
            r"root/US-2:breakdown#1\.1 is checked: disjoint_writes failed",
            r"root/US-2:breakdown#1\.2 is checked: passed → .*fine:work.*receipt:work.*limits:work",
            r"root/US-2:fold#1\.1 ends with Folded",
            r"root/US-2:suite#1\.1 is checked: passed → root/US-2:verify#1\.1 starts",
            r"root/US-[12]:reconcile#1\.1 is checked: passed",
            r"root/US-[12]:resuite#1\.1 is checked: passed → root/US-[12]:merge#2\.1 starts",
            r"root/US-1:merge#[12]\.1 ends with MergeComplete .*→ .*root/US-3:bdd#1\.1 starts",
            r"root/US-3:impl#1\.1 is checked: green failed",
            r"root/US-3:impl#1\.2 is checked: passed → root/US-3:sdd-delta#2\.1 starts",
            r"root:deliver#1\.1 ends with MergeComplete .*→ the run ends: Done",
        ),
        shown=(
            ("root/US-1:scaffold#1.1", "A film is due after 7 days, others OK."),
            ("root/US-1:verify#1.1", "`due(lent: date, kind: str) -> date` (ADDED) is not in docs/sdd.md"),
            ("root/US-2:breakdown#1.1", "'fine' and 'receipt' both own src/library/fines.py and src/library/*.py"),
            ("root/US-3:sdd-delta#2.1", "rule 2 forbids to look at the clock"),
        ),
        answer="treadle answer library root/US-1:review approve --note",
        tests=7,
        commits=3,
    ),
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.soak
@pytest.mark.parametrize("name", demos())
def test_everything_that_a_demo_promises_is_in_its_log(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise, told, folder = PROMISES[name], demo(name), tmp_path / "new"
    seen = treadle("demo", "--protocol", name, str(folder))
    assert (seen.code, seen.err) == (0, ""), seen.out
    killed = re.search(r"kill -9 (\d+): .* with (\d+) activit(?:y|ies) open", seen.out)
    assert killed
    assert int(killed[2]) >= promise.least
    assert not Path("/proc", killed[1]).exists()
    for beat in told.scenes:
        assert beat.say in seen.out
    assert (f"answers in your place: {promise.answer}" in seen.out) is bool(told.answers)
    assert ("in your place: treadle go" in seen.out) is bool(told.starts)
    assert f"cd {folder}\n" in seen.out

    monkeypatch.chdir(folder)
    log = treadle("log", told.run).out
    for pattern in promise.log:
        assert re.search(pattern, log), pattern
    for act, text in promise.shown:
        assert text in treadle("show", told.run, act).out, act
    for words, _ in told.further:
        assert treadle(*shlex.split(words)).code == 0, words
    standings = [it["standing"] for it in treadle("evidence", told.run, "--json").json()["criteria"]]
    assert set(standings) == {"verified"}
    assert f"{len(standings)} of {len(standings)} criteria " in (folder / "evidence.html").read_text(encoding="utf-8")
    assert treadle("replay", told.run).code == 0
    assert git(folder, "rev-list", "--count", f"main..treadle/{told.run}/result") == str(promise.commits)
    git(folder, "checkout", "-q", f"treadle/{told.run}/result")
    suite = subprocess.run([sys.executable, "-m", "pytest", "-q"], check=False, capture_output=True, text=True)
    assert suite.stdout.splitlines()[-1].startswith(f"{promise.tests} passed"), suite.stdout


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "till"
    shown = subprocess.Popen(
        treadle_command("demo", str(folder)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert shown.stdout
    assert any("the run starts" in line for line in shown.stdout)
    shown.send_signal(signal.SIGINT)
    _, said = shown.communicate(timeout=120)
    assert shown.returncode == 130
    assert f"`cd {folder} && " in said
    assert "resume till`" in said


def test_a_folder_must_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    found = treadle("demo", str(tmp_path))
    assert (found.code, found.out, found.error) == (2, "", "file.exists")
    assert str(tmp_path) in found.err
    taken = treadle("demo", str(tmp_path / "mine.txt"))
    assert (taken.code, taken.error) == (2, "file.unwritable")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_git_and_pytest_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_, bare = tmp_path / "bin", tmp_path / "python"
    bin_.mkdir()
    monkeypatch.setenv("PATH", str(bin_))
    found = treadle("demo", str(tmp_path / "till"))
    assert (found.code, found.error) == (2, "git.missing")

    bare.write_text(f"#!{sys.executable} -IS\nraise SystemExit(1)\n")
    for program in (bare, bin_ / "git"):
        program.touch()
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    found = treadle("demo", str(tmp_path / "till"))
    assert (found.code, found.error, found.lacks(f"`{bare} -m pip install pytest`")) == (2, "toolchain.missing", [])
    assert not (tmp_path / "till").exists()


def test_a_protocol_without_a_demo_names_those_that_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert treadle("protocol", "new", "mine").code == 0
    found = treadle("demo", "--protocol", "mine")
    assert (found.code, found.out, found.error) == (2, "", "demo.none")
    assert found.lacks(", ".join(demos()), "demo --simulated --protocol mine") == []
    unknown = treadle("demo", "--protocol", "v33")
    assert (unknown.error, unknown.lacks("'v3'")) == ("protocol.unknown", [])


@pytest.mark.parametrize("name", ["dptr", "fractal", "riper", "v3", "waterfall"])
def test_a_simulated_run_of_any_protocol_ends_and_is_the_same_every_time(name: str) -> None:
    first = treadle("demo", "--protocol", name, "--seed", "3")
    assert (first.code, first.err) == (0, "")
    roots = [line for line in first.out.splitlines() if line.startswith("      root: ")]
    assert " · " not in roots[-1]
    assert treadle("demo", "--protocol", name, "--seed", "3").out == first.out
    assert treadle("demo", "--protocol", name, "--seed", "4").out != first.out


def test_a_simulated_run_is_asked_for_in_several_ways() -> None:
    plain = treadle("demo", "--simulated").out
    assert plain == treadle("demo", "--seed", "1").out == treadle("demo", "--faults", "0.1").out


def test_bad_arguments_of_a_demo_are_refused(tmp_path: Path) -> None:
    assert treadle("demo", "--simulated", "--protocol", "v33").code == 2
    assert treadle("demo", "--faults", "2").code == 2
    assert treadle("demo", str(tmp_path / "new"), "--simulated").error == "usage.conflict"
    assert not any(tmp_path.iterdir())


def test_a_run_of_waterfall_has_a_story_and_only_names_that_are_ids() -> None:
    lines = treadle("demo", "--seed", "2", "--protocol", "waterfall").out.splitlines()
    assert lines[0].startswith("  1 the run starts (")
    assert "stories=[k0" in lines[0]
    assert any("bdd · executor" in line for line in lines)
    assert not any("root/.." in line for line in lines)
