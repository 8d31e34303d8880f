"""Modules in front of installed ones, with the real pytest."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, TEST, Stage, run

PATH = {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n'}
USES = "import colorsys\n\nimport msgspec\nfrom calc.words import word\n\n\n"
OWN = {"src/calc/words.py": "word = 'sum'\n", "src/calc/msgspec.py": "", "src/calc/colorsys.py": ""}
TESTS = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}


@pytest.mark.parametrize(
    ("before", "adds", "said"),
    [
        ({}, {}, ""),
        ({}, {"src/msgspec/__init__.py": ""}, "src/msgspec: hides the installed module msgspec"),
        ({}, {"src/msgspec.py": ""}, "src/msgspec.py: hides the installed module msgspec"),
        ({}, {"src/colorsys.py": ""}, "src/colorsys.py: hides the installed module colorsys"),
        ({"src/msgspec/__init__.py": "old = 1\n"}, {"src/msgspec/__init__.py": "old = 2\n"}, ""),
    ],
    ids=["own modules", "package", "module", "standard library", "was there"],
)
def test_a_new_module_in_front_of_an_installed_one(
    tmp_path: Path, before: dict[str, str], adds: dict[str, str], said: str
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=FILES | PATH | before | TESTS).start()
        work = {"src/calc/add.py": USES + ADD, **OWN, **adds}
        verdict = await stage.claim("impl", "TestsPassed", work, checks="checkpoint green")
        assert verdict.results[1].ok == (not said), verdict.report
        assert said in verdict.report

    run(story())


@pytest.mark.soak
def test_a_module_that_the_tests_added_is_not_charged_to_the_implementation(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=FILES).start()
        doubles = {"tests/calc/conftest.py": "import msgspec\n", "tests/calc/msgspec.py": "", **TESTS}
        first = await stage.claim("tests", "TestsReady", doubles, checks="checkpoint green")
        assert ("tests/calc/msgspec.py", "code.hides_module") in stage.found(first, "green")
        await stage.claim("tests", "TestsReady", doubles, checks="checkpoint", n="1.2")
        mine = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert mine.results[1].ok, mine.report

    run(story())
