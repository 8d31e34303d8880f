"""Ω₁ᴰ by the person at the keyboard: with whatever program they talk the design over, the run takes the result."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.treadle import treadle
from tests.git.place import git, write

ISSUE: Final = {"where": "σ₂", "issue": "No data flow.", "requiredFix": "Say what goes where."}
CRITIC: Final = {"agents": [{"step": "audit", "turns": [{"exit": {"type": "REVISE", "critiques": [ISSUE]}}]}]}
BRIEF: Final = {
    "id": "morse",
    "title": "Morse code for a lamp",
    "description": "Letters become light.",
    "modules": [{"name": "lamp", "description": "Dots.", "criteria": [{"id": "LA-1", "text": "S is three dots."}]}],
}
TOOLS: Final = f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n'
DESIGN: Final = {"patterns": "# Patterns\nOne module.\n", "tech": "# Technology\nPython.\n", "modules": []}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"brief.yaml": json.dumps(BRIEF), "critic.yaml": json.dumps(CRITIC), "treadle.toml": TOOLS})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Start")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_design_is_talked_over_elsewhere_and_handed_in(project: Path) -> None:
    agents = ("--agent", "scripted:critic.yaml", "--agent", "design=manual")
    begun = treadle("run", "brief.yaml", "--protocol", "dptr", *agents)
    assert "architecture of root waits for your go" in begun.out, begun
    mine = treadle("go", "morse", "--resume")
    assert "architecture is yours, as design" in mine.out, mine
    prompt = Path(mine.out.partition("read ")[2].partition(",")[0]).read_text(encoding="utf-8")
    assert "Morse code for a lamp" in prompt
    assert "morse · dptr · asks" in treadle("status").out

    unfinished = treadle("done", "--exit", "Architecture", "--field", "patterns=# Patterns")
    assert (unfinished.code, "exit.tech: is missing" in unfinished.err) == (2, True), "it is told at once"
    answer = project / "answer.json"
    answer.write_text(json.dumps({"exit": {"type": "Architecture", **DESIGN}}))
    done = treadle("done", "morse", str(answer))
    assert "audit of root waits for your go" in done.out, done

    treadle("go", "morse", "--resume")
    again = treadle("go", "morse", "--resume")
    assert "architecture is yours, as design" in again.out, again
    revised = Path(again.out.partition("read ")[2].partition(",")[0]).read_text(encoding="utf-8")
    assert "No data flow." in revised, "the critique comes to the person, who designed it"
    written = git(project, "show", "treadle/morse/root/int:memory-bank/systemPatterns.md")
    assert written.startswith("# Patterns\nOne module.")
