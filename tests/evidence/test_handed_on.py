"""What an interface file hands on from other files."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, Stage, run
from treadle.protocol.items import Json

PLAN: dict[str, Json] = {
    "interfaceFile": "src/calc/__init__.py",
    "contractSuite": "tests/calc/test_contract.py",
    "testPlan": [],
}
INTERFACE = "from calc.add import Sum, add\nfrom .minus import minus as less\n"
ADD = """
def add(a: int, b: int) -> int:
    return a + b


class Sum:
    def more(self, n: int) -> None: ...
    def _own(self): ...
"""
MINUS = "def minus(a: int) -> int:\n    return -a\n"
GIVEN = {**FILES, "src/calc/__init__.py": INTERFACE, "src/calc/add.py": ADD, "src/calc/minus.py": MINUS}

CASES = {
    "another body": ({"src/calc/add.py": ADD.replace("a + b", "b + a")}, ""),
    "a private method": ({"src/calc/add.py": ADD.replace("_own(self)", "_own(self, n)")}, ""),
    "moved": ({"src/calc/add.py": "from calc.sums import Sum, add\n", "src/calc/sums.py": ADD}, ""),
    "one more parameter": (
        {"src/calc/add.py": ADD.replace("b: int", "b: int = 0")},
        "src/calc/__init__.py: add has another signature than planned",
    ),
    "moved and changed": (
        {"src/calc/add.py": "from calc.sums import Sum, add\n", "src/calc/sums.py": ADD.replace("b: int", "c: int")},
        "add has another signature",
    ),
    "a method": ({"src/calc/add.py": ADD.replace("n: int", "n: float")}, "Sum.more has another signature"),
    "a method is gone": ({"src/calc/add.py": ADD.replace("more", "further")}, "Sum.more has another signature"),
    "under another name": ({"src/calc/minus.py": MINUS.replace("a: int", "a: float")}, "less has another signature"),
}


@pytest.mark.parametrize("name", CASES)
def test_signatures_behind_an_interface_stay_as_they_were(tmp_path: Path, name: str) -> None:
    files, said = CASES[name]

    async def story() -> None:
        stage = await Stage(tmp_path, files=GIVEN).start()
        await stage.claim("scaffold", "InitWork", {"src/calc/add.py": f"{ADD}\n"}, PLAN, "checkpoint scope")
        verdict = await stage.claim("impl", "TestsPassed", files, checks="interface_unmodified")
        assert bool(said) == bool(verdict.report), verdict.report
        assert said in verdict.report

    run(story())
