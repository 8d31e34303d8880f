"""Many files of a tree at once: what they hold, and which of them hold a word."""

from pathlib import Path

import pytest

from tests.git.place import Stage, git, repository, run
from treadle.git.trees import Trees

FILES = {
    "top.py": "raise NotImplementedError\n",
    "src/späße/new module.py": "x = NotImplemented\n",
    "src/done.py": "x = 1\n",
    "src/notes.txt": "NotImplemented\n",
    ".gitattributes": "*.py binary diff=odd\n",
}


async def made(tmp_path: Path) -> tuple[Trees, str]:
    root = repository(tmp_path, FILES)
    (root / "link.py").symlink_to("top.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "a link")
    stage = await Stage(root).start()
    return Trees(stage.repository), git(root, "rev-parse", "HEAD")


def test_files_that_hold_a_word_are_found_by_name_whatever_their_attributes_say(tmp_path: Path) -> None:
    async def story() -> None:
        trees, commit = await made(tmp_path)
        assert sorted(await trees.holding(commit, "NotImplemented", ".py")) == ["src/späße/new module.py", "top.py"]
        assert await trees.holding(commit, "--not-a-word", ".py") == []

    run(story())


def test_many_files_are_read_at_once_and_what_is_none_has_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        trees, commit = await made(tmp_path)
        found = await trees.shows(commit, ["top.py", "link.py", "src", "gone.py"])
        assert found == {"top.py": FILES["top.py"].encode(), "link.py": b"top.py", "src": None, "gone.py": None}

    run(story())


def test_listings_are_kept_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        trees, commit = await made(tmp_path)
        tree = git(tmp_path / "repo", "rev-parse", f"{commit}^{{tree}}")
        first = await trees.listing(commit)
        assert await trees.listing(tree) is first
        inner = [git(tmp_path / "repo", "rev-parse", f"{commit}:{path}") for path in ("src", "src/späße")]
        monkeypatch.setattr("treadle.git.trees._AT_LEAST", 1)
        for one in inner:
            await trees.listing(one)
        assert await trees.listing(tree) is first, "small ones are all kept"
        monkeypatch.setattr("treadle.git.trees._REMEMBERED", len(first.entries))
        await trees.listing(inner[0])
        assert await trees.listing(tree) is not first

    run(story())
