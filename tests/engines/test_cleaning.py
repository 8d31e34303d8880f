"""Files of runs are removed only inside the project, and only those of runs that have ended."""

from pathlib import Path

import msgspec
import pytest

from tests.recorded import record
from tests.refusals import refused
from tests.store.runs import record as run_record
from treadle.config.project import Project
from treadle.engines.gc import clean_runs, remove_activity_folders
from treadle.store.sqlite import Store


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".treadle" / "local" / "runs").mkdir(parents=True)
    return Project(tmp_path)


def fill(folder: Path) -> None:
    (folder / "acts" / "a").mkdir(parents=True)
    (folder / "acts" / "a" / "prompt.md").write_text("12345", encoding="utf-8")


def test_the_size_of_removed_folders_is_returned(project: Project) -> None:
    fill(project.runs / "r")
    assert remove_activity_folders(project, "r", True) == 5
    assert (project.runs / "r").exists()
    assert remove_activity_folders(project, "r", False) == 5
    assert not (project.runs / "r").exists()
    assert remove_activity_folders(project, "r", False) == 0


@pytest.mark.parametrize("name", ["..", ".", "../outside", "a/b", ""])
def test_no_name_leads_out_of_the_folder(name: str, project: Project) -> None:
    fill(project.local / "outside")
    fill(project.runs / "a" / "b")
    assert remove_activity_folders(project, name, False) == 0
    assert (project.local / "outside" / "acts").exists()
    assert (project.runs / "a" / "b" / "acts").exists()


def test_links_are_not_followed(project: Project, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    fill(precious)
    (project.runs / "r").symlink_to(precious)
    assert remove_activity_folders(project, "r", False) == 0
    fill(project.runs / "s")
    (project.runs / "s" / "acts" / "link").symlink_to(precious)
    remove_activity_folders(project, "s", False)
    assert not (project.runs / "s").exists()
    assert (precious / "acts" / "a" / "prompt.md").exists()


def test_a_folder_that_an_agent_has_locked_goes_too(project: Project) -> None:
    fill(project.runs / "r")
    (project.runs / "r" / "acts" / "a").chmod(0)
    remove_activity_folders(project, "r", False)
    assert not (project.runs / "r").exists()


def test_unfinished_runs_keep_their_files(tmp_path: Path) -> None:
    record(tmp_path, refuses=99, stops=0)
    project = Project(tmp_path)
    store = Store(project.store)
    cleaned = clean_runs(project, store, store.runs(), dry=False)
    assert (cleaned.freed.runs, cleaned.files) == ((), 0)
    assert (project.runs / "r" / "acts").exists()
    store.close()


def test_a_linked_folder_is_refused(project: Project, tmp_path: Path) -> None:
    Store(project.store, create=True).close()
    project.local.rename(tmp_path / "elsewhere")
    project.local.symlink_to(tmp_path / "elsewhere")
    store = Store(project.store)
    with refused("file.link", str(project.local)):
        clean_runs(project, store, [msgspec.structs.replace(run_record(), outcome="Done")], dry=False)
    store.close()
