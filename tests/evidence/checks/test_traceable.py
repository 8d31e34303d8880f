"""A criterion for every test."""

from pathlib import Path

from tests.evidence.stage import FILES, MANIFEST, TEST, Stage, run

LISTED = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
MORE = f"{TEST}\n\ndef test_unheard_of() -> None:\n    assert add(2, 2) == 4\n"


def test_a_new_test_is_listed_and_an_old_one_need_not_be(tmp_path: Path) -> None:
    async def story() -> None:
        old = {"tests/calc/test_old.py": "def test_old() -> None:\n    assert 1 + 1 == 2\n"}
        stage = await Stage(tmp_path, files={**FILES, **old}).start()
        touched = {"tests/calc/test_old.py": f"# older than this run\n{old['tests/calc/test_old.py']}"}
        good = await stage.claim("tests", "TestsReady", {**LISTED, **touched}, checks="checkpoint traceable")
        assert good.report == ""
        files = {**LISTED, "tests/calc/test_add.py": MORE}
        bad = await stage.claim("tests", "TestsReady", files, checks="checkpoint traceable", n="2.1")
        said = "tests/calc/test_add.py::test_unheard_of: stands for no criterion"
        assert [line for line in bad.report.splitlines() if said in line]
        assert "test_old" not in bad.report
        assert "test_adds" not in bad.report

    run(story())
