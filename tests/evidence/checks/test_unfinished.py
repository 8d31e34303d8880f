"""What was left for later."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, SKELETON, Stage, run
from treadle.protocol.items import Json


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("a.py", ADD, ""),
        ("a.py", SKELETON, "src/calc/a.py:1: add is not implemented"),
        ("a.py", "def f():\n    raise NotImplementedError('x')\n", "f is not implemented"),
        ("a.py", "class C:\n    @abstractmethod\n    def f(self):\n        raise NotImplementedError\n", ""),
        ("a.py", "def f(x):\n    if x:\n        raise NotImplementedError\n    return 1\n", ""),
        ("a.py", "def f(:\n", "cannot be parsed"),
        ("a.rs", "fn f() {\n    todo!()\n}\n", "src/calc/a.rs:2: is not implemented"),
        ("a.go", 'func f() {\n\tpanic("not implemented")\n}\n', "src/calc/a.go:2"),
        ("a.ts", "function f() {\n  throw new Error('Not implemented');\n}\n", "src/calc/a.ts:2"),
        ("a.md", "todo!()", ""),
    ],
)
def test_bodies_that_are_missing(tmp_path: Path, file: str, text: str, said: str) -> None:
    report = run(claimed(tmp_path, f"src/calc/{file}", text, "no_undefined"))
    assert said in report
    assert bool(said) == bool(report)


def test_unfinished_code_of_others_is_not_charged(tmp_path: Path) -> None:
    assert run(claimed(tmp_path, "src/calc/b.py", "x = 1\n", "no_undefined")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1  # TODO: later\n", "src/calc/a.py:1: leaves something open"),
        ("# FIXME this\n", "leaves something open"),
        ("# TODO(anna): later\n", ""),
        ("todo_list = []\n", ""),
        ("x = 'TODO'\n", ""),
    ],
)
def test_todos_have_an_owner(tmp_path: Path, text: str, said: str) -> None:
    report = run(claimed(tmp_path, "src/calc/a.py", text, "no_todo"))
    assert said in report
    assert bool(said) == bool(report)


def test_a_story_leaves_none_of_its_own_stubs(tmp_path: Path) -> None:
    async def story() -> None:
        given: dict[str, Json] = {"id": "US-1", "title": "Sums", "description": "Adds."}
        other = SKELETON.replace("add", "subtract")
        stage = await Stage(tmp_path, "waterfall", {"src/a.py": other}, "story", given).start()
        left = await stage.claim("impl", "pass_green", {"src/a.py": f"{other}\n\n{SKELETON}"}, checks="no_undefined")
        assert stage.found(left, "no_undefined") == [("src/a.py:6", "code.unfinished")]
        assert "subtract" not in left.report, "which another story has to write"
        done = {"src/a.py": f"{other}\n\n{ADD}"}
        assert (await stage.claim("impl", "pass_green", done, checks="no_undefined", n="2.1")).report == ""

    run(story())


async def claimed(tmp_path: Path, path: str, text: str, check: str) -> str:
    stage = await Stage(tmp_path).start()
    return (await stage.claim("impl", "TestsPassed", {path: text}, checks=check)).report
