"""Many files of a tree at once: what they hold, and which of them hold a word."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.git.place import Stage, git, repository, run, write
from tests.refusals import refused
from treadle.git import trees as comparisons
from treadle.git.process import GitAnswer
from treadle.git.repository import Repository
from treadle.git.trees import TreeEntry, Trees, diff_trees, graft

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


def test_files_that_contain_a_word_are_listed_despite_their_attributes(tmp_path: Path) -> None:
    async def story() -> None:
        trees, commit = await made(tmp_path)
        assert sorted(await trees.holding(commit, "NotImplemented", ".py")) == ["src/späße/new module.py", "top.py"]
        assert await trees.holding(commit, "--not-a-word", ".py") == []

    run(story())


def test_many_files_are_read_at_once_and_folders_are_none(tmp_path: Path) -> None:
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


# Trees with files exchanged: the same that git makes of an index, and listed as git lists them.

GRAFT_FILES = {
    "top.py": "1\n",
    "a.b": "2\n",
    "a/b.py": "3\n",
    "a/deep/c.py": "4\n",
    "a/deep/er/d.py": "5\n",
    "ä/e.py": "6\n",
}
PATHS = (*GRAFT_FILES, "new.py", "a/new.py", "b/c/new.py", "a-b", "a", "top.py/inside.py", "z\udcff.py")
WISHES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(("", "100644", "100755", "120000", "160000")))


async def made_of_graft(tmp_path: Path) -> tuple[Repository, str, str]:
    stage = await Stage(repository(tmp_path, GRAFT_FILES)).start()
    [blob] = await stage.repository.keep([b"other\n"])
    return stage.repository, await stage.repository.tree(git(stage.root, "rev-parse", "HEAD")), blob


async def by_index(repository: Repository, index: Path, tree: str, files: dict[str, TreeEntry | None]) -> str:
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


def test_a_changed_tree_equals_the_tree_of_a_git_index(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        repository, tree, blob = runner.run(made_of_graft(tmp_path))
        trees = Trees(repository)

        async def story(files: dict[str, TreeEntry | None]) -> None:
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
            runner.run(story({path: TreeEntry(mode, blob, path) if mode else None for path, mode in kept.items()}))

        check()


@pytest.mark.parametrize("path", ["../x", "a//b", "./x", ".git/config", "a/.GIT/hooks", "", "a/"])
def test_an_invalid_path_is_refused(tmp_path: Path, path: str) -> None:
    async def story() -> None:
        repository, tree, blob = await made_of_graft(tmp_path)
        with refused("git.no_object", f" {path!r}"):
            await graft(repository, tree, {path: ("100644", blob)})

    run(story())


def test_removing_all_files_leaves_the_empty_tree(tmp_path: Path) -> None:
    async def story() -> None:
        repository, tree, _ = await made_of_graft(tmp_path)
        trees = Trees(repository)
        assert await trees.entries(await trees.changed(tree, dict.fromkeys(GRAFT_FILES))) == ()

    run(story())


# How trees differ is asked once, and not all of it is kept for ever.

RAW = ("-r", "--name-only")


async def commits(root: Path, count: int) -> list[str]:
    found = []
    for n in range(count):
        write(root, {f"{n}.txt": f"{n}\n"})
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", str(n))
        found.append(git(root, "rev-parse", "HEAD"))
    return found


@pytest.mark.parametrize(("most", "largest", "asked"), [(200, 4_000_000, 2), (1, 4_000_000, 3), (200, 6, 3)])
def test_the_latest_answers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, largest: int, asked: int
) -> None:
    monkeypatch.setattr(comparisons, "_MOST", most)
    monkeypatch.setattr(comparisons, "_LARGEST", largest)

    async def story() -> None:
        there = (await Stage(repository(tmp_path)).start()).repository
        one, two, three = await commits(there.root, 3)
        questions = []
        real = there.git

        async def noted(*words: str) -> GitAnswer:
            questions.append(words)
            return await real(*words)

        monkeypatch.setattr(there, "git", noted)
        for _ in range(2):
            assert await diff_trees(there, RAW, one, two) == b"1.txt\n"
        assert await diff_trees(there, RAW, two, three) == b"2.txt\n"
        assert await diff_trees(there, RAW, one, two) == b"1.txt\n"
        assert len(questions) == asked

    run(story())
