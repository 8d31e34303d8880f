"""Clean checkouts for checks."""

import asyncio
from pathlib import Path

from tests.git.place import FILES, Stage, git, repository, run, write
from treadle.git.checkout import Checkouts, Overlay
from treadle.git.trees import Trees


async def opened(tmp_path: Path) -> tuple[Stage, Checkouts]:
    stage = await Stage(repository(tmp_path)).start()
    return stage, Checkouts(stage.repository, stage.recorder, stage.project.worktrees)


def test_a_checkout_is_the_commit_and_is_clean_the_next_time(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened(tmp_path)
        head = git(stage.root, "rev-parse", "HEAD")
        async with checkouts.clean(head) as path:
            assert (path / "src/app.py").read_text() == FILES["src/app.py"]
            write(path, {"build/x": "x", "src/app.py": "bent\n", "__pycache__/y": "y"})
            first = path
        async with checkouts.clean(head) as path:
            assert path == first
            assert sorted(one.name for one in path.iterdir()) == [".git", "README.md", "src", "tests"]
            assert (path / "src/app.py").read_text() == FILES["src/app.py"]
            assert git(path, "rev-parse", "HEAD") == head

    run(story())


def test_checkouts_at_once_are_apart(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened(tmp_path)
        other = Checkouts(stage.repository, stage.recorder, stage.project.worktrees)
        one = git(stage.root, "rev-parse", "HEAD")
        two = await stage.work({"README.md": "second\n"})
        met = asyncio.Barrier(3)

        async def look(with_: Checkouts, commit: str) -> tuple[Path, str]:
            async with with_.clean(commit) as path:
                await met.wait()
                return path, (path / "README.md").read_text()

        seen = await asyncio.gather(look(checkouts, one), look(other, two), look(checkouts, two))
        assert len({path for path, _ in seen}) == 3
        assert [text for _, text in seen] == ["read me\n", "second\n", "second\n"]

    run(story())


def test_frozen_tests_are_laid_over(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened(tmp_path)
        frozen = await stage.work({"tests/test_app.py": "assert f() == 2\n"}, step="tests")
        bent = await stage.work({"tests/test_app.py": "pass\n", "tests/conftest.py": "bend()\n", "src/x.py": "x\n"})
        async with checkouts.clean(bent, Overlay(frozen, ("tests/**",))) as path:
            assert (path / "tests/test_app.py").read_text() == "assert f() == 2\n"
            assert not (path / "tests/conftest.py").exists()
            assert (path / "src/x.py").exists()

    run(story())


def test_the_digest_of_globs_tells_exactly_whether_they_changed(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _ = await opened(tmp_path)
        trees = Trees(stage.repository)
        head = git(stage.root, "rev-parse", "HEAD")
        one = await stage.work({"src/app.py": "other\n"}, n="1.1")
        two = await stage.work({"tests/test_app.py": "other\n"}, n="2.1")
        digests = [await trees.digest(commit, ("tests/**",)) for commit in (head, one, two)]
        assert digests[0] == digests[1] != digests[2]
        assert await trees.digest(head, ("nothing/**",)) != digests[0]

    run(story())


def test_a_diff_is_text_and_is_bounded(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _ = await opened(tmp_path)
        head = git(stage.root, "rev-parse", "HEAD")
        one = await stage.work({"src/app.py": "other\n" * 100})
        text = await Trees(stage.repository).diff(head, one)
        assert "+other" in text
        cut = await Trees(stage.repository).diff(head, one, most=100)
        assert cut.startswith(text[:100])
        assert "cut: the diff has" in cut
        assert await stage.repository.show(one, "src/app.py") == b"other\n" * 100
        assert await stage.repository.show(one, "src/none.py") is None

    run(story())
