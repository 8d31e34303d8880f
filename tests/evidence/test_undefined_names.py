"""Names in tests that exist nowhere."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, MANIFEST, Stage, run
from treadle.evidence.undefined_names import find_undefined

EXPORTS = {"calc": frozenset({"add", "Box"})}


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("assert calc.add(1) == WANTED", ["WANTED"]),
        ("assert calc.add(1) == 2\n    assert calc.ad(1) == 2", ["calc.ad"]),
        ("with pytest.raises(ValueError):\n        calc.add(1)", ["pytest"]),
        ("assert [x + y for x in calc.add(1)] == []", ["y"]),
        ("assert calc.add(1) == SOME + later()", []),
        ("x: Unknown = calc.add(1)\n    assert [y for y in x] == len(x)", []),
        ("def inner():\n        return calc.Box\n    assert inner().anything == 1", []),
        ("global MADE\n    MADE = calc.add(1)\n    assert MADE", []),
        ("assert calc.__name__ == __name__", []),
    ],
)
def test_names_that_nothing_defines_are_found(body: str, missing: list[str]) -> None:
    source = f"import calc\n\nSOME = 1\n\ndef test_it():\n    {body}\n\ndef later():\n    return 1\n"
    assert [name for _, name in find_undefined(source, EXPORTS)] == missing


def test_assertions_that_unittest_lacks_are_found() -> None:
    source = (
        "class TestIt(TestCase):\n    def test_it(self):\n        self.assertEqal(1, 2)\n        self.assertIsNone(1)\n"
    )
    assert find_undefined(f"from unittest import TestCase\n{source}", {}) == [(4, "self.assertEqal")]
    own = f"from unittest import TestCase\n{source}    def assertEqal(self, a, b):\n        pass\n"
    assert find_undefined(own, {}) == []
    assert find_undefined(f"from django.test import Case\n{source.replace('TestCase', 'Case')}", {}) == []


def test_a_red_test_with_a_line_that_cannot_work_is_refused_at_red(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=FILES).start()
        head = "from src.calc import add\n\n\ndef test_adds() -> None:\n    assert add.add(2, 3) == 5\n"
        files = {"tests/calc/test_add.py": f"{head}    assert add.add(2, 4) == SIX\n    assert add.sub(1) == 1\n"}
        files["tests/calc/test_manifest.json"] = MANIFEST
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red")
        found = [place for place, code in stage.found(verdict, "red") if code == "tests.undefined"]
        assert found == ["tests/calc/test_add.py:6", "tests/calc/test_add.py:7"]
        files["tests/calc/test_add.py"] = f"{head}    assert add.add(2, 4) == 6\n"
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red", n="1.2")
        assert verdict.report == ""

    run(story())
