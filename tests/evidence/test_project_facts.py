"""Results of the tests are kept for the environment that they were measured in."""

from pathlib import Path

from treadle.config.model import ToolchainSettings
from treadle.evidence.project_facts import ProjectTools
from treadle.toolchains.toolchain import ProjectToolchain


def test_a_package_that_is_removed_while_a_run_goes_on_changes_the_identity(tmp_path: Path) -> None:
    record = tmp_path / ".venv/lib/python3.11/site-packages/six-1.16.0.dist-info"
    record.mkdir(parents=True)
    settings = ToolchainSettings(kind="pytest", timeout=1, test=("{root}/.venv/bin/python", "-m", "pytest"))
    tools = ProjectTools(ProjectToolchain(settings=settings, root=tmp_path, tests=None))
    before = tools.identity
    assert tools.identity == before
    record.rmdir()
    assert tools.identity != before
