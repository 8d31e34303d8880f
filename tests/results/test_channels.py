"""The channels of an answer: which counts, how each is read, and what is prepared before."""

import asyncio
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.desk import GOLDEN, Desk, desk, expected, golden, step_exits_at, summed_up
from treadle.ports import Work
from treadle.protocol.answers.claim import Claim
from treadle.results import executor_result
from treadle.results.assignment import assignment
from treadle.results.channels import (
    BEFORE_FILE,
    Before,
    SessionAnswer,
    load_before,
    missing_answer_hint,
    prepare_lane,
    read_answer,
    save_before,
)
from treadle.results.emit import EmittedAnswer, pack, parse, unpack
from treadle.results.executor_result import MAX_YAML
from treadle.results.executor_result import parse as parse_executor_result
from treadle.results.final_message import parse as parse_final_message
from treadle.results.handoff import parse as parse_handoff
from treadle.results.handoff import parse_legacy
from treadle.results.intake import MAX_ANSWER, MAX_DEPTH, Faulty, Stale

# Which channel counts, what is told of the others, and that nothing in their place can harm.


HANDOFF = "---\nstep: impl\nattempt: 2\nstatus: {status}\nsummary: by hand-over\n---\nnotes for you\n"
RESULT = "status: {status}\nsummary: by result\n"
FINAL = '{{"exit": {{"type": "{status}", "summary": "by message"}}}}'


def reading(it: Desk, final: str = "", before: Before | None = None, *, legacy: bool = False) -> SessionAnswer:
    return asyncio.run(
        read_answer(it.work, it.step_exits, Before() if before is None else before, final, legacy=legacy)
    )


def emitted(it: Desk, status: str = "pass") -> None:
    assignment(it.env).hand_in({"type": status, "summary": "by tool"}, "mcp")


def fill(it: Desk, channels: str, status: str = "pass") -> str:
    if "e" in channels:
        emitted(it, status)
    if "r" in channels:
        it.put(".ai/executor-result", RESULT.format(status=status))
    if "h" in channels:
        it.put(".ai/HANDOFF.md", HANDOFF.format(status=status))
    return FINAL.format(status=status) if "f" in channels else ""


@pytest.mark.parametrize(
    ("channels", "channel", "summary"),
    [
        ("erhf", "mcp", "by tool"),
        ("rhf", "executor-result", "by result"),
        ("hf", "handoff", "by hand-over"),
        ("f", "final", "by message"),
    ],
)
def test_the_highest_channel_with_an_answer_counts(channels: str, channel: str, summary: str, tmp_path: Path) -> None:
    it = desk(tmp_path)
    found = reading(it, fill(it, channels))
    assert found.claim is not None
    assert (found.channel, found.claim.key, found.claim.fields["summary"]) == (channel, "pass_green", summary)
    assert found.warnings == found.problems == ()


def test_the_words_of_another_story_are_no_answer_for_this_one(tmp_path: Path) -> None:
    it = desk(tmp_path, act="root/US-1:impl#1.2")
    it.put(".ai/HANDOFF.md", HANDOFF.format(status="pass").replace("step:", "story: US-9\nstep:"))
    found = reading(it)
    assert (found.claim, found.notes) == (None, "")
    (warning,) = found.warnings
    assert warning.startswith("handoff: ")
    assert [text for text in (".ai/HANDOFF.md", "story 'US-9'", "story 'US-1'") if text not in warning] == []


def test_a_contradicting_answer_of_a_lower_channel_is_recorded_and_not_obeyed(tmp_path: Path) -> None:
    it = desk(tmp_path)
    emitted(it)
    it.put(".ai/executor-result", "status: failing\nreason: scope_warning\nsummary: x\n")
    it.put("HANDOFF.md", HANDOFF.format(status="pass"))
    found = reading(it, "→[needs_human,why?]")
    assert found.claim is not None
    assert found.claim.key == "pass_green"
    result, final = found.warnings
    assert result.startswith("executor-result: ")
    assert [text for text in ("failing_measured.scope_warning", "mcp", "pass_green") if text not in result] == []
    assert final.startswith("final: ")
    assert [text for text in ("needs_human", "mcp", "pass_green") if text not in final] == []


def test_an_invalid_answer_of_a_higher_channel_wins_over_a_lower_channel(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put(".ai/executor-result", "status: passed\n")
    found = reading(it, FINAL.format(status="pass"))
    assert found.claim is None
    assert found.channel == "executor-result"
    assert "'pass'" in found.problems[0]
    (warning,) = found.warnings
    assert warning.startswith("final: ")
    assert [text for text in ("pass_green", "executor-result") if text not in warning] == []


def test_a_plain_message_is_no_answer(tmp_path: Path) -> None:
    found = reading(desk(tmp_path), "I am done.")
    assert found == SessionAnswer()


def test_the_hint_for_a_missing_answer_names_the_exits(tmp_path: Path) -> None:
    assert "pass_green or failing_measured or needs_human" in missing_answer_hint(desk(tmp_path).step_exits)


def test_notes_stand_in_one_of_three_places(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put("HANDOFF.md", "by hand-over")
    assert reading(it).notes == "by hand-over"
    task = assignment(it.env)
    task.hand_in({"type": "pass", "summary": "x", "handoff": "by claim"}, "emit")
    assert reading(it).notes == "by claim"
    task.leave_notes("by tool")
    assert reading(it).notes == "by tool"


def test_a_stale_answer_is_skipped_with_a_warning(tmp_path: Path) -> None:
    old = desk(tmp_path)
    assignment(old.env).hand_in({"type": "failing", "reason": "none", "summary": "zombie"}, "emit")
    it = desk(tmp_path, retry=1)
    it.put("HANDOFF.md", HANDOFF.format(status="failing").replace("attempt: 2", "attempt: 1"))
    found = reading(it, FINAL.format(status="pass"))
    assert (found.channel, found.claim and found.claim.key) == ("final", "pass_green")
    emit, handoff = found.warnings
    assert emit.startswith("emit: ")
    assert [text for text in ("try 0", "try 1") if text not in emit] == []
    assert handoff.startswith("handoff: ")
    assert [text for text in ("HANDOFF.md", "attempt '1'", "attempt '2'") if text not in handoff] == []


def test_a_file_from_before_the_session_is_no_answer(tmp_path: Path) -> None:
    it = desk(tmp_path)
    fill(it, "rh")
    before = asyncio.run(prepare_lane(it.work.lane))
    assert reading(it, before=before).channel == ""
    assert reading(it, before=before).notes == ""
    it.put(".ai/HANDOFF.md", HANDOFF.format(status="failing"))
    found = reading(it, before=before)
    assert (found.channel, found.notes) == ("handoff", "notes for you")


def test_legacy_words_only_if_asked_for(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put("HANDOFF.md", "SCOPE WARNING: checkout\n")
    assert reading(it).channel == ""
    found = reading(it, legacy=True)
    assert (found.channel, found.claim and found.claim.key) == ("legacy", "failing_measured.scope_warning")


@pytest.mark.parametrize("file", ["lane/.ai/executor-result", "lane/HANDOFF.md", "home/out/answer.json"])
def test_pipes_and_links_in_place_of_answers_are_problems(file: str, tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    assert "no plain file" in reading(it, FINAL.format(status="pass")).problems[0]
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "is a symbolic link" in reading(it, FINAL.format(status="pass")).problems[0]


def test_an_answer_folder_that_became_a_link_is_not_read(tmp_path: Path) -> None:
    it, other = desk(tmp_path / "one"), desk(tmp_path / "two")
    emitted(other)
    other.put(".ai/executor-result", RESULT.format(status="pass"))
    (it.work.lane / ".ai").symlink_to(other.work.lane / ".ai")
    it.work.out.rmdir()
    it.work.out.symlink_to(other.work.out)
    assert reading(it).claim is None


def test_reading_twice_is_the_same(tmp_path: Path) -> None:
    it = desk(tmp_path)
    final = fill(it, "erhf")
    assert reading(it, final) == reading(it, final)


HUNGRY = """
import asyncio, sys
from pathlib import Path
from tests.results.desk import desk
from treadle.results.channels import Before, read_answer
it = desk(Path(sys.argv[1]))
print(asyncio.run(read_answer(it.work, it.step_exits, Before())).problems[0])
"""


def test_fifty_megabytes_in_every_place_fit_into_little_memory(tmp_path: Path) -> None:
    it = desk(tmp_path)
    for path in (it.work.out / "answer.json", it.put(".ai/executor-result", ""), it.put("HANDOFF.md", "")):
        with path.open("wb") as file:
            file.write(b'{"exit": "')
            file.truncate(2_000_000_000)

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))

    command = [sys.executable, "-c", HUNGRY, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, preexec_fn=little, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert [text for text in ("answer.json", "2000000000", "1010000") if text not in done.stdout] == []


# What is cleared away and noted before an agent starts.


def test_an_old_result_is_deleted(tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = it.put(".ai/executor-result", "status: pass")
    before = asyncio.run(prepare_lane(it.work.lane))
    assert not path.exists()
    assert before.unchanged(it.work.lane, ".ai/executor-result")
    it.put(".ai/executor-result", "status: pass")
    assert not before.unchanged(it.work.lane, ".ai/executor-result")


def test_hand_overs_are_noted_and_kept(tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = it.put("HANDOFF.md", "old")
    before = asyncio.run(prepare_lane(it.work.lane))
    assert path.read_text() == "old"
    assert before.unchanged(it.work.lane, "HANDOFF.md")
    it.put("HANDOFF.md", "new")
    assert not before.unchanged(it.work.lane, "HANDOFF.md")


def test_an_old_answer_that_cannot_be_deleted_is_marked_as_unchanged(tmp_path: Path) -> None:
    it = desk(tmp_path)
    (it.work.lane / ".ai" / "executor-result").mkdir(parents=True)
    before = asyncio.run(prepare_lane(it.work.lane))
    assert before.unchanged(it.work.lane, ".ai/executor-result")


def test_the_marks_of_old_files_survive_in_the_home(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put("HANDOFF.md", "old")

    async def there_and_back() -> tuple[Before, Before | None]:
        before = await prepare_lane(it.work.lane)
        await save_before(before, it.work.home)
        return before, await load_before(it.work.home)

    before, again = asyncio.run(there_and_back())
    assert before == again
    assert msgspec.json.decode(msgspec.json.encode(before), type=Before) == before


def test_damaged_or_missing_marks_load_as_none(tmp_path: Path) -> None:
    assert asyncio.run(load_before(tmp_path)) is None
    (tmp_path / BEFORE_FILE).write_text('{"marks": 3}')
    assert asyncio.run(load_before(tmp_path)) is None


# `out/answer.json`: its format for ever, its fence, and what else may lie in its place.


RED = "dptr/cycle/red"
WORK = Work(
    run="run",
    act="act-7",
    retry=0,
    step="red",
    role="qa",
    mode="",
    attempt=1,
    lane=Path("lane"),
    home=Path("home"),
    prompt="",
    token="token-0",
)
ANSWER = {"exit": {"type": "RC", "message": "three"}}


def written(**changes: Any) -> bytes:
    whole = {"format": 1, "act": "act-7", "token": "token-0", "retry": 0, "at": 5, "via": "emit", "answer": ANSWER}
    return msgspec.json.encode({**whole, **changes})


def test_the_format_of_today_loads_for_ever() -> None:
    found = parse((GOLDEN / "answer-1.json").read_bytes(), step_exits_at(RED), WORK)
    assert isinstance(found, tuple)
    assert summed_up(found[0]) == {"claim": "RC", "fields": {"message": "three"}}
    assert found[1].via == "mcp"


def test_a_packed_answer_unpacks_to_itself() -> None:
    put = msgspec.json.decode(written(), type=EmittedAnswer)
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
    assert parse(written(**changes), step_exits_at(RED), WORK) == Stale(why)


def test_a_retry_that_is_not_known_is_fenced_by_its_token() -> None:
    assert isinstance(parse(written(retry=None), step_exits_at(RED), WORK), tuple)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (msgspec.json.encode(ANSWER), "was not written by `treadle emit` or emit_exit"),
        (written(format=2), "has a format that this version does not know"),
        (written(answer=[]), "was not written by `treadle emit` or emit_exit"),
        (written(via="post"), "was not written by `treadle emit` or emit_exit"),
        (written(more=1), "was not written by `treadle emit` or emit_exit"),
        (b"[]", "was not written by `treadle emit` or emit_exit"),
        (b"{", "is not JSON"),
        (written(answer={"exit": {"type": "GC"}}), "exit.type: GC is not an exit of this step"),
    ],
)
def test_a_malformed_answer_file_is_faulty(data: bytes, said: str) -> None:
    found = parse(data, step_exits_at(RED), WORK)
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


# `.ai/executor-result`, case by case.


@pytest.mark.parametrize("case", golden("executor_result.yaml"), ids=lambda case: case["name"])
def test_golden_executor_results(case: dict[str, Any]) -> None:
    assert summed_up(parse_executor_result(case["text"].encode(), step_exits_at(case["step"]))) == expected(case)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"status: \xff", "is not UTF-8"),
        (b"\x00", "U+0000"),
        (b"a: " + b"[" * 200, "nested more than 64"),
        (b"{" + b'"a":{' * 5000, "nested more than 64"),
        (b"a: " + b"x" * MAX_YAML, "the limit is"),
        (b'{"status": NaN}', "NaN"),
        (b"a: !!python/object:os.system x", "tags are not supported"),
    ],
)
def test_hostile_bytes_are_faulty_with_their_reason(data: bytes, said: str) -> None:
    found = parse_executor_result(data, step_exits_at("waterfall/story/impl"))
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


# HANDOFF.md, case by case.


@pytest.mark.parametrize("case", golden("handoff.yaml"), ids=lambda case: case["name"])
def test_golden_handoffs(case: dict[str, Any]) -> None:
    found = parse_handoff(case["text"].encode(), step_exits_at(case["step"]), case["step"].split("/")[2], 2)
    assert summed_up(found) == expected(case)


@pytest.mark.parametrize("case", golden("legacy.yaml"), ids=lambda case: case["name"])
def test_golden_legacy_handovers(case: dict[str, Any]) -> None:
    assert summed_up(parse_legacy(case["text"].encode(), step_exits_at(case["step"]))) == expected(case)


def test_a_copy_of_a_gate_goes_by_its_base() -> None:
    text = b"---\nstep: impl\nattempt: 2\nstatus: pass\nsummary: x\n---\n"
    assert (
        summed_up(parse_handoff(text, step_exits_at("waterfall/story/impl"), "impl@other", 2))["claim"] == "pass_green"
    )


@pytest.mark.parametrize(
    ("story", "inst", "is_own"),
    [
        ("US-1", "root/US-1", True),
        ("US-9", "root/US-1", False),
        ("US-1", "root/US-1~2", True),
        ("US-1", "root/US-1/core", True),
        ("US-2", "root/US-1/core", False),
        ("Story 1/2", "root/Story-1-2", True),
        ("7", "root/7", True),
        ("null", "root/US-1", True),
        ("US-9", "root", True),
    ],
)
def test_a_hand_over_of_another_story_is_not_this_ones(story: str, inst: str, is_own: bool) -> None:
    text = f"---\nstory: {story}\nstep: impl\nattempt: 2\nstatus: pass\nsummary: x\n---\n".encode()
    found = parse_handoff(text, step_exits_at("waterfall/story/impl"), "impl", 2, inst=inst)
    assert isinstance(found, Claim if is_own else Stale)
    stale = str(summed_up(found).get("stale", ""))
    named = (".ai/HANDOFF.md", f"story '{story}'", "story 'US-1'")
    assert is_own or [text for text in named if text not in stale] == []


def test_front_matter_of_another_kind_is_no_answer() -> None:
    assert parse_handoff(b"---\ntype: note\nstatus:\n---\n", step_exits_at("waterfall/story/impl"), "impl", 2) is None


@given(st.binary(max_size=60), st.sampled_from([b"", b"---\n", b"---\nstep: impl\nattempt: 2\nstatus: "]))
def test_any_file_gives_a_claim_or_a_fault(data: bytes, head: bytes) -> None:
    step_exits = step_exits_at("waterfall/story/impl")
    text = head + data + (b"\n---\n" if head else b"")
    assert isinstance(parse_handoff(text, step_exits, "impl", 2), Claim | Faulty | Stale | None)
    assert isinstance(executor_result.parse(head[4:] + data, step_exits), Claim | Faulty)


def test_bytes_that_are_no_text() -> None:
    step_exits = step_exits_at("waterfall/story/impl")
    assert "is not UTF-8" in summed_up(parse_handoff(b"---\n\xff", step_exits, "impl", 2))["problems"][0]
    assert parse_legacy(b"SCOPE WARNING\xff", step_exits) is None


# An agent's last words, case by case.


@pytest.mark.parametrize("case", golden("final_message.yaml"), ids=lambda case: case["name"])
def test_golden_final_messages(case: dict[str, Any]) -> None:
    assert summed_up(parse_final_message(case["text"], step_exits_at(case["step"]))) == expected(case)


@given(st.lists(st.sampled_from(["{", "}", "```", "```json", '{"exit": {', "→[RC,x]", "→", "x", ' "exit": [', ""])))
def test_any_message_gives_a_claim_a_fault_or_none(lines: list[str]) -> None:
    found = parse_final_message("\n".join(lines), step_exits_at(RED))
    assert found is None or isinstance(found, Claim | Faulty)


@pytest.mark.parametrize("line", ["{", "→[" + "[" * 99, "```", '{"exit": {', "→RC" * 40])
def test_a_huge_message_is_parsed_quickly(line: str) -> None:
    text = (line + "\n") * (400_000 // len(line))
    before = time.process_time()
    parse_final_message(text, step_exits_at(RED))
    assert time.process_time() - before < 5


def test_only_the_end_of_a_too_long_message_is_read() -> None:
    flood = "x" * (MAX_ANSWER + 10)
    assert summed_up(parse_final_message(flood + '\n{"exit": {"type": "RC"}}', step_exits_at(RED)))["claim"] == "RC"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"exit": {"type": "RC", "message": "' + "x" * MAX_ANSWER + '"}}', f"bytes, the limit is {MAX_ANSWER}"),
        ("x" * MAX_ANSWER + '"}}', "the answer in the last message is too large: its beginning is more than"),
        ('"x",\n' * (MAX_ANSWER // 4) + "]}\n}\n```\n", "the answer in the last message is too large"),
        ('{"exit": ' + "[" * 100_000 + "]" * 100_000 + "}", f"nested more than {MAX_DEPTH} levels deep"),
        ('{"exit": {"type": "RC", "message": "\udcff"}}', "the answer in the last message is not UTF-8"),
        ("→[RC,\udcff]", "the code in the last message is not UTF-8"),
        ("→[\udcff]", "the code in the last message is not UTF-8"),
    ],
)
def test_a_faulty_last_message_is_reported_with_its_reason(text: str, said: str) -> None:
    found = parse_final_message(text, step_exits_at(RED))
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_much_output_without_an_answer_is_no_answer() -> None:
    assert parse_final_message("all is well\n" * (MAX_ANSWER // 10), step_exits_at(RED)) is None
    assert parse_final_message("if (x) { y(); }", step_exits_at(RED)) is None


def test_bytes_that_are_no_text_harm_no_answer_beside_them() -> None:
    assert summed_up(parse_final_message('\udcff\udc80\n{"exit": {"type": "RC"}}', step_exits_at(RED)))["claim"] == "RC"
