"""Logs for tests of views: recorded ones, read back, and small ones written by hand."""

from pathlib import Path

from tests.kernel.protocols import WORK_AND_REVIEW
from treadle.kernel.events import Event, RunStarted
from treadle.kernel.replay import encode_event
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.store.sqlite import Store
from treadle.testing.scenario import Scenario
from treadle.views.chronicle import Chronicle

NOW = 1_700_000_000_000
START = RunStarted(
    id="start", ts=NOW, run="r", protocol=digest(WORK_AND_REVIEW), input=Item("spec", "text:spec")
)  # fmt: skip


def written(*events: Event) -> Chronicle:
    """A run of a small protocol in which this has happened."""
    chronicle = Chronicle(lambda _: WORK_AND_REVIEW)
    for event in (START, *events):
        chronicle.take(encode_event(event))
    return chronicle


def played(run: Scenario) -> Chronicle:
    """A run that a test has played."""
    chronicle = Chronicle(lambda _: run.protocol)
    for event in run.log:
        chronicle.take(encode_event(event))
    return chronicle


def read(root: Path, run: str = "r") -> Chronicle:
    """A recorded run."""
    store = Store(root / ".treadle" / "local" / "store.db", reading=True)
    chronicle = Chronicle(store.protocol)
    for body, _ in store.tail(run)[1]:
        chronicle.take(body)
    store.close()
    return chronicle
