"""Projects by name."""

from pathlib import Path

import pytest

from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.errors import TreadleError


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    for name in ("a", "b"):
        (tmp_path / name / ".git").mkdir(parents=True)
    return Projects({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def test_a_project_is_found_by_its_name_until_it_is_forgotten(projects: Projects, tmp_path: Path) -> None:
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
    with pytest.raises(TreadleError, match=r"Cart is .*/a already; choose another --name"):
        projects.add("cart", Project(tmp_path / "b"))


def test_what_is_wrong_is_told_with_what_to_do(projects: Projects, tmp_path: Path) -> None:
    projects.add("cart", Project(tmp_path / "a"))
    with pytest.raises(TreadleError, match=r"there is no project 'crat'; did you mean 'cart'\?"):
        projects.project("crat")
    with pytest.raises(TreadleError, match="did you mean 'cart'"):
        projects.remove("crat")
    with pytest.raises(TreadleError, match="cannot be a project's name"):
        projects.add("../x", Project(tmp_path / "b"))
    (tmp_path / "a" / ".git").rmdir()
    with pytest.raises(TreadleError, match="is no project"):
        projects.project("cart")


@pytest.mark.parametrize("text", ["cart = ", "cart = 3", 'cart = "relative"', '"a b" = "/x"', "[cart]\nx = 1"])
def test_a_file_that_somebody_has_broken_is_told(projects: Projects, text: str) -> None:
    projects.path.parent.mkdir(parents=True)
    projects.path.write_text(text)
    with pytest.raises(TreadleError, match=r"projects\.toml: .*a line is NAME = "):
        projects.all()


def test_a_folder_with_quotes_in_its_name(projects: Projects, tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" \\c ü'
    (odd / ".git").mkdir(parents=True)
    projects.add("odd", Project(odd))
    assert projects.project("odd").root == odd
