from pathlib import Path

import pytest

from treadle.agents.script_reading import load_script
from treadle.errors import TreadleError
from treadle.testing.demos import DEMOS, SCRIPT, demo, demos, lay_out


@pytest.mark.parametrize("name", demos())
def test_a_demo_is_a_folder_that_can_be_read(name: str, tmp_path: Path) -> None:
    told = demo(name)
    patterns = [beat.see for beat in told.scenes]
    assert len(set(patterns)) == len(patterns)
    load_script(DEMOS / name / SCRIPT)
    lay_out(name, tmp_path / "new", "/a python")
    assert '"/a python"' in (tmp_path / "new" / "treadle.toml").read_text()
    with pytest.raises(TreadleError, match="is not empty"):
        lay_out(name, tmp_path / "new", "python")


def test_another_repository_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    lay_out("v3", tmp_path / "new", "python")
    assert (tmp_path / "new" / ".git").is_dir()
    assert not (tmp_path / "other").exists()
