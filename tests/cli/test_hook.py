"""The hook of an agent that somebody has started by hand: what it is told, and what becomes of the run."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.chores import until
from tests.cli.hooked import Agent, lane, message, said
from tests.cli.kept import KEPT, Kept, run
from tests.cli.treadle import Outcome, status, treadle
from treadle.hooks.call import GOES_ON

DID = "status: Did\nsummary: swept\n"


@pytest.fixture
def agent(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Agent:
    assert kept.root.is_dir()
    return Agent(lane(run("--level", "0")), monkeypatch)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kept, Path]]:
    """A run that nobody moves, for agents that are held up, or are none of its business."""
    root = tmp_path_factory.mktemp("standing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("XDG_CONFIG_HOME", str(root / "home"))
        patch.setenv("TREADLE_SET", "workspace.box=off")
        kept = Kept(root)
        kept.add("kept", KEPT.replace("Stuck: {severity", "Stuck: {also: [failing], severity"))
        found = lane(run("--level", "0"))
    yield kept, found
    assert "work#1.2" not in _log(root), "nothing here has cost an attempt"


@pytest.fixture
def idler(standing: tuple[Kept, Path], monkeypatch: pytest.MonkeyPatch) -> Agent:
    kept, folder = standing
    monkeypatch.chdir(kept.root)
    shutil.rmtree(folder / ".ai", ignore_errors=True)
    for note in kept.root.glob(".treadle/local/runs/*/acts/*/hook.json"):
        note.unlink()
    return Agent(folder, monkeypatch)


def _log(root: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return treadle("log", "sweep-1").out


def test_accepted_work_lets_the_agent_stop_and_the_run_go_on(agent: Agent) -> None:
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    told = message(agent.ends())
    assert [text for text in ("(attempt 1)", "accepted: Did", "Finished") if text not in told] == []
    assert status("sweep-1")["outcome"] == "Finished"
    assert "claims Did (executor-result)" in treadle("log", "sweep-1").out


def test_the_front_matter_of_a_handoff_counts_and_its_body_is_kept(agent: Agent) -> None:
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/HANDOFF.md", "---\nstep: work\nattempt: 1\nstatus: Did\ntests_pass: 99\n---\nAll swept.\n")
    assert "is accepted: Did" in message(agent.ends())
    assert "claims Did (handoff)" in treadle("log", "sweep-1").out


def test_evidence_names_the_person_and_the_team_member_of_a_hook(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    assert agent.ends(teammate_name="sweeper-2").code == 0
    accepted = treadle("evidence", "sweep-1", "--json").json()["accepted"]
    assert [it["by"] for it in accepted if it["step"] == "work"] == ["alice with sweeper-2"]


def test_the_last_message_counts_too(agent: Agent) -> None:
    agent.writes("swept/floor.txt", "clean\n")
    answer = json.dumps({"exit": {"type": "Did", "summary": "swept"}})
    assert "is accepted: Did" in message(agent.ends(last_assistant_message=f"Here you are:\n{answer}"))


def test_refused_work_may_not_end_and_the_agent_reads_why(agent: Agent) -> None:
    agent.writes("elsewhere.txt", "not mine to write\n")
    agent.writes(".ai/executor-result", DID)
    refused = agent.ends()
    assert refused.code == GOES_ON
    assert not refused.out
    assert [text for text in ("Did, attempt 1:\n  scope\n", "elsewhere.txt") if text not in refused.err] == []
    assert "Continue with attempt 2" in refused.err
    prompt = refused.err.partition(" is in\n  ")[2].partition("\n")[0]
    assert "attempt" in Path(prompt).read_text()


def test_a_corrected_answer_is_accepted(agent: Agent) -> None:
    agent.writes("elsewhere.txt", "not mine to write\n")
    agent.writes(".ai/executor-result", DID)
    agent.ends()
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    told = message(agent.ends(again=True))
    assert [text for text in ("(attempt 2)", "accepted: Did") if text not in told] == []


def test_a_second_stop_passes_and_tells_the_person_about_the_refusal(agent: Agent) -> None:
    agent.writes(".ai/executor-result", DID)
    agent.writes("elsewhere.txt", "not mine to write\n")
    told = message(agent.ends(again=True))
    assert "refused Did, attempt 1" in told
    assert "Continue with attempt 2" in told
    assert "holds no answer" in message(agent.ends(again=True))


def test_when_no_attempt_is_left_a_person_decides(agent: Agent) -> None:
    for _ in range(2):
        agent.writes("elsewhere.txt", "not mine to write\n")
        agent.writes(".ai/executor-result", DID)
        assert agent.ends().code == GOES_ON
    agent.writes("elsewhere.txt", "not mine to write\n")
    agent.writes(".ai/executor-result", DID)
    told = message(agent.ends())
    assert "refused Did, attempt 3" in told
    assert "treadle answer sweep-1" in told


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (".ai/executor-result", "", "the file is empty"),
        (".ai/executor-result", "summary: swept\n", "does not say how the step ended"),
        (".ai/executor-result", "status: done\n", "'done' is not an exit of this step"),
        (".ai/executor-result", "status: passing\n", "this step ends with Did or Stuck"),
        (".ai/executor-result", "status: [Did\n", ".ai/executor-result"),
        (".ai/executor-result", "status: Did\n", "summary"),
        (".ai/HANDOFF.md", "---\nstep: work\n\tattempt: 1\n---\n", "HANDOFF.md"),
        (".ai/HANDOFF.md", "---\nstep: work\nattempt: 0\nstatus: Did\n---\nx\n", "not for attempt '1'"),
        (".ai/HANDOFF.md", "---\nstep: impl\nattempt: 1\nstatus: Did\n---\nx\n", "not for step 'work'"),
        (".ai/HANDOFF.md", "---\nstep: work\nattempt: 1\nstatus: Did\nno end\n", "is never closed"),
    ],
)  # fmt: skip
def test_an_invalid_answer_may_not_end_and_costs_no_attempt(idler: Agent, path: str, text: str, words: str) -> None:
    idler.writes(path, text)
    held = idler.ends()
    assert held.code == GOES_ON
    assert words in held.err
    assert "status: Did | " in held.err


def test_an_agent_without_an_answer_is_asked_once(idler: Agent) -> None:
    held = idler.ends()
    assert held.code == GOES_ON
    assert [text for text in ("(attempt 1)", "[hook.not_ended]") if text not in held.err] == []
    assert "[hook.not_ended]" in message(idler.ends(again=True))


def test_an_old_body_counts_only_where_it_is_asked_for(idler: Agent) -> None:
    idler.writes(".ai/HANDOFF.md", "# HANDOFF\nNEEDS CLARIFICATION: which broom?\n")
    assert "holds no answer" in idler.ends().err
    held = idler.ends(options=("--legacy",))
    assert "exit.why: is missing" in held.err, "the words were found, and this exit wants more"


def test_a_helper_of_an_agent_may_end_without_an_answer(idler: Agent) -> None:
    assert idler.ends("SubagentStop") == Outcome(0, "", "")
    idler.writes(".ai/executor-result", "status: done\n")
    assert idler.ends("SubagentStop").code == GOES_ON


def test_other_hook_events_are_ignored(idler: Agent) -> None:
    for event in ("SessionStart", "PreToolUse", "", "Nonsense", "TaskCompleted", "TeammateIdle"):
        assert idler.ends(event) == Outcome(0, "", "")


def test_an_agent_outside_of_any_run_is_left_alone(idler: Agent, tmp_path: Path) -> None:
    for folder in (Path.cwd(), tmp_path, tmp_path / "gone"):
        idler.folder = folder
        assert idler.ends() == Outcome(0, "", "")


def test_an_agent_in_the_checkout_belongs_to_the_step_that_its_transcript_names(agent: Agent, kept: Kept) -> None:
    lane = agent.folder
    agent.record.write_text(json.dumps({"text": f"work in {lane}, then stop"}))
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    agent.folder = kept.root
    assert "is accepted: Did" in message(agent.ends())


def test_an_agent_in_the_checkout_owes_an_answer_once_it_has_read_the_prompt(idler: Agent) -> None:
    folder, idler.folder = idler.folder, Path.cwd()
    idler.record.write_text(json.dumps({"text": f"look at {folder}"}))
    assert idler.ends() == Outcome(0, "", "")
    (prompt,) = Path.cwd().glob(".treadle/local/runs/sweep-1/acts/*/bundle/prompt.md")
    idler.record.write_text(json.dumps({"text": f"read {prompt}"}))
    assert idler.ends().code == GOES_ON


def test_a_session_from_before_the_step_owes_no_answer(idler: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    early = Agent(idler.folder, monkeypatch, began=time.time() - 3600)
    assert early.ends() == Outcome(0, "", "")
    about_another = json.dumps({"exit": {"type": "Stuck", "why": "of the step before"}})
    assert early.ends(last_assistant_message=about_another) == Outcome(0, "", "")
    early.writes(".ai/executor-result", "status: done\n")
    assert early.ends().code == GOES_ON, "what it writes counts all the same"
    (early.folder / ".ai" / "executor-result").unlink()
    assert early.ends().code == GOES_ON, "now it knows"


def test_an_agent_that_has_answered_by_itself_may_end(agent: Agent) -> None:
    agent.writes("swept/floor.txt", "clean\n")
    assert treadle("done", "--exit", "Did", "--field", "summary=swept").code == 0
    assert agent.ends() == Outcome(0, "", "")


def test_the_hook_ignores_agents_that_treadle_started(idler: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_ACT", "root:work#1.1")
    assert idler.ends() == Outcome(0, "", "")


@pytest.mark.parametrize("data", [b"", b"\xff", b"[1]", b"{" * 9999, b'{"cwd": 5}', b'{"cwd": "/\\u0000"}'])
def test_malformed_input_never_blocks_the_agent(data: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = said(data, monkeypatch)
    assert found.code in (0, 1)
    assert "Traceback" not in found.err


def test_an_unreadable_store_does_not_block_the_agent(agent: Agent, kept: Kept) -> None:
    (kept.root / ".treadle" / "local" / "store.db").write_bytes(b"broken" * 1000)
    found = agent.ends()
    assert found.code == 1
    assert "Traceback" not in found.err
    assert found.err.startswith("treadle: ")


def test_without_runs_the_hook_is_silent(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"cwd": str(kept.root), "hook_event_name": "Stop"}
    assert said(json.dumps(told).encode(), monkeypatch) == Outcome(0, "", "")


def test_the_help_names_the_option_for_old_handovers() -> None:
    assert "--legacy" in treadle("hook", "--help").out


@pytest.mark.soak
def test_the_running_driver_judges_the_work(agent: Agent, kept: Kept) -> None:
    with kept.background("serve") as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("serving ")
        until(lambda: "driven by process" in treadle("status").out, "the server drives the run")
        agent.writes("elsewhere.txt", "not mine to write\n")
        agent.writes(".ai/executor-result", DID)
        assert "refused Did, attempt 1" in agent.ends().err
        agent.writes("swept/floor.txt", "clean\n")
        agent.writes(".ai/executor-result", DID)
        assert "is accepted: Did" in message(agent.ends(again=True))


@pytest.mark.soak
def test_two_calls_at_once_hand_in_once(agent: Agent, kept: Kept) -> None:
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    told = json.dumps({"session_id": "s", "cwd": str(agent.folder), "hook_event_name": "Stop"})
    command = [sys.executable, "-P", "-m", "treadle", "hook"]
    calls = [
        subprocess.Popen(command, cwd=kept.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for call in calls:
        assert call.stdin is not None
        call.stdin.write(told.encode())
        call.stdin.close()
    ends = [(call.wait(60), call.stderr.read().decode() if call.stderr else "") for call in calls]
    for call in calls:
        for pipe in (call.stdout, call.stderr):
            if pipe:
                pipe.close()
    assert [code for code, _ in ends] == [0, 0, 0], ends
    log = treadle("log", "sweep-1").out
    assert log.count("claims Did") == 1
    assert "Finished" in log


def test_a_variant_of_an_exit_is_shown_by_its_familiar_name(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = KEPT.replace("Did", "Did_well").replace("Did_well: {summary", "Did_well: {also: [Did], summary")
    kept.add("kept", kinds)
    agent = Agent(lane(run("--level", "0")), monkeypatch)
    assert "  status: Did | Stuck\n" in agent.ends().err
    agent.writes("elsewhere.txt", "not mine to write\n")
    agent.writes(".ai/executor-result", DID)
    assert "refused Did, attempt 1:" in agent.ends().err
    agent.writes("swept/floor.txt", "clean\n")
    agent.writes(".ai/executor-result", DID)
    assert "is accepted: Did\n" in message(agent.ends(again=True))
    assert "worker · accepted: Did\n" in treadle("show", "sweep-1", "root:work#1.2").out
