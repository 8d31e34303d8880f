import msgspec
import pytest

from tests.store.runs import record
from treadle.views.listing import listed

CONDITIONS = [
    ({}, "new"),
    ({"seq": 3, "acts": 1, "asks": 1}, "works"),
    ({"seq": 3, "asks": 1}, "asks"),
    ({"seq": 3}, "waits"),
    ({"seq": 3, "outcome": "Merged"}, "ended"),
]


@pytest.mark.parametrize(("changes", "condition"), CONDITIONS)
def test_a_record_says_what_a_run_does(changes: dict[str, object], condition: str) -> None:
    run = msgspec.structs.replace(record(), **changes)
    assert listed(run, "v3", "").status == condition
