import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from treadle.cli.programs import ask_program, find_program, plain_environment


def test_a_programs_exit_code_and_first_line_are_read() -> None:
    said = asyncio.run(ask_program([sys.executable, "-c", "import sys; print('\\n one\\x1b '); sys.exit(3)"]))
    assert (said.code, said.first_line) == (3, "one")
    assert asyncio.run(ask_program(["no-such-program"])).code is None


def test_none_of_the_users_keys_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    said = asyncio.run(ask_program(["env"]))
    assert "PATH=" in said.text
    assert "secret" not in said.text
    assert "ANTHROPIC_API_KEY" not in plain_environment()


def test_a_program_without_an_answer_ends_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    began = time.monotonic()
    said = asyncio.run(ask_program(["sh", "-c", script], patience=0.5))
    assert said.code is None
    assert "no answer within 0.5 s" in said.text
    assert time.monotonic() - began < 20
    child = int((tmp_path / "child").read_text())
    while time.monotonic() - began < 20:
        try:
            os.kill(child, 0)
            if "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
                break
        except (ProcessLookupError, FileNotFoundError):
            break
    else:
        pytest.fail("the child lives on")


def test_a_flood_is_cut() -> None:
    said = asyncio.run(ask_program([sys.executable, "-c", "print('x' * 3_000_000)"]))
    assert said.code == 0
    assert len(said.text) == 20_000


def test_programs_are_searched_on_the_path_or_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "run.sh").touch()
    assert find_program("sh") is not None
    assert find_program("no-such-program") is None
    assert find_program("./run.sh", tmp_path) is None
    (tmp_path / "run.sh").chmod(0o755)
    assert find_program("./run.sh", tmp_path) == str(tmp_path / "run.sh")
