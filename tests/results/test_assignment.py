"""The agent's side: its assignment, answers from arguments, and the exits in its bundle."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.refusals import refused
from tests.results.desk import at, desk, environment, loaded, step_exits_at, summed_up
from treadle.errors import TreadleError
from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.results.assignment import assignment, from_arguments
from treadle.results.channels import Before, mark_taken, read_answer
from treadle.results.emit import FILE, MAX_NOTES
from treadle.results.exits import FILE as EXITS
from treadle.results.exits import encode_exits, read_exits
from treadle.results.intake import MAX_ANSWER, Faulty

# The agent's side: handing in, again, too late, and from the wrong place.


RED = "dptr/cycle/red"
RC = {"exit": {"type": "RC", "message": "three"}}
BL = {"type": "BL", "message": "no"}


def test_an_answer_arrives(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    assert task.handed_in() == ""
    assert isinstance(task.hand_in(RC, "emit"), Claim)
    assert task.handed_in() == "RC"
    reading = asyncio.run(read_answer(it.work, it.step_exits, Before()))
    assert reading.claim is not None
    assert (reading.claim.key, reading.channel) == ("RC", "emit")


def test_the_last_answer_counts_until_the_driver_takes_it(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    task.hand_in(BL, "emit")
    assert isinstance(task.hand_in(RC, "mcp"), Claim)
    asyncio.run(mark_taken(it.work))
    late = task.hand_in(BL, "emit")
    assert isinstance(late, Faulty)
    assert "already collected" in late.problems[0]
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
    assert asyncio.run(read_answer(new.work, new.step_exits, Before())).claim is not None


def test_an_answer_of_an_earlier_try_is_replaced(tmp_path: Path) -> None:
    old, new = desk(tmp_path, RED), desk(tmp_path, RED, retry=1)
    assignment(old.env).hand_in(BL, "emit")
    asyncio.run(mark_taken(old.work))
    assert assignment(new.env).handed_in() == ""
    assert isinstance(assignment(new.env).hand_in(RC, "emit"), Claim)


def test_notes_are_kept_within_their_limit(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    assert task.leave_notes("beware of\ud800") is None
    assert asyncio.run(read_answer(it.work, it.step_exits, Before())).notes == "beware of?"
    assert isinstance(task.leave_notes("x" * (MAX_NOTES + 1)), Faulty)


@pytest.mark.parametrize("name", ["TREADLE_BUNDLE", "TREADLE_OUT", "TREADLE_ACT", "TREADLE_TOKEN"])
def test_outside_of_a_step(name: str, tmp_path: Path) -> None:
    env = environment(desk(tmp_path, RED).work)
    with refused("emit.outside", name):
        assignment({**env, name: ""})


def test_an_assignment_of_an_ended_step_is_refused(tmp_path: Path) -> None:
    env = environment(desk(tmp_path, RED).work)
    with refused("emit.outside", "TREADLE_OUT", str(tmp_path / "gone")):
        assignment({**env, "TREADLE_OUT": str(tmp_path / "gone")})


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    (it.work.out / FILE).mkdir()
    found = assignment(it.env).hand_in(RC, "emit")
    assert isinstance(found, Faulty)
    assert "cannot be written" in found.problems[0]
    assert [path.name for path in it.work.out.iterdir()] == [FILE]


def test_an_answer_over_the_size_limit_is_refused(tmp_path: Path) -> None:
    it = desk(tmp_path, "dptr/plan/critic")
    task = assignment(it.env)
    refused = task.hand_in({"type": "DA", "questions": ["x" * 999_000] * 5}, "emit")
    assert isinstance(refused, Faulty)
    assert f"the limit is {MAX_ANSWER}" in refused.problems[0]
    assert isinstance(task.hand_in({"type": "DA", "questions": ["x" * 95] * 10_000}, "emit"), Claim)
    assert asyncio.run(read_answer(it.work, it.step_exits, Before())).claim is not None


@pytest.mark.parametrize("limit", [60, 100, 3_000_000])
def test_the_limit_of_the_bundle_holds_on_both_sides(limit: int, tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    (it.work.bundle / EXITS).write_bytes(encode_exits(*at(RED), limit=limit))
    step_exits = msgspec.structs.replace(it.step_exits, limit=limit)
    task = assignment(it.env)
    size = len(msgspec.json.encode({"exit": {"type": "RC", "message": ""}}))
    large = {"exit": {"type": "RC", "message": "x" * min(limit - size + 1, 1_000_000)}}
    exact = {"exit": {"type": "RC", "message": "x" * min(limit - size, 1_000_000)}}
    assert isinstance(task.hand_in(exact, "emit"), Claim)
    assert asyncio.run(read_answer(it.work, step_exits, Before())).claim is not None
    narrow = msgspec.structs.replace(it.step_exits, limit=len(msgspec.json.encode(exact)) - 1)
    problems = asyncio.run(read_answer(it.work, narrow, Before())).problems
    assert f"the limit is {narrow.limit}" in problems[0]
    if limit < 1_000_000:
        too_long = task.hand_in(large, "emit")
        assert isinstance(too_long, Faulty)
        [problem] = too_long.problems
        assert [it for it in (f" {limit + 1} bytes", f"limit is {limit};") if it not in problem] == []


def test_a_token_of_another_session_is_refused_at_once(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    refused = assignment({**it.env, "TREADLE_TOKEN": "made up"}).hand_in(RC, "emit")
    assert isinstance(refused, Faulty)
    assert "TREADLE_TOKEN" in refused.problems[0]
    assert not (it.work.out / FILE).exists()
    assert it.work.token not in (it.work.bundle / EXITS).read_text()


# Answers from a command line.


@pytest.mark.parametrize(
    ("step", "type_", "fields", "claim", "values"),
    [
        ("dptr/cycle/red", "RC", ["message=a = b"], "RC", {"message": "a = b"}),
        ("dptr/plan/critic", "DA", ['questions=["who?"]'], "DA", {"questions": ["who?"]}),
        ("riper/rcycle/red", "TA", [], "RC", {}),
        ("waterfall/story/impl", "pass", ["summary=12"], "pass_green", {"summary": "12"}),
        (
            "waterfall/story/impl",
            "failing",
            ["reason=none", "summary=x"],
            "failing_measured.none",
            {"reason": "none", "summary": "x"},
        ),
    ],
)
def test_arguments_become_a_claim(
    step: str, type_: str, fields: list[str], claim: str, values: dict[str, object]
) -> None:
    step_exits = step_exits_at(step)
    given = from_arguments(step_exits, type_, fields)
    assert not isinstance(given, Faulty)
    assert summed_up(step_exits.parse(given)) == {"claim": claim, "fields": values}


@pytest.mark.parametrize(
    ("type_", "fields", "said"),
    [
        ("RX", [], "--type 'RX' is not an exit of this step; this step ends with RC or BL"),
        ("RC", ["message"], "--field 'message' has no `=`; write --field name=value"),
        ("RC", ["message=a", "message=b"], "--field 'message' is given twice"),
    ],
)
def test_malformed_arguments_are_refused(type_: str, fields: list[str], said: str) -> None:
    found = from_arguments(step_exits_at("dptr/cycle/red"), type_, fields)
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_a_malformed_list_stays_text_and_is_refused() -> None:
    step_exits = step_exits_at("dptr/plan/critic")
    found = step_exits.parse(from_arguments(step_exits, "DA", ["questions=[who?"]))
    assert isinstance(found, Faulty)
    assert found.problems[0].startswith("exit.questions: ")
    assert "a list" in found.problems[0]


def test_a_long_text_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A = b\né\n")
    (tmp_path / "questions").write_text('["who?"]')
    (tmp_path / "odd").write_bytes(b"\xff")
    step_exits = step_exits_at("dptr/plan/critic")
    given = from_arguments(step_exits, "DA", [f"message=@{tmp_path}/a.md", f"questions=@{tmp_path}/questions"])
    assert summed_up(step_exits.parse(given)) == {
        "claim": "DA",
        "fields": {"message": "# A = b\né\n", "questions": ["who?"]},
    }
    own = from_arguments(step_exits, "DA", ["message=@@home", 'questions=["who?"]'])
    assert summed_up(step_exits.parse(own))["fields"] == {"message": "@home", "questions": ["who?"]}
    for name, why in (("nowhere", "cannot be read: no such file or directory"), ("odd", "is no text in UTF-8")):
        found = from_arguments(step_exits, "DA", [f"message=@{tmp_path}/{name}"])
        assert isinstance(found, Faulty)
        assert why in found.problems[0]
        assert "@@" in found.problems[0]


# `bundle/exits.json`: what answers are held against without the store.


NAMES = ("v3", "fractal", "dptr", "riper", "waterfall")


@pytest.mark.parametrize("name", NAMES)
def test_the_exits_of_a_bundle_give_the_schemas_of_the_protocol(name: str, tmp_path: Path) -> None:
    protocol = loaded(name)
    for graph in protocol.graphs.values():
        for step in graph.steps.values():
            if step.kind == "agent":
                (tmp_path / EXITS).write_bytes(encode_exits(protocol, step))
                step_exits = read_exits(tmp_path)
                assert step_exits.exits == step.exits
                assert schema(step_exits.protocol, step_exits.exits) == schema(protocol, step)
                assert tool_schemas(step_exits.protocol, step_exits.exits) == tool_schemas(protocol, step)


def test_types_of_other_steps_stay_away(tmp_path: Path) -> None:
    protocol, step = at("dptr/cycle/red")
    (tmp_path / EXITS).write_bytes(encode_exits(protocol, step))
    assert set(read_exits(tmp_path).protocol.types) < set(protocol.types)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is missing"),
        ("{", "is damaged"),
        ('{"format": 1, "protocol": "p", "version": "1", "exits": {}, "more": 1}', "is damaged"),
        ('{"format": 9, "protocol": "p", "version": "1", "exits": {}}', "has format 9"),
    ],
)
def test_a_bundle_that_cannot_be_used(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / EXITS).write_text(text)
    with pytest.raises(TreadleError, match=said):
        read_exits(tmp_path)


def test_a_link_in_its_place(tmp_path: Path) -> None:
    (tmp_path / EXITS).symlink_to("/etc/passwd")
    with pytest.raises(TreadleError, match="symbolic link"):
        read_exits(tmp_path)
