"""The files of a run's stories: true after every event, and nothing of anybody else's is lost."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.test_view_files import Place
from tests.views.storied import HANDOFF, HISTORY, STATE, waterfall
from treadle.kernel.events import Envelope, Exited, RunStarted, Signalled
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.protocol.load import load
from treadle.runtime.placed_files import KEPT
from treadle.runtime.story_files import StoryFiles
from treadle.runtime.view_files import GrowingLog
from treadle.store.records import Run

WATERFALL = waterfall()
STORY = {"id": "US-1", "title": "Coupons", "description": "…"}


class Backlog(Place):
    """A project with runs of stories, of which nothing happens but what a test says."""

    def begin(self, id_: str = "one", created: int = 1) -> None:
        put = self.store.payloads.put
        story = Item("US-1", put(dict(STORY)), {"blocked_by": ()})
        given = Item("root", put({"project": "cart-app", "stories": [dict(STORY)]}), {"stories": (story,)})
        start = RunStarted(id="start", ts=created, run=id_, protocol=digest(WATERFALL), input=given)
        run = Run(
            id=id_, name=id_, protocol="", settings=self.settings, created=created, changed=created,
            seq=0, acts=0, asks=0, outcome="", owner="",
        )  # fmt: skip
        self.store.create(run, WATERFALL, start)
        self.happens(id_, start)

    def asks_for_a_person(self, id_: str = "one") -> None:
        ref = self.store.payloads.put({"question": "Which?", "handoff": "my words"})
        envelope = Envelope("needs_human", "", {}, ref)
        self.happens(id_, Exited(id="x", ts=5000, act="root/US-1:bdd#1.1", envelope=envelope))

    def story_files(self, id_: str = "one") -> StoryFiles:
        return StoryFiles(GrowingLog(self.store, id_), self.folder / "runs" / id_, self.root, self.folder)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text(STATE))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Backlog]:
    found = Backlog(tmp_path)
    yield found
    found.store.close()


def test_story_files_are_true_after_every_event(place: Backlog) -> None:
    place.begin()
    files = place.story_files()
    assert files.show(WATERFALL) == []
    assert (place.state()["step"], place.state()["status"]) == ("bdd", "running")
    assert not (place.root / HANDOFF).exists()
    place.asks_for_a_person()
    assert files.show(WATERFALL) == []
    assert place.state()["status"] == "needs_human"
    assert "my words" in place.text(HANDOFF)
    assert place.text(HANDOFF) == place.text(".ai/handoff/US-1.md")
    assert place.text(HISTORY).startswith("# History\n")
    copies = place.folder / "runs/one/files"
    assert (copies / STATE).read_text() == place.text(STATE)
    assert place.story_files().show(WATERFALL) == [], "another process finds its own"


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        ('{"status": "pass"}', 'project missing, not "cart-app", story missing, not "US-1"'),
        ("{broken", "it is not a JSON object any more: "),
        ('"a text"', "it is not a JSON object any more: "),
        (b"\xff\xfe", "it is no"),
    ],
)
def test_a_changed_work_order_is_reported_kept_and_not_obeyed(place: Backlog, edited: str | bytes, told: str) -> None:
    place.begin()
    files = place.story_files()
    files.show(WATERFALL)
    data = edited if isinstance(edited, bytes) else edited.encode()
    (place.root / STATE).write_bytes(data)
    assert told in place.story_files().changed(WATERFALL)[0], "whoever looks is told before the run moves"
    assert (place.root / STATE).read_bytes() == data, "looking changes nothing"
    place.asks_for_a_person()
    said = files.show(WATERFALL)
    assert len(said) == 1
    assert said[0].startswith(f"{STATE} differs ")
    assert told in said[0]
    assert place.state()["status"] == "needs_human"
    (kept,) = (place.folder / KEPT / ".ai").iterdir()
    assert kept.read_bytes() == data
    assert str(kept) in said[0]
    assert files.show(WATERFALL) == []


def test_a_changed_field_is_named(place: Backlog) -> None:
    place.begin()
    files = place.story_files()
    files.show(WATERFALL)
    (place.root / STATE).write_text(place.text(STATE).replace('"running"', '"done"'))
    (change,) = files.changed(WATERFALL)
    assert change.startswith(f"{STATE} differs ")
    assert '(status "done", not "running")' in change
    assert len(files.show(WATERFALL)) == 1, "also if the run has not moved since"
    assert place.state()["status"] == "running"


def test_files_of_another_orchestrator_are_kept(place: Backlog) -> None:
    (place.root / ".ai").mkdir()
    (place.root / STATE).write_text('{"project": "cart-app", "story": "US-0", "step": "done", "status": "pass"}')
    (place.root / HANDOFF).write_text("# their notes\n")
    place.begin()
    files = place.story_files()
    assert len(files.show(WATERFALL)) == 1
    assert place.text(HANDOFF) == "# their notes\n", "nobody has worked yet"
    place.asks_for_a_person()
    assert len(files.show(WATERFALL)) == 1
    kept = sorted((place.folder / KEPT / ".ai").iterdir())
    assert [path.name.partition("~")[0] for path in kept] == ["HANDOFF.md", "STATE.json"]
    assert kept[0].read_text() == "# their notes\n"


def test_a_file_that_is_gone_is_made_again(place: Backlog) -> None:
    place.begin()
    files = place.story_files()
    files.show(WATERFALL)
    (place.root / STATE).unlink()
    assert files.changed(WATERFALL) == []
    assert files.show(WATERFALL) == []
    assert place.state()["status"] == "running"


def test_no_link_is_followed(place: Backlog) -> None:
    outside = place.folder / "outside"
    outside.mkdir()
    (place.root / ".ai").symlink_to(outside)
    place.begin()
    told = place.story_files().show(WATERFALL)
    assert [line.startswith(f"{STATE} cannot be written") for line in told] == [True]
    assert list(outside.iterdir()) == []
    assert (place.folder / "runs/one/files" / STATE).is_file()


def test_the_checkout_shows_the_latest_run_that_goes_on(place: Backlog) -> None:
    place.begin("one", created=1)
    place.asks_for_a_person("one")
    place.story_files("one").show(WATERFALL)
    place.begin("two", created=2)
    assert place.story_files("two").show(WATERFALL) == []
    assert place.state()["status"] == "running"
    assert "run one" in place.text(HISTORY)
    place.story_files("one").show(WATERFALL)
    assert place.state()["status"] == "running"
    place.asks_for_a_person("two")
    place.story_files("two").show(WATERFALL)
    history = place.text(HISTORY)
    assert history.index("run two") < history.index("run one")


def test_a_run_that_ends_leaves_the_checkout_to_the_one_that_goes_on(place: Backlog) -> None:
    place.begin("one", created=1)
    place.asks_for_a_person("one")
    place.begin("two", created=2)
    place.story_files("two").show(WATERFALL)
    assert place.state()["status"] == "running"
    place.happens("two", Signalled(id="abort", ts=6000, inst="root", name="abort"))
    files = place.story_files("two")
    assert files.show(WATERFALL) == []
    assert place.state()["status"] == "needs_human"
    assert "run two" in place.text(HISTORY)
    place.asks_for_a_person("one")
    files.show(WATERFALL)
    assert place.state()["status"] == "needs_human", "told once"


def test_the_history_outlives_the_folder_of_its_run(place: Backlog) -> None:
    place.begin("one", created=1)
    place.asks_for_a_person("one")
    place.story_files("one").show(WATERFALL)
    shutil.rmtree(place.folder / "runs/one")
    place.begin("two", created=2)
    place.asks_for_a_person("two")
    place.story_files("two").show(WATERFALL)
    assert place.text(HISTORY).count("run one") == 1


def test_a_protocol_without_stories_has_no_story_files(place: Backlog) -> None:
    riper = load("riper")
    place.start("two", riper)
    assert place.story_files("two").show(riper) == []
    assert not (place.root / ".ai").exists()
