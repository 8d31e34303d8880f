"""`treadle memory`: files of the public server in and out, all or nothing."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from treadle.memory.dialogue import Dialogues, Seat
from treadle.memory.store import Memory

LINES = (
    '{"type":"entity","name":"é\\n|→","entityType":"t","observations":["one","two"]}\n'
    '{"type":"relation","from":"é\\n|→","to":"b","relationType":"knows"}'
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "treadle.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def memory_of(here: Path) -> Path:
    return here / ".treadle" / "local" / "memory.db"


def test_entities_are_imported_and_exported(here: Path) -> None:
    (here / "in.jsonl").write_text(LINES + "\n")
    assert treadle("memory", "import", "in.jsonl").out == "imported 1 entities and 1 relations\n"
    again = treadle("memory", "import", "in.jsonl")
    assert again.lacks("0 entities", "0 relations", " 2 ") == []
    assert treadle("memory", "export").out == LINES
    assert treadle("memory", "export", "out.jsonl").code == 0
    assert (here / "out.jsonl").read_text() == LINES
    assert treadle("memory", "export", "out.jsonl").error == "file.exists"


def test_a_malformed_line_imports_no_line(here: Path) -> None:
    (here / "in.jsonl").write_text(LINES + '\n{"type":"entity","name":1}')
    outcome = treadle("memory", "import", "in.jsonl")
    assert (outcome.code, outcome.error, outcome.lacks("in.jsonl:3: ", " at name")) == (2, "memory.import", [])
    assert not memory_of(here).exists()


def test_reading_creates_no_memory(here: Path) -> None:
    assert (treadle("memory", "export").out, treadle("memory", "sessions").out) == ("", "")
    assert not (here / ".treadle").exists()


def test_sessions_are_listed_and_exported(here: Path) -> None:
    memory_of(here).parent.mkdir(parents=True)
    with closing(Memory(memory_of(here))) as memory:
        seat = Seat(run="r1", session="PLAN_r1", act="a", step="s", agent="QA")
        Dialogues(memory).admit(seat, "mark", "plan_loop", "build it")
    assert treadle("memory", "sessions").out == "PLAN_r1\n"
    said = '"entityType":"plan_loop","observations":["R0|MT|→INIT|build it"]}'
    assert treadle("memory", "export", "--session", "PLAN_r1").out == f'{{"type":"entity","name":"PLAN_r1",{said}'
    outcome = treadle("memory", "export", "--session", "PLAN_r")
    assert (outcome.code, "did you mean 'PLAN_r1'?" in outcome.err) == (2, True)
    assert treadle("memory", "export").out == ""
