"""Lanes on a real disk, with links in them."""

from pathlib import Path

import pytest

from treadle.enclosures.lane_marks import lane_marks
from treadle.enclosures.write_scope import Mark
from treadle.errors import PortError


def test_folders_of_the_scope_are_made_and_never_behind_links(tmp_path: Path) -> None:
    lane, elsewhere = tmp_path / "lane", tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    lane.mkdir()
    (lane / "up").symlink_to(elsewhere)
    found = lane_marks(lane, ["src/new/**", "up/**", "up/deep/new/**"])
    assert [mark.path for mark in found] == ["src/new"]
    assert (lane / "src/new").is_dir()
    assert list(elsewhere.rglob("*")) == [elsewhere / "deep"]


@pytest.mark.parametrize("glob", ["../x/**", "/etc/**", "src/../../x", ".git/**"])
def test_a_scope_that_leads_outside_is_refused(glob: str, tmp_path: Path) -> None:
    with pytest.raises(PortError, match="the write scope"):
        lane_marks(tmp_path, [glob])
    assert not list(tmp_path.iterdir())


def test_folders_that_tools_build_in_are_open_where_git_ignores_them(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("target/\n__pycache__/\n")
    assert lane_marks(tmp_path, ["src/**"]) == (Mark("src", writable=True), Mark("target", writable=True))
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    assert lane_marks(tmp_path, ["src/**"]) == (Mark("src", writable=True),)


def test_without_a_scope_everything_is_open_but_what_is_the_orchestrators(tmp_path: Path) -> None:
    for name in (".git/objects", ".treadle/protocols", "src"):
        (tmp_path / name).mkdir(parents=True)
    closed = [Mark(".git", writable=False), Mark(".treadle", writable=False)]
    assert list(lane_marks(tmp_path, None)) == [Mark("", writable=True), *closed]
