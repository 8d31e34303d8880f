"""What a rebase may not do."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from tests.git.place import git
from treadle.evidence.checks.canon import line_shapes, shapes_of

MINE = "from src.lib import old\n\n\ndef mine(x):\n    if x > 1:\n        return old(x)\n    return 0\n"
LIB = "def old(x):\n    return x\n"
MERGED = "def new(x, y):\n    return x + y\n"


async def rebased(tmp_path: Path, files: dict[str, str | None], check: str) -> str:
    """An instance with work of its own; the parent moves on; an agent adapts the work."""
    stage = await Stage(tmp_path, files={"src/lib.py": LIB, "src/calc/__init__.py": ""}).start()
    await stage.claim("impl", "TestsPassed", {"src/calc/mine.py": MINE}, checks="checkpoint")
    await stage.facts.head(stage.state, "root")
    (stage.root / "src/lib.py").write_text(MERGED)
    git(stage.root, "add", "-A")
    git(stage.root, "commit", "-q", "-m", "a sibling's merge")
    verdict = await stage.claim("adapt", "RebaseAdapted", files, checks=check)
    return verdict.report


@pytest.mark.parametrize(
    ("lib", "said"),
    [
        (MERGED, ""),
        (MERGED.replace("x, y", "x"), "lib.new, which a sibling merged, has another signature"),
        (MERGED.replace("x + y", "x - y"), "does something else"),
        (LIB, "is gone"),
    ],
    ids=["kept", "signature", "body", "gone"],
)
def test_siblings_are_canon(tmp_path: Path, lib: str, said: str) -> None:
    report = run(rebased(tmp_path, {"src/lib.py": lib}, "canon"))
    assert said in report
    assert bool(said) == bool(report)


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (MINE.replace("old", "new").replace("new(x)", "new(x, 1)"), ""),
        (MINE.replace("old(x)", "lib.new(x, y=2)").replace("mine(x)", "mine(x, lib)"), ""),
        (MINE.replace("x > 1", "x > 2"), "src/calc/mine.py:4: mine does something that it did not do before"),
        (MINE + "\n\ndef more():\n    return [1]\n", "more does something"),
        (None, "src/calc/mine.py: was removed"),
    ],
    ids=["renamed", "arguments", "logic", "more", "removed"],
)
def test_logic_stays(tmp_path: Path, mine: str | None, said: str) -> None:
    report = run(rebased(tmp_path, {"src/lib.py": MERGED, "src/calc/mine.py": mine}, "mechanical_only"))
    assert said in report
    assert bool(said) == bool(report)


def test_other_languages_are_compared_by_line() -> None:
    one, other = "use a::b;\nlet x = f(y, z) + 1;\n", "use c;\nlet x2 = g(y) + 1;\n"
    assert {shape for shape, _, _ in line_shapes(one)} == {shape for shape, _, _ in line_shapes(other)}
    assert line_shapes("x = 1")[0][0] != line_shapes("x = 2")[0][0]


def test_names_do_not_matter_and_operators_do() -> None:
    def shape(text: str) -> str:
        return shapes_of(f"def f(a):\n    {text}\n")[0][0]

    assert shape("return g(a)") == shape("return m.h(a, b=1)")
    assert shape("return a + 1") != shape("return a - 1")
