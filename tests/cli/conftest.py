"""What several tests of commands start from."""

from pathlib import Path

import pytest

from tests.cli.kept import Kept


@pytest.fixture
def kept(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Kept:
    found = Kept(tmp_path)
    monkeypatch.chdir(tmp_path)
    # `treadle gc` removes what killed processes left in the folder for temporary files: here, only this test's.
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


pytestmark = pytest.mark.usefixtures("kept")
