"""Where stories take place."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all stories of a process, for they share what was measured."""
    return tmp_path_factory.mktemp("stories")
