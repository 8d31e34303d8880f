"""Trees with files exchanged: the same that git makes of an index, and listed as git lists them."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.git.place import Stage, git, repository, run
from treadle.errors import PortError
from treadle.git.graft import grafted
from treadle.git.repository import Repository
from treadle.git.trees import Entry, Trees

FILES = {"top.py": "1\n", "a.b": "2\n", "a/b.py": "3\n", "a/deep/c.py": "4\n", "a/deep/er/d.py": "5\n", "ä/e.py": "6\n"}
PATHS = (*FILES, "new.py", "a/new.py", "b/c/new.py", "a-b", "a", "top.py/inside.py", "z\udcff.py")
WISHES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(("", "100644", "100755", "120000", "160000")))


async def made(tmp_path: Path) -> tuple[Repository, str, str]:
    stage = await Stage(repository(tmp_path, FILES)).start()
    [blob] = await stage.repository.keep([b"other\n"])
    return stage.repository, await stage.repository.tree(git(stage.root, "rev-parse", "HEAD")), blob


async def by_index(repository: Repository, index: Path, tree: str, files: dict[str, Entry | None]) -> str:
    """What git itself makes of the same wishes."""
    lines = [f"{one.mode} {one.id}\t{path}\0" if one else f"0 {'0' * 40}\t{path}\0" for path, one in files.items()]
    index.unlink(missing_ok=True)
    await repository.git("read-tree", tree, index=index)
    stdin = os.fsencode("".join(sorted(lines)))  # removals first, or a file would stand in a folder's way
    await repository.git("update-index", "-z", "--index-info", stdin=stdin, index=index)
    return (await repository.git("write-tree", "--missing-ok", index=index)).text


async def listed(repository: Repository, tree: str) -> set[tuple[str, str, str]]:
    words = os.fsdecode((await repository.git("ls-tree", "-r", "-z", tree)).out).split("\0")[:-1]
    heads = [(*line.partition("\t")[0].split(" "), line.partition("\t")[2]) for line in words]
    return {(mode, id_, path) for mode, _, id_, path in heads}


def test_it_is_the_tree_that_git_makes_of_an_index(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        repository, tree, blob = runner.run(made(tmp_path))
        trees = Trees(repository)

        async def story(files: dict[str, Entry | None]) -> None:
            found = await trees.changed(tree, files)
            assert found == await by_index(repository, tmp_path / "index", tree, files)
            entries = await trees.entries(found)
            assert {(one.mode, one.id, one.path) for one in entries} == await listed(repository, found)
            assert len(entries) == len({one.path for one in entries})

        @settings(max_examples=40, deadline=None)
        @given(WISHES)
        def check(wishes: dict[str, str]) -> None:
            above = {path for path in wishes for other in wishes if wishes[path] and other.startswith(f"{path}/")}
            kept = {path: mode for path, mode in wishes.items() if path not in above}
            runner.run(story({path: Entry(mode, blob, path) if mode else None for path, mode in kept.items()}))

        check()


@pytest.mark.parametrize("path", ["../x", "a//b", "./x", ".git/config", "a/.GIT/hooks", "", "a/"])
def test_what_is_no_path_of_a_file_is_refused(tmp_path: Path, path: str) -> None:
    async def story() -> None:
        repository, tree, blob = await made(tmp_path)
        with pytest.raises(PortError, match="git takes no file"):
            await grafted(repository, tree, {path: ("100644", blob)})

    run(story())


def test_of_a_tree_without_files_the_empty_one_is_left(tmp_path: Path) -> None:
    async def story() -> None:
        repository, tree, _ = await made(tmp_path)
        trees = Trees(repository)
        assert await trees.entries(await trees.changed(tree, dict.fromkeys(FILES))) == ()

    run(story())
