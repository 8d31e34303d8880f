"""Tries a project's test tool on a small project of our own: whether its canaries end as they must on this machine."""

from pathlib import Path
from typing import Final

from treadle.config.model import Toolchain
from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.process import scratch_folder
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.results import TestRun

_PATIENCE: Final = 120.0
_PYTHON: Final = {"test_treadle_trial.py": "def test_trial():\n    assert 1 + 1 == 2\n"}
_GO: Final = {
    "go.mod": "module example.org/trial\n\ngo 1.18\n",
    "trial.go": "package trial\n\nfunc Two() int { return 2 }\n",
    "trial_test.go": (
        'package trial\n\nimport "testing"\n\n'
        "func TestTrial(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n"
    ),
}


async def canary_fault(settings: Toolchain, root: Path, sandbox: Enclosure | None = None) -> str | None:
    """Why the canaries of a test tool do not work here; empty if they do, None if this kind of tool has none.

    The project's own options are left out: they may name files that the small project does not have.
    """
    words = settings.command("test", root=str(root))
    names = [Path(word).name for word in words]
    if settings.kind == "pytest":
        program = next((name for name in ("pytest", "py.test") if name in names), "")
        command = words[: names.index(program) + 1] if program else words
        return await _tried(Pytest(command=command, root=root, timeout=_PATIENCE, sandbox=sandbox), _PYTHON)
    if settings.kind == "gotest" and names[0] == "go":
        command = (words[0], "test", "./...")
        return await _tried(GoTest(command=command, timeout=_PATIENCE, sandbox=sandbox), _GO)
    return None


async def _tried(tests: Pytest | GoTest, files: dict[str, str]) -> str:
    with scratch_folder() as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return _fault(await tests.test(folder))


def _fault(run: TestRun) -> str:
    if run.is_green and run.passed and run.is_witnessed:
        return ""
    lines = [line.strip() for line in run.output.splitlines() if line.strip()]
    said = [*run.bent, *run.problems, *(test.message for test in run.tests.values() if test.message), *lines[-1:]]
    first = (said or [f"its exit code was {run.exit}"])[0]
    return f"a small test that passes could not be run and witnessed: {first.splitlines()[0][:300]}"
