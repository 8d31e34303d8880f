"""`treadle demo`: a real run with everything that it promises, and simulated ones."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from treadle.cli.driver_process import command
from treadle.testing.demos import demo, demos

PROMISED = (
    r"root:scaffold#1\.1 is checked: all is well → root:tests#1\.1 starts.*money:scaffold.*basket:scaffold",
    r"root:answer#1\.1 is checked: all is well → root:escalate#1\.1 asks",
    r"a person \(.*\) answers root:escalate#1\.1: Clarified",
    r"root/basket/lines:tests#1\.1 is checked: red failed",
    r"root/basket/lines:tests#1\.2 is checked: all is well",
    r"root/money:impl#1\.1 is checked: .*tests_unmodified.* failed",
    r"root/money:impl#1\.2 is checked: all is well",
    r"root/money:merge#1\.1 claims MergeComplete",
    r"root/basket:rebase#1\.1 claims RebaseDrift",
    r"root/basket:adapt#1\.1 is checked: all is well",
    r"root/basket/lines:rebase#1\.1 claims RebaseClean",
    r"root/basket:review#1\.1 claims MoreTests",
    r"root/basket:tests#2\.1 is checked: all is well",
    r"root/basket:review#2\.1 is checked: all is well",
    r"root:merge#1\.1 claims MergeComplete .*→ the run ends: Merged",
)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.soak
def test_everything_that_the_demo_promises_is_in_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "till"
    shown = treadle("demo", str(folder))
    assert (shown.code, shown.err) == (0, ""), shown.out
    killed = re.search(r"kill -9 (\d+): .* with (\d+) things under way", shown.out)
    assert killed
    assert int(killed[2]) > 1
    assert not Path("/proc", killed[1]).exists()
    for beat in demo("v3").scenes:
        assert beat.say in shown.out
    assert "answers in your place: treadle answer till root:escalate Clarified --note" in shown.out
    assert f"cd {folder}\n" in shown.out

    monkeypatch.chdir(folder)
    log = treadle("log", "till").out
    for pattern in PROMISED:
        assert re.search(pattern, log), pattern
    merged = treadle("show", "till", "root/money:merge#1.1").out
    assert '"impactLevel": "Breaking"' in merged
    assert "to_cents" in merged
    lie = treadle("show", "till", "root/basket/lines:tests#1.1").out
    assert "the tests pass whatever is returned" in lie
    proved = treadle("evidence", "till", "--json").json()
    assert [(it["id"], it["standing"]) for it in proved["criteria"]] == [
        (f"AC-{number}", "verified") for number in (1, 2, 3, 4)
    ]
    assert "4 of 4 criteria verified" in (folder / "evidence.html").read_text(encoding="utf-8")
    assert treadle("replay", "till").code == 0
    assert git(folder, "rev-list", "--count", "main..treadle/till/result") == "1"
    git(folder, "checkout", "-q", "treadle/till/result")
    suite = subprocess.run([sys.executable, "-m", "pytest", "-q"], check=False, capture_output=True, text=True)
    assert suite.stdout.splitlines()[-1].startswith("13 passed"), suite.stdout


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "till"
    shown = subprocess.Popen(command("demo", str(folder)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert shown.stdout
    assert any("the run starts" in line for line in shown.stdout)
    shown.send_signal(signal.SIGINT)
    _, said = shown.communicate(timeout=120)
    assert shown.returncode == 130
    assert f"interrupted; `cd {folder} && " in said
    assert "resume till` goes on where it was" in said


def test_a_folder_must_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    found = treadle("demo", str(tmp_path))
    assert (found.code, found.out) == (2, "")
    assert f"{tmp_path} is not empty; name a new folder" in found.err
    assert "name another folder" in treadle("demo", str(tmp_path / "mine.txt")).err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_git_and_pytest_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_, bare = tmp_path / "bin", tmp_path / "python"
    bin_.mkdir()
    monkeypatch.setenv("PATH", str(bin_))
    found = treadle("demo", str(tmp_path / "till"))
    assert found.code == 2
    assert "needs git, which is not on the PATH" in found.err

    bare.write_text(f"#!{sys.executable} -IS\nraise SystemExit(1)\n")
    for program in (bare, bin_ / "git"):
        program.touch()
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    found = treadle("demo", str(tmp_path / "till"))
    assert found.code == 2
    assert f"needs pytest, which no Python here has; `{bare} -m pip install pytest` installs it" in found.err
    assert not (tmp_path / "till").exists()


def test_a_protocol_without_a_demo_names_those_that_have_one() -> None:
    found = treadle("demo", "--protocol", "waterfall")
    assert (found.code, found.out) == (2, "")
    assert f"waterfall has no demo in a real repository yet; {', '.join(demos())} has one" in found.err
    assert "treadle demo --simulated --protocol waterfall" in found.err
    assert "did you mean 'v3'" in treadle("demo", "--protocol", "v33").err


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


def test_bad_arguments(tmp_path: Path) -> None:
    assert treadle("demo", "--simulated", "--protocol", "v33").code == 2
    assert treadle("demo", "--faults", "2").code == 2
    assert "a simulated run has no repository" in treadle("demo", str(tmp_path / "new"), "--simulated").err
    assert not any(tmp_path.iterdir())


def test_the_first_run_of_waterfall_has_a_story_and_only_names_that_are_ids() -> None:
    lines = treadle("demo", "--simulated", "--protocol", "waterfall").out.splitlines()
    assert lines[0].startswith("  1 the run starts (")
    assert "stories=[k0" in lines[0]
    assert any("bdd · executor" in line for line in lines)
    assert not any("root/.." in line for line in lines)
