"""Where a project is, links in its paths, and projects by name."""

import subprocess
from pathlib import Path

import pytest

from treadle.config.project import Project, find_project, link_checker, make_local, open_project, owner_of
from treadle.config.projects import Projects
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


def test_outside_of_a_repository_the_folders_above_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").touch()
    (tmp_path / "below").mkdir()
    assert find_project(tmp_path / "below") is None
    assert find_project(tmp_path) == Project(tmp_path)
    with pytest.raises(TreadleError, check=lambda error: error.code == "project.missing"):
        open_project(tmp_path / "below")


def test_the_current_folder_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(TreadleError, check=lambda error: error.code == "project.gone"):
        find_project()


def test_git_does_not_see_local_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    project = Project(tmp_path)
    assert make_local(project) == project.local == make_local(project)
    project.runs.mkdir()
    (project.runs / "file").touch()
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=all") == ""
    project.protocols.mkdir()
    (project.protocols / "own.yaml").touch()
    assert ".treadle/protocols/own.yaml" in git(tmp_path, "status", "--porcelain", "--untracked-files=all")


def test_a_persons_own_ignore_file_stays(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.local.mkdir(parents=True)
    (project.local / ".gitignore").write_text("mine\n")
    make_local(project)
    assert (project.local / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("link", [".treadle", ".treadle/local"])
def test_a_link_in_place_of_the_local_folder_is_refused(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    with pytest.raises(TreadleError, check=lambda error: error.code == "file.link"):
        make_local(Project(root))
    assert list(outside.iterdir()) == []


def test_a_file_in_place_of_the_treadle_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".treadle").touch()
    with pytest.raises(TreadleError, check=lambda error: error.code == "file.unwritable"):
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


def test_a_folder_without_an_owner_belongs_to_no_project(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("src/plain/x", ""),
        ("src/not/there", ""),
        ("src/inner/x", ""),
        ("src/out", "src/out is a link to /"),
        ("src/out/x/y", "leads out of the repository: src/out is a link to {outside}; name a folder inside"),
        ("src/twice/x", "leads out of the repository: src/twice is a link to "),
        ("src/own/hooks", "leads through a link to .git/hooks, which lies inside .git"),
        ("src/round/x", ""),
    ],
)
def test_a_link_out_of_the_repository_is_a_fault(path: str, fault: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src" / "plain").mkdir(parents=True)
    (root / ".git").mkdir()
    links: dict[str, str | Path] = {
        "out": tmp_path,
        "twice": "out",
        "inner": "plain",
        "own": "../.git",
        "round": "round",
    }
    for name, target in links.items():
        (root / "src" / name).symlink_to(target)
    said = link_checker(Project(root))(path)
    assert fault.format(outside=tmp_path) in said
    assert bool(said) == bool(fault)


def test_a_project_behind_a_link_is_not_outside(tmp_path: Path) -> None:
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert not link_checker(Project(tmp_path / "link"))("src/x")


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    for name in ("a", "b"):
        (tmp_path / name / ".git").mkdir(parents=True)
    return Projects({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def test_a_project_is_known_by_its_name_until_it_is_removed(projects: Projects, tmp_path: Path) -> None:
    assert projects.all() == {}
    projects.add("cart-app", Project(tmp_path / "a"))
    projects.add("the.other", Project(tmp_path / "b"))
    assert projects.all() == {"cart-app": tmp_path / "a", "the.other": tmp_path / "b"}
    assert projects.project("the.other").root == tmp_path / "b"
    assert projects.name_of(Project(tmp_path / "a")) == "cart-app"
    assert projects.remove("cart-app") == tmp_path / "a"
    assert projects.name_of(Project(tmp_path / "a")) == "a", "the folder's own name"
    assert (tmp_path / "a").is_dir()


def test_a_name_stands_for_one_folder(projects: Projects, tmp_path: Path) -> None:
    projects.add("cart", Project(tmp_path / "a"))
    projects.add("Cart", Project(tmp_path / "a"))
    assert list(projects.all()) == ["Cart"], "it can be written in another way"
    with pytest.raises(TreadleError, check=lambda error: error.code == "project.name"):
        projects.add("cart", Project(tmp_path / "b"))


def test_mistakes_about_projects_have_their_codes(projects: Projects, tmp_path: Path) -> None:
    projects.add("cart", Project(tmp_path / "a"))
    with pytest.raises(TreadleError, match="'cart'", check=lambda error: error.code == "project.unknown"):
        projects.project("crat")
    with pytest.raises(TreadleError, match="'cart'", check=lambda error: error.code == "project.unknown"):
        projects.remove("crat")
    with pytest.raises(TreadleError, check=lambda error: error.code == "project.name"):
        projects.add("../x", Project(tmp_path / "b"))
    (tmp_path / "a" / ".git").rmdir()
    with pytest.raises(TreadleError, check=lambda error: error.code == "project.gone"):
        projects.project("cart")


@pytest.mark.parametrize("text", ["cart = ", "cart = 3", 'cart = "relative"', '"a b" = "/x"', "[cart]\nx = 1"])
def test_a_broken_registry_is_an_error(projects: Projects, text: str) -> None:
    projects.path.parent.mkdir(parents=True)
    projects.path.write_text(text)
    with pytest.raises(TreadleError, match=r"projects\.toml", check=lambda error: error.code == "project.registry"):
        projects.all()


def test_a_folder_with_quotes_in_its_name(projects: Projects, tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" \\c ü'
    (odd / ".git").mkdir(parents=True)
    projects.add("odd", Project(odd))
    assert projects.project("odd").root == odd
