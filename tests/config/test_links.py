"""Paths that links lead astray."""

from pathlib import Path

import pytest

from treadle.config.links import links_of
from treadle.config.project import Project


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
def test_a_path_that_leads_astray(path: str, fault: str, tmp_path: Path) -> None:
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
    said = links_of(Project(root))(path)
    assert fault.format(outside=tmp_path) in said
    assert bool(said) == bool(fault)


def test_a_project_that_is_reached_by_a_link_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert not links_of(Project(tmp_path / "link"))("src/x")
