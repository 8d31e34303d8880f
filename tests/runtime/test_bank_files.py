"""The memory bank of a run as files: in its folder, and in the user's checkout."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.views.bank.banked import BRIEF, RIPER
from treadle.config.load import load_settings
from treadle.engines.pinned import Pinned
from treadle.kernel.events import Event, RunStarted, Signalled
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.runtime.bank_files import BankFiles, in_bundle
from treadle.runtime.clock import SystemClock
from treadle.runtime.desk import Desk
from treadle.runtime.inbox import Arrival
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.bank.files import run_of

STATE = "memory-bank/activeContext.md"


class Place:
    """A project with runs, of which nothing happens but what a test says."""

    settings = msgspec.to_builtins(
        Pinned(protocol="riper", config=load_settings(None, {}, ()).config("riper"), agents={})
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
            lease = await self.store.claim(id_, 1)
            await Desk(self.store, lease, SystemClock()).take([Arrival(event, 0)])
            await self.store.release(lease)

        asyncio.run(taken())

    def goes(self, id_: str) -> None:
        self.happens(id_, Signalled(id="go", ts=2, inst="root", name="go", step="O1P"))

    def files(self, id_: str = "one", root: Path | None = None) -> BankFiles:
        return BankFiles(self.store, id_, self.folder / "runs" / id_, root or self.root)

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


def test_another_process_goes_on_where_one_has_ended(place: Place) -> None:
    place.start("one")
    place.files().show(RIPER)
    place.goes("one")
    assert place.files().show(RIPER) == []
    assert "| Ω₁ᴾ | root:O1P#1.1 |" in place.text()


def test_what_somebody_has_changed_stays_and_is_told_once(place: Place) -> None:
    place.start("one")
    files = place.files()
    files.show(RIPER)
    edited = place.text().replace("- Ω_current: Ω₁ᴾ", "- Ω_current: Ω₅ᵀ")
    (place.root / STATE).write_text(edited)
    place.goes("one")
    assert files.show(RIPER) == [
        f"{STATE} was changed by somebody, or is somebody's own: it is not read, and left as it is"
    ]
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
    assert told[0].endswith("cannot be written: a link or something else stands in its way")
    assert len(told) == 4
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
    BankFiles(place.store, "one", place.folder / "runs/one", None).show(RIPER)
    assert not (place.root / "memory-bank").exists()
    assert (place.folder / "runs/one/files" / STATE).is_file()
    place.start("two", load("v3"), created=2)
    assert place.files("two").show(load("v3")) == []
    assert not (place.folder / "runs/two").exists()


def test_what_cannot_be_written_stops_nothing(place: Place) -> None:
    place.start("one")
    (place.folder / "runs").write_text("in the way")
    assert place.files().show(RIPER) == []
    assert run_of(place.text()) == "one"


def test_agents_find_the_bank_in_their_bundle(place: Place) -> None:
    place.start("one")
    found = in_bundle(place.files().texts())
    assert sorted(found) == [
        f"files/memory-bank/{name}.md" for name in ("activeContext", "progress", "projectbrief", "protection")
    ]
    assert b"\xce\xa9_current" in found[f"files/{STATE}"]
