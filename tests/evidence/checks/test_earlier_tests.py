"""Old tests that demand less because something they rest on was weakened, and code that loses behaviour behind them."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, TEST, Stage, run

OLD = "src/calc/old.py"
ONE = "def one() -> int:\n    return 1\n"
TWO = "def one() -> int:\n    return 2\n"
SHARED = """class Shared:
    def test_one(self) -> None:
        from src.calc.old import one

        assert one() == 1
"""
HEIR = "from tests.calc.shared import Shared\n\n\nclass TestOld(Shared):\n    pass\n"
HELPER = """from src.calc.old import one


def check(value: int) -> None:
    assert value == 1


def test_one() -> None:
    check(one())
"""
PLAIN = "from src.calc.old import one\n\n\ndef test_one() -> None:\n    assert one() == 1\n"
FIXTURE = "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n"
WAYS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a base class": (
        {
            "tests/__init__.py": "",
            "tests/calc/__init__.py": "",
            "tests/calc/shared.py": SHARED,
            "tests/calc/test_old.py": HEIR,
        },
        {"tests/calc/shared.py": SHARED.replace("assert one() == 1", "assert one() > 0")},
    ),
    "a helper": (
        {"tests/calc/test_old.py": HELPER},
        {"tests/calc/test_old.py": HELPER.replace("assert value == 1", "assert value")},
    ),
    "a decorator": (
        {"tests/calc/test_old.py": PLAIN},
        {"tests/calc/test_old.py": PLAIN.replace("def test", "@lambda test: lambda: None\ndef test")},
    ),
    "a fixture": (
        {"tests/calc/test_old.py": PLAIN},
        {
            "tests/calc/conftest.py": f"{FIXTURE}    import sys\n\n"
            "    monkeypatch.setattr(sys.modules['test_old'], 'one', lambda: 1)\n"
        },
    ),
}
NEW = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
LOST = "green.old_tests"


@pytest.mark.parametrize("way", ["a base class", "a helper", "a fixture"])
def test_code_may_not_lose_behaviour_behind_weakened_tests(tmp_path: Path, way: str) -> None:
    old, weakened = WAYS[way]

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, **old}).start()
        await stage.tested({**NEW, **weakened})
        broken = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD, OLD: TWO}, checks="checkpoint green")
        found = [place.rpartition("::")[2] for place, code in stage.found(broken, "green") if code == LOST]
        assert (found, broken.results[1].ok) == (["test_one"], False)
        kept = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD, OLD: ONE}, checks="checkpoint green", n="1.2"
        )
        assert (LOST in stage.codes(kept, "green"), kept.results[1].ok) == (False, True)

    run(story())


def test_a_step_that_may_write_both_may_not_either(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, "tests/calc/test_old.py": HELPER}).start()
        both = {OLD: TWO, "tests/calc/test_old.py": HELPER.replace("assert value == 1", "assert value")}
        verdict = await stage.claim("scaffold", "InitWork", both, checks="checkpoint unbroken")
        assert LOST in stage.codes(verdict, "unbroken")

    run(story())


def test_an_old_test_that_failed_first_may_ask_for_something_else(tmp_path: Path) -> None:
    """The spec changes the old behaviour: its test was rewritten, failed, and passes now."""

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, "tests/calc/test_old.py": HELPER}).start()
        rewritten = HELPER.replace("    check(one())", "    assert one() == 2").replace(
            "assert value == 1", "assert value == 2"
        )
        await stage.tested({**NEW, "tests/calc/test_old.py": rewritten})
        verdict = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD, OLD: TWO}, checks="checkpoint green"
        )
        assert verdict.results[1].ok, stage.found(verdict, "green")

    run(story())


@pytest.mark.parametrize("way", ["a base class", "a decorator"])
def test_a_weakened_test_is_refused_where_it_is_written(tmp_path: Path, way: str) -> None:
    old, weakened = WAYS[way]

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, **old}).start()
        verdict = await stage.claim("tests", "TestsReady", {**NEW, **weakened}, checks="checkpoint red")
        found = [place.rpartition("::")[2] for place, code in stage.found(verdict, "red") if code == "tests.rewritten"]
        assert found == ["test_one"]

    run(story())


def test_a_base_class_may_ask_for_something_new(tmp_path: Path) -> None:
    old, _ = WAYS["a base class"]

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, **old}).start()
        asking = {"tests/calc/shared.py": SHARED.replace("assert one() == 1", "assert one() == 2")}
        verdict = await stage.claim("tests", "TestsReady", {**NEW, **asking}, checks="checkpoint red")
        assert "tests.rewritten" not in stage.codes(verdict, "red")

    run(story())


def test_more_tests_beside_old_ones_cost_no_further_run(tmp_path: Path) -> None:
    more = (
        PLAIN.replace("from src", "from src.calc.add import add\nfrom src")
        + "\n\ndef test_adds() -> None:\n    assert add(2, 3) == 5\n"
    )

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, OLD: ONE, "tests/calc/test_old.py": PLAIN}).start()
        await stage.tested({"tests/calc/test_old.py": more, "tests/calc/test_manifest.json": MANIFEST})
        verdict = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD, OLD: TWO}, checks="checkpoint green"
        )
        codes = stage.codes(verdict, "green")
        assert ("green.failing" in codes, LOST in codes) == (True, False)
        honest = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD, OLD: ONE}, checks="checkpoint green", n="1.2"
        )
        assert honest.results[1].ok

    run(story())
