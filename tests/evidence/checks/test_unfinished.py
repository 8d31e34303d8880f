"""What was left for later."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, SKELETON, SPEC, Stage, run
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


OLDER = """class Shape:
    def area(self):
        raise NotImplementedError

    def name(self):
        raise NotImplementedError()
"""
SUM = "\n\ndef total(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"src/calc/shape.py": f"{OLDER}{SUM}"}, []),
        ({"src/calc/shape.py": f"{SUM}\n\n{OLDER}"}, []),
        ({"src/calc/shape.py": SUM, "src/calc/other.py": OLDER}, []),
        ({"src/calc/shape.py": f"{OLDER}\n\n{OLDER.replace('Shape', 'Form')}"}, [10, 13]),
        ({"src/calc/shape.py": f"{OLDER}\n    def edge(self):\n        raise NotImplementedError\n"}, [8]),
        ({"src/calc/shape.py": OLDER, "src/calc/other.py": OLDER}, [2, 5]),
        ({"src/calc/other.rs": "fn f() {\n    todo!()\n}\n"}, [2]),
        ({"src/calc/shape.rs": "fn f() {\n    todo!()\n}\n\nfn g() -> i32 {\n    1\n}\n"}, []),
    ],
)
def test_bodies_that_were_missing_before_the_run_are_not_charged(
    tmp_path: Path, files: dict[str, str], found: list[int]
) -> None:
    async def story() -> None:
        given = {**FILES, "src/calc/shape.py": OLDER, "src/calc/shape.rs": "fn f() {\n    todo!()\n}\n"}
        stage = await Stage(tmp_path, files=given).start()
        done = await stage.claim("impl", "TestsPassed", files, checks="no_undefined")
        assert [int(place.rpartition(":")[2]) for place, _ in stage.found(done, "no_undefined")] == found

    run(story())


def test_a_child_fills_the_stubs_that_its_parent_has_handed_down(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        skeleton = {"src/calc/sum.py": SKELETON}
        assert not (await stage.claim("scaffold", "SpawnTree", skeleton, checks="checkpoint")).report
        stage.add("root/b", "node", SPEC)
        left = await stage.claim(
            "impl", "TestsPassed", {"src/calc/sum.py": f"{SKELETON}{SUM}"}, checks="no_undefined", inst="root/b"
        )
        assert stage.found(left, "no_undefined") == [("src/calc/sum.py:1", "code.unfinished")]

    run(story())


@pytest.mark.parametrize(
    ("below", "found"),
    [
        ("class Unit(Shape):\n    def area(self): return 1\n    def name(self): return 'unit'\n", []),
        ("class Unit(Shape):\n    def area(self): return 1\n", [5]),
        (
            "class Unit(Shape):\n    def area(self): raise NotImplementedError\n    def name(self): ...\n",
            [2, 5, 10, 11],
        ),
        (
            "class Flat(Shape): pass\nif 1:\n class U(Flat):\n  def area(self): return 1\n  def name(self): return 2\n",
            [],
        ),
    ],
)
def test_a_method_that_a_class_below_writes_is_abstract(tmp_path: Path, below: str, found: list[int]) -> None:
    report = run(claimed(tmp_path, "src/calc/shape.py", f"{OLDER}\n\n{below}", "no_undefined"))
    lines = [int(line.partition(".py:")[2].partition(":")[0]) for line in report.splitlines() if ".py:" in line]
    assert lines == found


async def claimed(tmp_path: Path, path: str, text: str, check: str) -> str:
    stage = await Stage(tmp_path).start()
    return (await stage.claim("impl", "TestsPassed", {path: text}, checks=check)).report
