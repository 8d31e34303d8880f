"""What of the user's repository is not as it was."""

import os
from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.git.bystanders import Bystanders, changed


def test_branches_settings_hooks_and_the_projects_setup_are_watched(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n", ".treadle/overlays/v3.yaml": "x: 1\n"})
        git(root, "tag", "old")
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        before = await watch.look()
        await stage.work({"a.txt": "b\n"})
        write(root, {".treadle/local/note": "ours\n"})
        assert changed(before, await watch.look()) == (), "what runs do is no news"

        git(root, "tag", "-d", "old")
        git(root, "branch", "other")
        git(root, "config", "core.hooksPath", "/nowhere")
        write(root, {".git/hooks/pre-push": "true\n", ".treadle/overlays/v3.yaml": "x: 2\n", "treadle.toml": ""})
        assert changed(before, await watch.look()) == (
            ".git/config was changed",
            ".git/hooks/pre-push was added",
            ".treadle/overlays/v3.yaml was changed",
            "refs/heads/other was added",
            "refs/tags/old was removed",
            "treadle.toml was added",
        )

    run(story())


def test_the_users_own_files_are_told_in_one_line(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n", "gone.txt": "g\n", "odd name.txt": "o\n", ".gitignore": "build\n"})
        write(root, {"a.txt": "the user works, too\n"})
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        before = await watch.look()
        assert changed(before, await watch.look()) == ()
        (root / "gone.txt").unlink()
        write(root, {"a.txt": "and works on\n", "odd name.txt": "x\n", "new/ü.txt": "n\n", "build/x": "ignored\n"})
        told = ("the files a.txt, gone.txt, new/ü.txt and 1 more were changed",)
        assert changed(before, await watch.look()) == told

    run(story())


def test_the_file_that_we_are_told_to_write_to_is_no_news(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        with (root / "log.txt").open("wb") as log, capfd.disabled():
            screen = os.dup(1)
            os.dup2(log.fileno(), 1)
            try:
                before = await watch.look()
                os.write(1, b"a line\n")
                write(root, {"other.txt": "x\n"})
                after = await watch.look()
            finally:
                os.dup2(screen, 1)
                os.close(screen)
        assert (root / "log.txt").read_text() == "a line\n"
        assert changed(before, after) == ("the files other.txt were changed",)

    run(story())


def test_what_was_changed_while_an_activity_worked_is_recorded_with_its_work(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/app.py": "x = 1\n"})
        git(lane.path / "../../../..", "branch", "other")

        recorded = await stage.lanes.record(RUN, job.id, at=0)

        assert recorded.around == ("refs/heads/other was added",)
        await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert (await stage.lanes.record(RUN, "root:impl#1.2", at=0)).around == ()

    run(story())


def test_neither_a_forged_note_nor_a_filter_in_our_folder_changes_what_is_recorded(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/app.py": "x = 1\n"})
        note = lane.path.with_suffix(".json")
        forged = git(root, "commit-tree", "-m", "forged", "main^{tree}")
        note.write_text(note.read_text().replace(lane.base, forged))
        own = stage.repository.own
        (own / "info" / "attributes").write_text("* filter=bend\n")
        with (own / "config").open("a") as config:
            config.write('[filter "bend"]\n\tclean = echo bent\n')

        recorded = await stage.lanes.record(RUN, job.id, at=0)

        assert (recorded.base, recorded.paths) == (lane.base, ("src/app.py",))
        assert git(root, "show", f"{recorded.commit}:src/app.py") == "x = 1"

    run(story())


def test_what_runs_write_themselves_is_no_news(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n"})
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        watch.made.add("memory-bank/progress.md")
        before = await watch.look()
        write(root, {"memory-bank/progress.md": "ours\n"})
        assert changed(before, await watch.look()) == ()
        write(root, {"memory-bank/mine.md": "a person's\n"})
        assert changed(before, await watch.look()) == ("the files memory-bank/mine.md were changed",)

    run(story())
