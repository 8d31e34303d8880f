"""What others rely on."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, Stage, run
from treadle.protocol.items import Json

CYCLE: dict[str, Json] = {
    "id": "TDD1",
    "interface": "def add(a: int, b: int) -> int\ndef Cart.total(self) -> int",
    "files": ["src/calc/add.py", "tests/test_add.py"],
}
CART = "\n\nclass Cart:\n    def total(self) -> int:\n        return 1\n"


def test_an_interface_file_stays_as_it_was_planned(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        ok = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="interface_unmodified")
        assert ok.report == ""
        for n, text in enumerate(("x = 1\n", None)):
            files = {"src/calc/__init__.py": text}
            verdict = await stage.claim("impl", "TestsPassed", files, checks="interface_unmodified", n=f"{n + 2}.1")
            found = stage.found(verdict, "interface_unmodified")
            assert found == [("src/calc/__init__.py", "interface.modified")]

    run(story())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADD + CART, ()),
        (ADD, ("[interface.missing]", "Cart.total ", "Expected: def Cart.total(self) -> int")),
        (
            ADD.replace("b: int", "b: int = 0") + CART,
            ("[interface.other_signature]", ": def add(a: int, b: int = 0) -> int"),
        ),
        (ADD + CART + "\n\ndef extra() -> None: ...\n", ("[interface.extra]", "extra ")),
        (ADD + CART + "\n\ndef _private() -> None: ...\n", ()),
        ("def add(:\n", ("[code.unparsable]", "src/calc/add.py")),
    ],
    ids=["exact", "missing", "different", "extra", "private", "broken"],
)
def test_signatures_are_exactly_those_of_the_plan(tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", {"README.md": "x"}, "cycle", CYCLE).start()
        verdict = await stage.claim("green", "GC", {"src/calc/add.py": text}, checks="interface_exact")
        assert verdict.results[0].ok == (not said), verdict.report
        assert [text for text in said if text not in verdict.report] == []

    run(story())


def test_other_languages_are_compared_as_text(tmp_path: Path) -> None:
    cycle: dict[str, Json] = {"id": "TDD1", "interface": "func Parse(s string) (Amount, error)", "files": ["a.go"]}

    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", {"README.md": "x"}, "cycle", cycle).start()
        files = {"a.go": "package a\n\nfunc Parse(s string)  (Amount,error) {\n}\n"}
        assert (await stage.claim("green", "GC", files, checks="interface_exact")).report == ""
        files = {"a.go": "package a\n\nfunc Parse(s []byte) (Amount, error) {\n}\n"}
        assert "is missing" in (await stage.claim("green", "GC", files, checks="interface_exact", n="2.1")).report

    run(story())
