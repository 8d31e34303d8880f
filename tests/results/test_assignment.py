"""The agent's side: handing in, again, too late, and from the wrong place."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.results.desk import at, desk, environment
from treadle.errors import TreadleError
from treadle.protocol.answers.answer import Claim
from treadle.results.assignment import assignment
from treadle.results.emit import FILE
from treadle.results.exits import FILE as EXITS
from treadle.results.exits import extract, write_exits
from treadle.results.faulty import Faulty, faulty
from treadle.results.notes import MAX_NOTES
from treadle.results.prepare import Before
from treadle.results.read import read, take
from treadle.results.strict_json import MAX_ANSWER

RED = "dptr/cycle/red"
RC = {"exit": {"type": "RC", "message": "three"}}
BL = {"type": "BL", "message": "no"}


def test_an_answer_arrives(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    assert task.handed_in() == ""
    assert isinstance(task.hand_in(RC, "emit"), Claim)
    assert task.handed_in() == "RC"
    reading = asyncio.run(read(it.work, it.ways, Before()))
    assert reading.claim is not None
    assert (reading.claim.key, reading.channel) == ("RC", "emit")


def test_the_last_one_counts_until_it_is_taken(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    task.hand_in(BL, "emit")
    assert isinstance(task.hand_in(RC, "mcp"), Claim)
    asyncio.run(take(it.work))
    late = task.hand_in(BL, "emit")
    assert isinstance(late, Faulty)
    assert "already been taken" in late.problems[0]
    assert task.handed_in() == "RC"


def test_a_refused_one_leaves_the_one_before(tmp_path: Path) -> None:
    task = assignment(desk(tmp_path, RED).env)
    task.hand_in(RC, "emit")
    assert isinstance(task.hand_in({"exit": {"type": "GC"}}, "emit"), Faulty)
    assert task.handed_in() == "RC"


def test_a_session_of_an_earlier_try_does_not_write_over_a_later_one(tmp_path: Path) -> None:
    old, new = desk(tmp_path, RED), desk(tmp_path, RED, retry=1)
    assert isinstance(assignment(new.env).hand_in(RC, "emit"), Claim)
    late = assignment(old.env).hand_in(BL, "emit")
    assert isinstance(late, Faulty)
    assert "started again" in late.problems[0]
    assert asyncio.run(read(new.work, new.ways, Before())).claim is not None


def test_an_answer_of_an_earlier_try_is_replaced(tmp_path: Path) -> None:
    old, new = desk(tmp_path, RED), desk(tmp_path, RED, retry=1)
    assignment(old.env).hand_in(BL, "emit")
    asyncio.run(take(old.work))
    assert assignment(new.env).handed_in() == ""
    assert isinstance(assignment(new.env).hand_in(RC, "emit"), Claim)


def test_notes(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    assert task.leave_notes("beware of\ud800") is None
    assert asyncio.run(read(it.work, it.ways, Before())).notes == "beware of?"
    assert isinstance(task.leave_notes("x" * (MAX_NOTES + 1)), Faulty)


@pytest.mark.parametrize("name", ["TREADLE_BUNDLE", "TREADLE_OUT", "TREADLE_ACT", "TREADLE_TOKEN"])
def test_outside_of_a_step(name: str, tmp_path: Path) -> None:
    env = environment(desk(tmp_path, RED).work)
    with pytest.raises(TreadleError, match=f"only inside of a step .*{name} not set"):
        assignment({**env, name: ""})


def test_a_step_that_is_gone(tmp_path: Path) -> None:
    env = environment(desk(tmp_path, RED).work)
    with pytest.raises(TreadleError, match="has the step ended"):
        assignment({**env, "TREADLE_OUT": str(tmp_path / "gone")})


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    (it.work.out / FILE).mkdir()
    found = assignment(it.env).hand_in(RC, "emit")
    assert isinstance(found, Faulty)
    assert "cannot be written" in found.problems[0]
    assert [path.name for path in it.work.out.iterdir()] == [FILE]


def test_what_is_accepted_is_small_enough_to_be_read(tmp_path: Path) -> None:
    it = desk(tmp_path, "dptr/plan/critic")
    task = assignment(it.env)
    refused = task.hand_in({"type": "DA", "questions": ["x" * 999_000] * 5}, "emit")
    assert isinstance(refused, Faulty)
    assert f"the limit is {MAX_ANSWER}" in refused.problems[0]
    assert isinstance(task.hand_in({"type": "DA", "questions": ["x" * 95] * 10_000}, "emit"), Claim)
    assert asyncio.run(read(it.work, it.ways, Before())).claim is not None


@pytest.mark.parametrize("limit", [60, 100, 3_000_000])
def test_the_limit_of_the_bundle_holds_on_both_sides(limit: int, tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    write_exits(extract(*at(RED), limit=limit), it.work.bundle)
    ways = msgspec.structs.replace(it.ways, limit=limit)
    task = assignment(it.env)
    size = len(msgspec.json.encode({"exit": {"type": "RC", "message": ""}}))
    large = {"exit": {"type": "RC", "message": "x" * min(limit - size + 1, 1_000_000)}}
    exact = {"exit": {"type": "RC", "message": "x" * min(limit - size, 1_000_000)}}
    assert isinstance(task.hand_in(exact, "emit"), Claim)
    assert asyncio.run(read(it.work, ways, Before())).claim is not None
    narrow = msgspec.structs.replace(it.ways, limit=len(msgspec.json.encode(exact)) - 1)
    problems = asyncio.run(read(it.work, narrow, Before())).problems
    assert f"the limit is {narrow.limit}" in problems[0]
    if limit < 1_000_000:
        refused = task.hand_in(large, "emit")
        assert refused == faulty(f"the answer has {limit + 1} bytes, the limit is {limit}; shorten it")


def test_a_token_of_another_session_is_refused_at_once(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    refused = assignment({**it.env, "TREADLE_TOKEN": "made up"}).hand_in(RC, "emit")
    assert isinstance(refused, Faulty)
    assert "TREADLE_TOKEN is not the token of this session" in refused.problems[0]
    assert not (it.work.out / FILE).exists()
    assert it.work.token not in (it.work.bundle / EXITS).read_text()
