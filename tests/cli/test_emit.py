"""`treadle emit`, as an agent's program calls it."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.cli.treadle import Outcome, treadle
from tests.results.desk import Desk, desk

RED = "dptr/cycle/red"
RC = '{"exit": {"type": "RC", "message": "three"}}'


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    it = desk(tmp_path, RED)
    for name, value in it.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(it.work.lane)
    return it


def answer(it: Desk) -> object:
    return msgspec.json.decode((it.work.out / "answer.json").read_bytes())["answer"]


def piped(it: Desk, data: bytes) -> Outcome:
    command = [sys.executable, "-m", "treadle", "emit", "-"]
    done = subprocess.run(command, env=it.env, cwd=it.work.lane, input=data, capture_output=True, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_emit_takes_a_file(inside: Desk) -> None:
    inside.put("answer.json", RC)
    done = treadle("emit", "answer.json")
    assert (done.code, done.out.startswith("RC: received"), done.err) == (0, True, "")
    assert answer(inside) == {"exit": {"type": "RC", "message": "three"}}


def test_emit_takes_standard_input(inside: Desk) -> None:
    done = piped(inside, RC.encode())
    assert (done.code, done.out.startswith("RC: received"), done.err) == (0, True, "")
    assert answer(inside) == {"exit": {"type": "RC", "message": "three"}}


def test_emit_takes_arguments(inside: Desk) -> None:
    assert treadle("emit", "--type", "RC", "--field", "message=three").code == 0
    assert answer(inside) == {"exit": {"type": "RC", "message": "three"}}


def test_a_second_one_replaces_the_first(inside: Desk) -> None:
    treadle("emit", "--type", "BL", "--field", "message=no")
    treadle("emit", "--type", "RC")
    assert answer(inside) == {"exit": {"type": "RC"}}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"exit": {"type": "GC"}}', ["exit.type: 'GC'", "RC or BL"]),
        ('{"exit": {"type": "RC", "tests": []}}', ["exit.tests: ", "computed"]),
        ('{"exit": {"type": "RC"}', ["answer.json", "(line 1, column 24)"]),
        ('{"exit": {"type": "RC", "type": "BL"}}', ["'type' appears twice"]),
        ("[]", ["object", "a list"]),
    ],
)
def test_an_invalid_answer_is_refused_with_its_place(inside: Desk, text: str, named: list[str]) -> None:
    inside.put("answer.json", text)
    done = treadle("emit", "answer.json")
    assert (done.code, done.out, done.error, done.lacks(*named)) == (2, "", "result.refused", [])
    assert list(inside.work.out.iterdir()) == []


def test_an_answer_over_the_limit_is_refused(inside: Desk) -> None:
    done = piped(inside, b'{"exit": "' + b"x" * 5_000_000)
    assert done.code == 2
    assert "the limit is 1000000" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to hand in"),
        (("a.json", "--type", "RC"), "give only one of both"),
        (("a.json", "--field", "a=b"), "--field needs --type"),
        (("none.json",), "there is no file none.json"),
        (("/dev/null",), "/dev/null is no plain file"),
        ((".",), ". is a folder"),
    ],
)
def test_arguments_that_make_no_sense(inside: Desk, arguments: tuple[str, ...], said: str) -> None:
    done = treadle("emit", *arguments)
    assert done.code == 2
    assert said in done.err
    assert list(inside.work.out.iterdir()) == []


def test_outside_of_a_step() -> None:
    done = treadle("emit", "--type", "RC")
    assert (done.code, done.out, done.error, done.lacks("`treadle done`")) == (2, "", "emit.outside", [])
