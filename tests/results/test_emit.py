"""`out/answer.json`: its format for ever, its fence, and what else may lie in its place."""

from typing import Any

import msgspec
import pytest

from tests.results.desk import GOLDEN, summed_up, ways_at
from treadle.results.emit import Emitted, pack, parse, unpack
from treadle.results.faulty import Faulty, Stale
from treadle.results.fence import Fence

RED = "dptr/cycle/red"
FENCE = Fence("act-7", "token-0", 0)
ANSWER = {"exit": {"type": "RC", "message": "three"}}


def written(**changes: Any) -> bytes:
    whole = {"format": 1, "act": "act-7", "token": "token-0", "retry": 0, "at": 5, "via": "emit", "answer": ANSWER}
    return msgspec.json.encode({**whole, **changes})


def test_the_format_of_today_loads_for_ever() -> None:
    found = parse((GOLDEN / "answer-1.json").read_bytes(), ways_at(RED), FENCE)
    assert isinstance(found, tuple)
    assert summed_up(found[0]) == {"claim": "RC", "fields": {"message": "three"}}
    assert found[1].via == "mcp"


def test_what_is_packed_can_be_unpacked() -> None:
    put = msgspec.json.decode(written(), type=Emitted)
    assert unpack(pack(put)) == put


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"act": "act-6"}, "it is for the activity 'act-6', not for 'act-7'"),
        ({"retry": 1}, "it is from try 1 of this activity, not from try 0"),
        ({"token": "guess"}, "its token is not the one of this activity"),
        ({"token": "", "retry": None}, "its token is not the one of this activity"),
    ],
)
def test_an_answer_for_another_activity_is_stale(changes: dict[str, Any], why: str) -> None:
    assert parse(written(**changes), ways_at(RED), FENCE) == Stale(why)


def test_a_retry_that_is_not_known_is_fenced_by_its_token() -> None:
    assert isinstance(parse(written(retry=None), ways_at(RED), FENCE), tuple)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (msgspec.json.encode(ANSWER), "was written by something else"),
        (written(format=2), "has a format that this version does not know"),
        (written(answer=[]), "was written by something else"),
        (written(via="post"), "was written by something else"),
        (written(more=1), "was written by something else"),
        (b"[]", "was written by something else"),
        (b"{", "is not JSON"),
        (written(answer={"exit": {"type": "GC"}}), "exit.type: GC is not an exit of this step"),
    ],
)
def test_what_cannot_be_taken(data: bytes, said: str) -> None:
    found = parse(data, ways_at(RED), FENCE)
    assert isinstance(found, Faulty)
    assert said in found.problems[0]
