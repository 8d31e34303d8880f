"""What `treadle status` says about the files of a story that somebody has changed."""

import json
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.git.place import repository, write
from tests.runtime.test_story_files import Backlog
from tests.views.storied import STATE, waterfall
from treadle.store.sqlite import Store


class Project(Backlog):
    """A project whose runs lie where the command line finds them."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ".treadle" / "local"
        self.folder.mkdir(parents=True)
        self.root, self.store = root, Store(self.folder / "store.db", create=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = repository(tmp_path)
    monkeypatch.chdir(root)
    found = Project(root)
    found.begin()
    found.story_files().show(waterfall())
    return found


def test_unchanged_files_are_not_reported(here: Project) -> None:
    assert STATE not in treadle("status").out
    assert treadle("status", "one", "--json").json()["edited"] == []
    assert here.state()["status"] == "running"


def test_a_changed_work_order_is_shown_and_not_obeyed(here: Project) -> None:
    (here.root / STATE).write_text(here.text(STATE).replace('"running"', '"passing"'))
    told = f'{STATE} differs from what Treadle wrote (status "passing", not "running"): Treadle ignores the changes'
    assert told in treadle("status").out
    assert treadle("status", "one", "--json").json()["edited"] == [told]
    assert "root/US-1:bdd" not in here.text(STATE)
    assert here.state()["status"] == "passing", "looking changes nothing"


@pytest.mark.parametrize("text", ["", "{", "\t", "[1, 2]"])
def test_a_broken_work_order_is_shown_in_the_status(here: Project, text: str) -> None:
    (here.root / STATE).write_text(text)
    found = treadle("status")
    assert found.code == 0
    assert found.lacks(f"{STATE} differs ", "not a JSON") == []


def test_the_copy_of_a_changed_work_order_is_named_after_the_run_has_moved_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    agents = {"agents": [{"turns": [{"exit": {"type": "needs_human", "question": "Which?"}}]}]}
    story = {"id": "US-1", "title": "Coupons", "description": "As a customer I want coupons."}
    write(root, {"agents.yaml": json.dumps(agents), "backlog.yaml": json.dumps({"project": "p", "stories": [story]})})
    write(root, {"treadle.toml": '[toolchain]\nkind = "pytest"\n', STATE: '{"status": "done"}'})
    asked = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:agents.yaml")
    assert asked.code == 3, asked.err
    said = treadle("status").out
    assert f"{STATE} differs " in said
    assert " .treadle/local/kept/.ai/STATE.json~" in said
    assert '"status": "needs_human"' in (root / STATE).read_text()
