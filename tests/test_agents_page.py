"""docs/agents.md keeps its word: its examples run, and what it names is there."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.results.desk import Desk, desk
from treadle.config.model import KEYS
from treadle.prompts.bundle import environment
from treadle.protocol.answers.values import MAX_ITEMS, MAX_TEXT
from treadle.results import executor_result, handoff
from treadle.results.channels import Before, SessionAnswer, read_answer
from treadle.results.executor_result import MAX_YAML
from treadle.results.intake import MAX_ANSWER, MAX_DEPTH

PAGE = (Path(__file__).parents[1] / "docs" / "agents.md").read_text()
MODEL = """
answers = [{"exit": {"type": "GC"}}, {"exit": {"type": "RC", "message": "three"}}]

def ask(prompt, schema):
    assert len(answers) == 2 or "'GC' is not an exit" in prompt
    return answers.pop(0)
"""


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert isinstance(text, str)
    return text


def run(it: Desk, *command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**it.env, "PATH": path, "PYTHONPATH": str(it.work.lane)}
    subprocess.run(command, cwd=it.work.lane, env=env, check=True, capture_output=True)


def reading(it: Desk, final: str = "") -> SessionAnswer:
    return asyncio.run(read_answer(it.work, it.step_exits, Before(), final))


@pytest.fixture
def it(tmp_path: Path) -> Desk:
    found = desk(tmp_path, "dptr/cycle/red")
    (found.work.bundle / "prompt.md").write_text("Write tests.")
    (found.work.bundle / "schema.json").write_text("{}")
    return found


def test_the_example_of_a_program(it: Desk) -> None:
    it.put("my_model.py", MODEL)
    it.put("agent.py", block("python"))
    run(it, sys.executable, "agent.py")
    assert reading(it).claim is not None


def test_the_commands_of_the_page_hand_in_an_answer(it: Desk) -> None:
    it.put("answer.json", block("json"))
    it.put("notes.md", "all that is to be said about three tests")
    run(it, "sh", "-e", "-c", block("sh"))
    found = reading(it)
    assert found.claim is not None
    assert found.claim.fields["message"] == "all that is to be said about three tests"


def test_the_last_output(it: Desk) -> None:
    assert reading(it, block("json")).channel == "final"


@pytest.mark.parametrize(
    ("language", "file", "key"),
    [
        ("yaml", executor_result.FILE, "failing_measured.needs_clarification"),
        ("markdown", handoff.FILES[0], "pass_green"),
    ],
)
def test_the_files_of_the_page_are_answers(language: str, file: str, key: str, tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put(file, block(language))
    found = reading(it)
    assert found.claim is not None
    assert found.claim.key == key


def test_every_variable_is_named(tmp_path: Path) -> None:
    for name in environment(desk(tmp_path).work):
        assert f"`{name}`" in PAGE


def test_every_limit_is_right() -> None:
    assert f"at most {MAX_ANSWER:,} bytes (the setting `limits.answer`)" in PAGE
    assert next(key.default for key in KEYS if key.name == "limits.answer") == MAX_ANSWER
    assert f"at most {MAX_TEXT:,} characters" in PAGE
    assert f"at most {MAX_ITEMS:,} items" in PAGE
    assert f"{MAX_DEPTH} levels deep" in PAGE
    assert f"{MAX_YAML:,} characters" in PAGE
