"""Files that are views of a run."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.views.bank.banked import BRIEF, RIPER
from treadle.config.settings import load_settings
from treadle.engines.run_settings import RunSettings
from treadle.kernel.events import Event, RunStarted, Signalled
from treadle.protocol.digest import digest
from treadle.protocol.items import Item, Json
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.runtime.desk import Arrival, Desk
from treadle.runtime.view_files import BankFiles, GrowingLog, ViewFiles, bundle_files
from treadle.runtime.world import SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.testing.scenario import Scenario
from treadle.views.bank import run_of
from treadle.views.story_files import artifact_files

FRACTAL = load("fractal")
FILE = "files/context/blockers/REQ-7.json"


class Kept:
    """Payloads that all say the same."""

    def put(self, value: Json) -> str:
        raise AssertionError(f"a view keeps nothing: {value}")

    def get(self, ref: str) -> Json:
        return {"id": "REQ-7", "ref": ref}


def blocked() -> Scenario:
    return Scenario(FRACTAL).says("InitLeaf").says("EmitChallenge").says("BlockedDependency")


def test_a_file_exists_as_long_as_it_has_content(tmp_path: Path) -> None:
    files, run = ViewFiles(tmp_path, Kept()), blocked()
    files.show(FRACTAL, run.state)
    entry = json.loads((tmp_path / FILE).read_text())["blockers"][0]
    assert entry["payload"]["ref"] == entry["payload_ref"]
    files.show(FRACTAL, run.says("InitLeaf").state)
    assert not (tmp_path / FILE).exists()


def test_a_later_process_updates_the_files_of_an_earlier_one(tmp_path: Path) -> None:
    run = blocked()
    ViewFiles(tmp_path, Kept()).show(FRACTAL, run.state)
    ViewFiles(tmp_path, Kept()).show(FRACTAL, run.says("InitLeaf").state)
    assert not (tmp_path / FILE).exists()


def test_an_unwritable_file_does_not_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("in the way")
    ViewFiles(tmp_path, Kept()).show(FRACTAL, blocked().state)
    assert (tmp_path / "files").read_text() == "in the way"


def test_agents_find_the_files_of_their_instance_in_the_bundle() -> None:
    run = blocked()
    assert list(bundle_files(artifact_files(FRACTAL, run.inst(), Kept().get))) == [FILE]


# The memory bank of a run as files: in its folder, and in the user's checkout.

STATE = "memory-bank/activeContext.md"


class Place:
    """A project with runs, of which nothing happens but what a test says."""

    settings = msgspec.to_builtins(
        RunSettings(protocol="riper", config=load_settings(None, {}, ()).config("riper"), agents={})
    )

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "checkout"
        self.root.mkdir()
        self.store = Store(folder / "store.db", create=True)

    def start(self, id_: str, protocol: Protocol = RIPER, created: int = 1) -> None:
        given = Item("shop", self.store.payloads.put(BRIEF), {"modules": ()})
        start = RunStarted(id="start", ts=created, run=id_, protocol=digest(protocol), input=given)
        run = Run(
            id=id_, name=id_, protocol="", settings=self.settings, created=created, changed=created,
            seq=0, acts=0, asks=0, outcome="", owner="",
        )  # fmt: skip
        self.store.create(run, protocol, start)
        self.happens(id_, start)

    def happens(self, id_: str, event: Event) -> None:
        async def taken() -> None:
            lease = await self.store.take_lease(id_, 1)
            await Desk(self.store, lease, SystemClock()).process([Arrival(event, 0)])
            await self.store.release(lease)

        asyncio.run(taken())

    def goes(self, id_: str) -> None:
        self.happens(id_, Signalled(id="go", ts=2, inst="root", name="go", step="O1P"))

    def files(self, id_: str = "one", root: Path | None = None) -> BankFiles:
        return BankFiles(GrowingLog(self.store, id_), self.folder / "runs" / id_, root or self.root)

    def text(self, path: str = STATE) -> str:
        return (self.root / path).read_text()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.store.close()


def test_the_files_are_true_after_every_event(place: Place) -> None:
    place.start("one")
    files = place.files()
    assert files.show(RIPER) == []
    assert "- Ω_current: Ω₁ᴾ" in place.text()
    assert "| Ω₁ᴾ |" not in place.text()
    place.goes("one")
    files.show(RIPER)
    assert "| Ω₁ᴾ | root:O1P#1.1 |" in place.text()
    assert (place.folder / "runs/one/files" / STATE).read_text() == place.text()
    assert sorted(path.name for path in (place.root / "memory-bank").iterdir()) == [
        "activeContext.md",
        "progress.md",
        "projectbrief.md",
        "protection.md",
    ]
    assert "> Sells things." in place.text("memory-bank/projectbrief.md")


def test_another_process_continues_the_files(place: Place) -> None:
    place.start("one")
    place.files().show(RIPER)
    place.goes("one")
    assert place.files().show(RIPER) == []
    assert "| Ω₁ᴾ | root:O1P#1.1 |" in place.text()


def test_a_changed_document_stays_and_is_reported_once(place: Place) -> None:
    place.start("one")
    files = place.files()
    files.show(RIPER)
    edited = place.text().replace("- Ω_current: Ω₁ᴾ", "- Ω_current: Ω₅ᵀ")
    (place.root / STATE).write_text(edited)
    place.goes("one")
    assert [line.startswith(f"{STATE} differs ") for line in files.show(RIPER)] == [True]
    assert place.text() == edited
    assert files.show(RIPER) == []
    assert "Ω₅ᵀ" not in (place.folder / "runs/one/files" / STATE).read_text(), "nobody obeys it"
    assert place.store.load("one").state.insts["root"].frames[-1].step == "O1P"
    (place.root / STATE).unlink()
    assert files.show(RIPER) == []
    assert run_of(place.text()) == "one"


def test_a_file_of_a_person_is_never_replaced(place: Place) -> None:
    (place.root / "memory-bank").mkdir()
    (place.root / STATE).write_text("# My notes\n")
    place.start("one")
    assert len(place.files().show(RIPER)) == 1
    assert place.text() == "# My notes\n"


def test_no_link_is_followed(place: Place) -> None:
    outside = place.folder / "outside"
    outside.mkdir()
    (place.root / "memory-bank").symlink_to(outside)
    place.start("one")
    told = place.files().show(RIPER)
    assert ["cannot be written" in line for line in told] == [True] * 4
    assert list(outside.iterdir()) == []
    assert (place.folder / "runs/one/files" / STATE).is_file()


def test_the_checkout_shows_the_run_that_was_started_last(place: Place) -> None:
    place.start("one", created=1)
    files = place.files("one")
    files.show(RIPER)
    place.start("two", created=2)
    place.files("two").show(RIPER)
    place.goes("one")
    assert files.show(RIPER) == []
    assert run_of(place.text()) == "two"
    assert "| Ω₁ᴾ | root:O1P#1.1 |" in (place.folder / "runs/one/files" / STATE).read_text()
    place.start("three", load("v3"), created=3)
    place.goes("two")
    place.files("two").show(RIPER)
    assert "| Ω₁ᴾ | root:O1P#1.1 |" in place.text(), "a later run without a bank is in nobody's way"


def test_without_a_checkout_and_without_a_bank(place: Place) -> None:
    place.start("one")
    BankFiles(GrowingLog(place.store, "one"), place.folder / "runs/one", None).show(RIPER)
    assert not (place.root / "memory-bank").exists()
    assert (place.folder / "runs/one/files" / STATE).is_file()
    place.start("two", load("v3"), created=2)
    assert place.files("two").show(load("v3")) == []
    assert not (place.folder / "runs/two").exists()


def test_an_unwritable_copy_does_not_stop_the_checkouts_file(place: Place) -> None:
    place.start("one")
    (place.folder / "runs").write_text("in the way")
    assert place.files().show(RIPER) == []
    assert run_of(place.text()) == "one"


def test_agents_find_the_bank_in_their_bundle(place: Place) -> None:
    place.start("one")
    found = bundle_files(place.files().texts())
    assert sorted(found) == [
        f"files/memory-bank/{name}.md" for name in ("activeContext", "progress", "projectbrief", "protection")
    ]
    assert b"\xce\xa9_current" in found[f"files/{STATE}"]
