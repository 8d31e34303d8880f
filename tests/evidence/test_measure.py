"""What is measured, and for whom it holds."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, RUN, Stage, run
from tests.git.place import git
from treadle.evidence.measurements import ActivityMeasurements, Cache, missing_module
from treadle.toolchains.results import CommandResult

OLD = "tests/calc/test_old.py"


def test_a_run_without_mirrors_does_not_replace_a_run_with_mirrors(tmp_path: Path) -> None:
    files = {**FILES, OLD: 'def test_old() -> None:\n    assert len("ab") == 2\n'}

    async def story() -> None:
        stage = await Stage(tmp_path, files=files).start()
        measure = ActivityMeasurements(stage.facts, stage.tools, Cache(tmp_path / "known", b"key"), RUN, "act")
        tree = git(stage.root, "rev-parse", "HEAD^{tree}").strip()
        past = await measure.known_suite(tree)
        assert (past.is_green, past.mirrored) == (True, ())
        work = await measure.suite(tree)
        assert (work.is_green, work.mirrored) == (True, (f"{OLD}::test_old",))
        assert await measure.known_suite(tree) == work, "whoever has run them"

    run(story())


BREAKS_OFF = """
import os, pathlib, signal
def pytest_sessionfinish():
    times = pathlib.Path({times!r})
    times.write_text(times.read_text() + "x" if times.exists() else "x")
    if len(times.read_text()) <= {limit}:
        {how}
"""


@pytest.mark.parametrize("how", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(1)"])
@pytest.mark.parametrize(("limit", "is_believable"), [(1, True), (9, False)])
def test_a_run_that_broke_off_runs_once_more(tmp_path: Path, how: str, limit: int, *, is_believable: bool) -> None:
    times = tmp_path / "times"
    conftest = BREAKS_OFF.format(times=str(times), limit=limit, how=how)
    files = {**FILES, OLD: "def test_old() -> None:\n    assert len('ab') == 2\n", "conftest.py": conftest}

    async def story() -> None:
        stage = await Stage(tmp_path, files=files).start()
        measure = ActivityMeasurements(stage.facts, stage.tools, Cache(tmp_path / "known", b"key"), RUN, "act")
        ran = await measure.suite(git(stage.root, "rev-parse", "HEAD^{tree}").strip())
        assert (ran.is_believable, ran.broke_off, times.read_text()) == (is_believable, not is_believable, "xx")

    run(story())


@pytest.mark.parametrize(
    ("command", "output", "module"),
    [
        (("python3", "-m", "ruff", "check"), "/usr/bin/python3: No module named ruff\n", "ruff"),
        (("python3", "-m", "ruff", "check"), "src/a.py: ModuleNotFoundError: No module named 'numpy'\n", ""),
        (("ruff", "check"), "No module named ruff\n", ""),
        (("python3", "-m", "mypy"), "a.py:1: error: No module named mypy\nFound 1 error\n", ""),
    ],
)
def test_a_missing_module_of_the_environment_is_read_from_the_tools_output(
    command: tuple[str, ...], output: str, module: str
) -> None:
    assert missing_module(CommandResult(command=command, exit=1, output=output)) == module
