"""What several tests of commands start from."""

from pathlib import Path

import pytest

from tests.cli.kept import Kept


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    found = Kept(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


pytestmark = pytest.mark.usefixtures("kept")
