"""What a rebase may not do."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from tests.git.place import git

MINE = "from src.lib import old\n\n\ndef mine(x):\n    if x > 1:\n        return old(x)\n    return 0\n"
PROOF = "from src.calc.mine import mine\n\n\ndef test_mine():\n    assert mine(2) == 2\n"
LIB = "def old(x):\n    return x\n"
MERGED = "def new(x, y):\n    return x + y\n"


async def rebased(tmp_path: Path, files: dict[str, str | None], check: str) -> str:
    """An instance with work of its own; the parent moves on; an agent adapts the work."""
    stage = await Stage(tmp_path, files={"src/lib.py": LIB, "src/calc/__init__.py": ""}).start()
    await stage.claim("tests", "TestsReady", {"tests/calc/test_mine.py": PROOF}, checks="checkpoint")
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
        (MERGED, ()),
        (MERGED.replace("x, y", "x"), ("[canon.changed]", "lib.new", "signature")),
        (MERGED.replace("x + y", "x - y"), ("[canon.changed]", "lib.new", "else")),
        (LIB, ("[canon.changed]", "lib.new", "gone")),
    ],
    ids=["kept", "signature", "body", "gone"],
)
def test_a_rebase_may_not_change_merged_code_of_siblings(tmp_path: Path, lib: str, said: tuple[str, ...]) -> None:
    report = run(rebased(tmp_path, {"src/lib.py": lib}, "canon"))
    assert [text for text in said if text not in report] == []
    assert bool(said) == bool(report)


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (MINE.replace("old", "new").replace("new(x)", "new(x, 1)"), ()),
        (MINE.replace("old(x)", "lib.new(x, y=2)").replace("mine(x)", "mine(x, lib)"), ()),
        (MINE.replace("x > 1", "x > 2"), ("[canon.new_logic]", "src/calc/mine.py:4: mine ")),
        (MINE + "\n\ndef more():\n    return [1]\n", ("[canon.new_logic]", ": more ")),
        (None, ("[canon.removed]", "src/calc/mine.py: ")),
    ],
    ids=["renamed", "arguments", "logic", "more", "removed"],
)
def test_a_rebase_may_not_change_logic(tmp_path: Path, mine: str | None, said: tuple[str, ...]) -> None:
    report = run(rebased(tmp_path, {"src/lib.py": MERGED, "src/calc/mine.py": mine}, "mechanical_only"))
    assert [text for text in said if text not in report] == []
    assert bool(said) == bool(report)


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("src/calc/mine.py", MINE.replace("x > 1", "x > 2"), ""),
        ("tests/calc/test_mine.py", PROOF.replace("mine(2)", "mine(3)"), "canon.arguments"),
        ("tests/calc/test_mine.py", PROOF.replace("mine(2)", "mine(2, 4)"), "canon.arguments"),
        ("tests/calc/test_mine.py", PROOF.replace("mine(2)", "max(2)"), "canon.renamed"),
        ("tests/calc/test_mine.py", PROOF + "    assert True\n", "canon.new_logic"),
        ("tests/calc/test_mine.py", PROOF.replace("== 2", "!= None"), "canon.new_logic"),
        ("tests/calc/test_mine.py", None, "canon.removed"),
    ],
    ids=["code", "arguments", "new argument", "another function", "more", "weaker", "removed"],
)
def test_a_rebase_may_not_change_the_demands_of_tests(tmp_path: Path, path: str, text: str | None, code: str) -> None:
    report = run(rebased(tmp_path, {"src/lib.py": MERGED, path: text}, "mechanical_tests"))
    assert code in report
    assert bool(code) == bool(report)


TS_LIB = "export function old(x) { return x }\n"
TS_MERGED = "export function fresh(x, y) { return x + y }\n"
TS_MINE = "import { old } from '../lib';\nexport const mine = (x) => { if (x > 1) { return old(x) }\n return 0 }\n"


async def rebased_script(tmp_path: Path, lib: str, mine: str, check: str) -> str:
    stage = await Stage(tmp_path, files={"src/lib.ts": TS_LIB, "src/calc/__init__.py": ""}).start()
    await stage.claim("impl", "TestsPassed", {"src/calc/mine.ts": TS_MINE}, checks="checkpoint")
    await stage.facts.head(stage.state, "root")
    (stage.root / "src/lib.ts").write_text(TS_MERGED)
    git(stage.root, "add", "-A")
    git(stage.root, "commit", "-q", "-m", "a sibling's merge")
    files: dict[str, str | None] = {"src/lib.ts": lib, "src/calc/mine.ts": mine}
    return (await stage.claim("adapt", "RebaseAdapted", files, checks=check)).report


@pytest.mark.parametrize(
    ("lib", "mine", "check", "said"),
    [
        (TS_MERGED, TS_MINE, "canon", ()),
        (TS_MERGED.replace("x + y", "x - y"), TS_MINE, "canon", ("[canon.changed]", "src/lib.fresh", "else")),
        ("export function fresh( {", TS_MINE, "canon", ("[code.unparsable]", "src/lib.ts: ", "line 1")),
        (TS_MERGED, TS_MINE.replace("old", "fresh").replace("(x) }", "(x, 1) }"), "mechanical_only", ()),
        (TS_MERGED, TS_MINE.replace("old(x)", "fresh(1, 1)"), "mechanical_only", ("[canon.arguments]",)),
        (TS_MERGED, TS_MINE.replace("x > 1", "x > 2"), "mechanical_only", ("[canon.new_logic]", "mine.ts:2: mine ")),
        (TS_MERGED, TS_MINE + "export const (", "mechanical_only", ("[code.unparsable]", "mine.ts:4: ")),
    ],
    ids=["kept", "body", "broken", "renamed", "replaced", "logic", "no program"],
)
def test_a_rebase_of_typescript_is_checked_too(
    tmp_path: Path, lib: str, mine: str, check: str, said: tuple[str, ...]
) -> None:
    report = run(rebased_script(tmp_path, lib, mine, check))
    assert [text for text in said if text not in report] == []
    assert bool(said) == bool(report)
