from pathlib import Path

import pytest

from tests.git.place import git, repository, run
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git.in_the_way import places, refuse_what_is_in_the_way
from treadle.git.refs import Refs
from treadle.git.repository import open_repository


def test_places() -> None:
    assert places("a/b") == ("refs/heads/a", "refs/heads/a/b", "refs/treadle")


@pytest.mark.parametrize(
    ("ref", "prefix", "expected"),
    [
        ("refs/heads/treadle", "treadle", "the branch treadle is in the way of the branches of runs, treadle/…: git "),
        ("refs/heads/bots", "bots/treadle", "the branch bots is in the way of the branches of runs, bots/treadle/…"),
        ("refs/heads/bots/treadle", "bots/treadle", "the branch bots/treadle is in the way"),
        ("refs/treadle", "bots", "the ref refs/treadle is in the way .* `git update-ref -d refs/treadle`"),
        ("refs/heads/treadle/other", "treadle", ""),
        ("refs/heads/treadle-x", "treadle", ""),
        ("refs/tags/treadle", "treadle", ""),
        ("refs/heads/treadle", "bots", ""),
    ],
)
def test_a_branch_where_runs_have_theirs_is_named(tmp_path: Path, ref: str, prefix: str, expected: str) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        git(root, "update-ref", ref, "HEAD")
        project = Project(root)
        make_local(project)
        refs = Refs(await open_repository(project))
        if not expected:
            await refuse_what_is_in_the_way(refs, prefix)
            return
        with pytest.raises(PortError, match=expected) as caught:
            await refuse_what_is_in_the_way(refs, prefix)
        assert "git.branch_prefix" in str(caught.value) or ref == "refs/treadle"

    run(story())
