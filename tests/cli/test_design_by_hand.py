"""Ω₁ᴰ by the person at the keyboard: with whatever program they talk the design over, the run takes the result."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.treadle import status, treadle
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
    assert [start["step"] for start in status("morse")["starts"]] == ["architecture"], begun
    treadle("go", "morse", "--resume")
    (mine,) = status("morse")["yours"]
    assert mine["step"] == "architecture"
    title = "Morse code for a lamp"
    assert title in Path(mine["prompt"]).read_text(encoding="utf-8")
    assert status("morse")["status"] == "asks"

    unfinished = treadle("done", "--exit", "Architecture", "--field", "patterns=# Patterns")
    assert (unfinished.code, unfinished.error, unfinished.lacks("exit.tech: ")) == (2, "result.refused", [])
    answer = project / "answer.json"
    answer.write_text(json.dumps({"exit": {"type": "Architecture", **DESIGN}}))
    done = treadle("done", "morse", str(answer))
    assert [start["step"] for start in status("morse")["starts"]] == ["audit"], done

    treadle("go", "morse", "--resume")
    treadle("go", "morse", "--resume")
    (mine,) = status("morse")["yours"]
    assert mine["step"] == "architecture"
    revised = Path(mine["prompt"]).read_text(encoding="utf-8")
    assert "No data flow." in revised, "the critique comes to the person, who designed it"
    written = git(project, "show", "treadle/morse/root/int:memory-bank/systemPatterns.md")
    assert written.startswith("# Patterns\nOne module.")
