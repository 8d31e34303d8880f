"""Documents reach the user's tree, and nothing that a person wrote is lost there."""

from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.errors import PortError
from treadle.git.publish import Published, Publishing

BANK = {"memory-bank/plan.md": "one\n", "memory-bank/deep/state.md": "s\n", "README.md": "from the run\n"}
PATHS = [*BANK, "memory-bank/none.md"]


async def publish(stage: Stage, paths: list[str] | None = None) -> Published:
    return await Publishing(stage.integration).publish(stage.state, "root", PATHS if paths is None else paths)


def test_files_are_written_as_the_run_has_them_and_nothing_else_is_touched(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        index, head = (stage.root / ".git/index").read_bytes(), git(stage.root, "rev-parse", "HEAD")
        commit = await stage.work({**BANK, "src/app.py": "changed\n"})
        done = await publish(stage)
        assert done == Published(commit, tuple(sorted(BANK, key=PATHS.index)))
        assert {path: (stage.root / path).read_text() for path in BANK} == BANK
        assert (stage.root / "src/app.py").read_text() != "changed\n"
        assert ((stage.root / ".git/index").read_bytes(), git(stage.root, "rev-parse", "HEAD")) == (index, head)
        assert not list(stage.root.glob("**/.*.md.*"))
        assert await publish(stage) == done, "done already"

    run(story())


def test_the_next_text_replaces_the_last_and_a_persons_stays(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work(BANK)
        await publish(stage)
        write(stage.root, {"README.md": "by hand\n"})
        await stage.work({"memory-bank/plan.md": "two\n", "README.md": "later\n"}, n="2.1")
        done = await publish(stage)
        assert done.kept == ("README.md",)
        assert (stage.root / "README.md").read_text() == "by hand\n"
        assert (stage.root / "memory-bank/plan.md").read_text() == "two\n"

    run(story())


def test_no_link_is_followed_and_git_is_out_of_reach(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        outside = tmp_path / "outside"
        outside.mkdir()
        (stage.root / "memory-bank").symlink_to(outside)
        (stage.root / "README.md").unlink()
        (stage.root / "README.md").symlink_to(outside / "readme")
        await stage.work(BANK)
        done = await publish(stage, [*PATHS, ".git/hooks/pre-commit", "../escape", "/tmp/escape"])
        assert (done.files, set(done.kept)) == ((), set(BANK))
        assert list(outside.iterdir()) == []

    run(story())


def test_a_bare_repository_has_no_files_to_publish(tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path)), str(bare))

    async def story() -> None:
        stage = await Stage(bare).start()
        await stage.integration.begin(RUN)
        with pytest.raises(PortError, match="the repository is bare"):
            await publish(stage)

    run(story())
