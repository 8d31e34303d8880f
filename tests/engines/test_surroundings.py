"""The project's commands as agents are told them."""

from pathlib import Path

from treadle.config.model import ToolchainSettings
from treadle.engines.surroundings import toolchain_texts


def test_toolchain_commands_are_rendered_ready_to_run() -> None:
    words = ("{root}/.venv/bin/python", "-m", "pytest", "-k", "a b", "--junitxml={report}")
    texts = toolchain_texts(ToolchainSettings(kind="pytest", timeout=60, test=words), Path("/home/me/shop"))
    assert texts == {"test": "/home/me/shop/.venv/bin/python -m pytest -k 'a b' --junitxml=/dev/null"}
