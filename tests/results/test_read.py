"""Which channel counts, what is told of the others, and that nothing in their place can harm."""

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.results.desk import Desk, desk
from treadle.results.assignment import assignment
from treadle.results.prepare import Before, prepare
from treadle.results.read import Reading, owed, read

HANDOFF = "---\nstep: impl\nattempt: 2\nstatus: {status}\nsummary: by hand-over\n---\nnotes for you\n"
RESULT = "status: {status}\nsummary: by result\n"
FINAL = '{{"exit": {{"type": "{status}", "summary": "by message"}}}}'


def reading(it: Desk, final: str = "", before: Before | None = None, *, legacy: bool = False) -> Reading:
    return asyncio.run(read(it.work, it.ways, Before() if before is None else before, final, legacy=legacy))


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
def test_the_first_that_is_there_counts(channels: str, channel: str, summary: str, tmp_path: Path) -> None:
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
    assert found.warnings == ("handoff: ignored: .ai/HANDOFF.md is for story 'US-9', not for story 'US-1'",)


def test_what_contradicts_is_recorded_and_not_obeyed(tmp_path: Path) -> None:
    it = desk(tmp_path)
    emitted(it)
    it.put(".ai/executor-result", "status: failing\nreason: scope_warning\nsummary: x\n")
    it.put("HANDOFF.md", HANDOFF.format(status="pass"))
    found = reading(it, "→[needs_human,why?]")
    assert found.claim is not None
    assert found.claim.key == "pass_green"
    assert found.warnings == (
        "executor-result: says failing_measured.scope_warning, but mcp said pass_green and counts",
        "final: says needs_human, but mcp said pass_green and counts",
    )


def test_one_that_cannot_be_taken_counts_too(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put(".ai/executor-result", "status: passed\n")
    found = reading(it, FINAL.format(status="pass"))
    assert found.claim is None
    assert found.channel == "executor-result"
    assert "did you mean 'pass'" in found.problems[0]
    assert found.warnings == (
        "final: says pass_green, but executor-result holds an answer that cannot be taken and counts",
    )


def test_no_answer(tmp_path: Path) -> None:
    found = reading(desk(tmp_path), "I am done.")
    assert found == Reading()


def test_what_an_agent_owes_can_be_told(tmp_path: Path) -> None:
    said = owed(desk(tmp_path).ways)
    assert said.endswith("it ends with pass_green or failing_measured or needs_human")


def test_notes_stand_in_one_of_three_places(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put("HANDOFF.md", "by hand-over")
    assert reading(it).notes == "by hand-over"
    task = assignment(it.env)
    task.hand_in({"type": "pass", "summary": "x", "handoff": "by claim"}, "emit")
    assert reading(it).notes == "by claim"
    task.leave_notes("by tool")
    assert reading(it).notes == "by tool"


def test_a_stale_answer_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    old = desk(tmp_path)
    assignment(old.env).hand_in({"type": "failing", "reason": "none", "summary": "zombie"}, "emit")
    it = desk(tmp_path, retry=1)
    it.put("HANDOFF.md", HANDOFF.format(status="failing").replace("attempt: 2", "attempt: 1"))
    found = reading(it, FINAL.format(status="pass"))
    assert (found.channel, found.claim and found.claim.key) == ("final", "pass_green")
    assert found.warnings == (
        "emit: ignored: it is from try 0 of this activity, not from try 1",
        "handoff: ignored: HANDOFF.md is for attempt '1', not for attempt '2'",
    )


def test_what_was_there_before_is_no_answer(tmp_path: Path) -> None:
    it = desk(tmp_path)
    fill(it, "rh")
    before = asyncio.run(prepare(it.work.lane))
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
def test_strange_things_in_the_place_of_files(file: str, tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    assert "no plain file" in reading(it, FINAL.format(status="pass")).problems[0]
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "is a symbolic link" in reading(it, FINAL.format(status="pass")).problems[0]


def test_a_folder_that_became_a_link_leads_nowhere(tmp_path: Path) -> None:
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
from treadle.results.prepare import Before
from treadle.results.read import read
it = desk(Path(sys.argv[1]))
print(asyncio.run(read(it.work, it.ways, Before())).problems[0])
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
    assert (done.stdout, done.stderr) == ("answer.json has 2000000000 bytes, the limit is 1010000; shorten it\n", "")
