"""What is hidden is found wherever it really lies."""

from pathlib import Path

import pytest

from treadle.enclosures.secrets import homes, secret_places


def test_what_is_there_is_found_behind_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"
    (home / ".config" / "gh").mkdir(parents=True)
    kept.mkdir()
    (home / ".ssh").symlink_to(kept)
    (home / ".netrc").symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("HOME", str(home))
    assert homes()[0] == home
    assert {path for path in secret_places() if path.is_relative_to(tmp_path)} == {kept, home / ".config/gh"}


@pytest.mark.parametrize("home", ["", "relative", "/"])
def test_a_home_that_is_none(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert Path(home) not in homes()
