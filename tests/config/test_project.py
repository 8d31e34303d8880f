import subprocess
from pathlib import Path

import pytest

from treadle.config.project import Project, find_project, make_local, open_project, owner_of
from treadle.errors import TreadleError


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("mark", [".treadle/", "treadle.toml", ".git/"])
def test_the_nearest_marked_folder_is_the_project(tmp_path: Path, mark: str) -> None:
    git(tmp_path, "init", "-q")
    inner = tmp_path / "part"
    (inner / "deep" / "er").mkdir(parents=True)
    if mark.endswith("/"):
        (inner / mark).mkdir()
    else:
        (inner / mark).touch()
    assert find_project(inner / "deep" / "er") == Project(inner)
    assert find_project(tmp_path) == Project(tmp_path)


def test_a_worktree_of_git_is_a_project_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert find_project(tmp_path) == Project(tmp_path)


def test_outside_of_a_repository_folders_above_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").touch()
    (tmp_path / "below").mkdir()
    assert find_project(tmp_path / "below") is None
    assert find_project(tmp_path) == Project(tmp_path)
    with pytest.raises(TreadleError, match=r"is not in a project; `git init`"):
        open_project(tmp_path / "below")


def test_the_current_folder_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(TreadleError, match="the current folder is gone"):
        find_project()


def test_git_does_not_see_what_is_local(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    project = Project(tmp_path)
    assert make_local(project) == project.local == make_local(project)
    project.runs.mkdir()
    (project.runs / "file").touch()
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=all") == ""
    project.protocols.mkdir()
    (project.protocols / "own.yaml").touch()
    assert ".treadle/protocols/own.yaml" in git(tmp_path, "status", "--porcelain", "--untracked-files=all")


def test_what_a_person_wrote_into_the_ignore_file_stays(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.local.mkdir(parents=True)
    (project.local / ".gitignore").write_text("mine\n")
    make_local(project)
    assert (project.local / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("link", [".treadle", ".treadle/local"])
def test_no_link_leads_out(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    with pytest.raises(TreadleError, match="is a link"):
        make_local(Project(root))
    assert list(outside.iterdir()) == []


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".treadle").touch()
    with pytest.raises(TreadleError, match="cannot be made"):
        make_local(Project(tmp_path))


def test_a_lane_belongs_to_the_project_around_it(tmp_path: Path) -> None:
    lane = Project(tmp_path).worktrees / "lane-1"
    (lane / "src").mkdir(parents=True)
    (lane / ".git").mkdir()
    (tmp_path / ".git").mkdir()
    for folder in (lane, lane / "src", tmp_path, tmp_path / ".treadle"):
        assert owner_of(folder) == Project(tmp_path)
    assert find_project(lane / "src") == Project(lane), "to everybody else a lane is a repository like any other"
    assert open_project(lane / "src") == Project(tmp_path), "but its runs are those of the project"
    (lane / "inner" / ".git").mkdir(parents=True)
    assert open_project(lane / "inner") == Project(lane / "inner"), "as long as it is not another project inside"


def test_nobodys_folder_belongs_to_no_project(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
