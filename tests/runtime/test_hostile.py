"""Whatever an agent does: the right exit, a report that can be read, bounded memory, and nothing left running."""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import CommandRunner
from treadle.agents.program import Patience
from treadle.kernel.events import Failed
from treadle.protocol.model import Protocol
from treadle.views.words import reason

LIARS = Path(__file__).with_name("liars.py")


def played(root: Path, name: str, table: Protocol | None = None, *more: str) -> tuple[str, Stage]:
    """The outcome of a run whose only agent is this one."""
    patience = Patience(answered=5, asked=1)
    runner = CommandRunner(argv=(sys.executable, str(LIARS), name, *more), root=root, patience=patience)
    stage = Stage(root, table or with_role(ONE_STEP, infra_retries=0), runner)
    state = asyncio.run(asyncio.wait_for(stage.drive(), 60))
    return state.outcome, stage


def report(stage: Stage) -> Any:
    [failed] = [event for event in stage.events() if isinstance(event, Failed)]
    return stage.store.payloads.get(failed.detail_ref)


@pytest.mark.parametrize(
    ("name", "outcome", "said"),
    [
        ("says_nothing", "Invalid", "you have not handed in an exit"),
        ("says_nothing", "Invalid", "the agent handed in no exit; the step expects Ok or Nok"),
        ("only_complains", "Invalid", "Nok\\nits last words: the exit must be Ok or Nok"),
        ("breaks", "Crashed", "out of credits"),
        ("breaks_aloud", "Crashed", "it ended with code 3; its last words: no network here"),
        ("answers_for_another", "Invalid", "an answer was found but does not count: emit: ignored: it is for"),
        ("answers_with_an_old_token", "Invalid", "does not count: emit: ignored: its token is not the one of this"),
        ("answers_with_an_old_token", "Invalid", "you have not handed in an exit"),
        ("says_no_text", "Invalid", "the answer in the last message is not UTF-8"),
        ("says_fifty_megabytes", "Invalid", "the answer in the last message is too large"),
        ("says_it_deeply", "Invalid", "nested more than 64 levels deep"),
        ("answers_no_json", "Invalid", "answer.json"),
        ("answers_no_text", "Invalid", "UTF-8"),
        ("answers_fifty_megabytes", "Invalid", "answer.json"),
        ("answers_deeply", "Invalid", "nested"),
        ("answers_through_a_pipe", "Invalid", "pipe"),
        ("claims_a_strange_exit", "Invalid", "this step ends with Ok or Nok"),
    ],
)
def test_a_hostile_agent_gets_its_failure_and_report(name: str, outcome: str, said: str, tmp_path: Path) -> None:
    ended, stage = played(tmp_path, name)
    assert ended == outcome
    assert said in json.dumps(report(stage))


def test_a_stale_answer_is_reported_before_the_missing_one(tmp_path: Path) -> None:
    """A line about a run has room for the first thing only."""
    _, stage = played(tmp_path, "hands_over_an_old_attempt")
    said = reason("!invalid", report(stage))
    assert [text for text in ("handoff: ", ".ai/HANDOFF.md", "attempt '7'", "attempt '1'") if text not in said] == []
    assert "Ok or Nok" in report(stage)["told"], "and all of it is kept"


def test_the_last_output_may_be_as_large_as_any_answer(tmp_path: Path) -> None:
    assert played(tmp_path, "says_much")[0] == "Done"


def test_an_agent_that_hangs_is_ended_at_its_deadline(tmp_path: Path) -> None:
    table = with_role(ONE_STEP)
    main = table.graphs["main"]
    hasty = msgspec.structs.replace(main.steps["work"], timeout=1)
    table = msgspec.structs.replace(table, graphs={"main": msgspec.structs.replace(main, steps={"work": hasty})})
    ended, _ = played(tmp_path, "hangs", table)
    assert ended == "TimedOut"


def test_a_flood_of_output_is_bounded_in_memory_and_on_disk(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended, _ = played(tmp_path, "floods", None, "300")
    assert ended == "Done"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 40 << 20


def test_children_that_outlive_their_agent_are_ended(tmp_path: Path) -> None:
    ended, _ = played(tmp_path, "breeds")
    assert ended == "Done"
    [pid] = [int(path.read_text()) for path in tmp_path.rglob("pid")]
    assert not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def test_of_two_answers_the_last_one_counts(tmp_path: Path) -> None:
    assert played(tmp_path, "answers_twice")[0] == "Done"


def test_a_lower_channel_that_contradicts_is_noted_and_not_obeyed(tmp_path: Path) -> None:
    ended, stage = played(tmp_path, "contradicts_itself")
    assert ended == "Done"
    (stray,) = stage.store.strays("r")
    assert stray.detail.startswith("final: ")
    assert [text for text in (" Nok,", " emit ", "(Ok)") if text not in stray.detail] == []


def test_an_answer_for_another_activity_is_noted(tmp_path: Path) -> None:
    _, stage = played(tmp_path, "answers_for_another")
    assert "'root:work#7.7'" in stage.store.strays("r")[0].detail
