import msgspec

from tests.store.runs import record
from treadle.views.listing import listed


def test_a_run_is_listed_as_its_record_has_it_and_as_it_stands() -> None:
    run = msgspec.structs.replace(record(), seq=3, acts=1, outcome="")
    found = listed(run, "v3", "process 1", "asks")
    assert (found.run, found.protocol, found.driver, found.events, found.status) == (
        run.id,
        "v3",
        "process 1",
        3,
        "asks",
    )
