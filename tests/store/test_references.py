import pytest

from tests.store.runs import NOW, start
from treadle.kernel.events import Checked, CheckResult, Envelope, Event, Exited, Failed, Idle, Replied, Signalled
from treadle.kernel.replay import encode_event
from treadle.protocol.items import Item
from treadle.store.references import mentioned, needed

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")
EVENTS: list[tuple[Event, set[str]]] = [
    (start(), set()),
    (Exited(id="e", ts=NOW, act="a", envelope=Envelope("X", payload_ref=A)), {A}),
    (Exited(id="e", ts=NOW, act="a", envelope=Envelope("X"), results=(CheckResult("suite", True, B),)), {B}),
    (
        Exited(
            id="e", ts=NOW, act="a", envelope=Envelope("X", fields={"l": (Item("k", A, {"m": (Item("n", B),)}), C)})
        ),
        {A, B},
    ),
    (Checked(id="e", ts=NOW, act="a", results=(CheckResult("c", True, A),), payload_ref=B), {A, B}),
    (Failed(id="e", ts=NOW, act="a", why="crash", detail_ref=A), {A}),
    (Replied(id="e", ts=NOW, ask="a", choice="x", note_ref=A), {A}),
    (Signalled(id="e", ts=NOW, inst="a", name="go", data_ref="text:short"), set()),
    (Idle(id=A, ts=NOW, act="a", idle_s=1), set()),
]


@pytest.mark.parametrize(("event", "refs"), EVENTS)
def test_an_event_needs_what_it_refers_to_and_nothing_that_only_looks_so(event: Event, refs: set[str]) -> None:
    assert set(needed(event)) == refs
    assert refs <= mentioned(encode_event(event))


def test_whatever_looks_like_a_reference_is_mentioned() -> None:
    assert mentioned(f'{{"said": "see {A} and {B}x"}}'.encode()) == {A, B}
    assert mentioned(b"sha256:abc") == set()
