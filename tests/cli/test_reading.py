"""The commands that show runs, on recorded ones."""

import asyncio
import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import jsonschema
import pytest

from tests.cli.treadle import treadle
from tests.recorded import add_run, drive, project, record
from tests.store.runs import NOW
from tools.json_page import json_schema
from treadle.protocol.load import load
from treadle.store.sqlite import Store

DEFS = json.loads(json_schema())
READERS = (["status", "r"], ["log", "r"], ["show", "r", "x"], ["cost", "r"], ["evidence", "r"], ["replay", "r"])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def valid(document: object, name: str) -> None:
    jsonschema.Draft202012Validator({**DEFS, "$ref": f"#/$defs/{name}"}).validate(document)


def store_of(root: Path) -> Path:
    return root / ".treadle" / "local" / "store.db"


def test_without_a_store_there_are_no_runs_yet(here: Path) -> None:
    (here / ".treadle").mkdir()
    found = treadle("runs")
    assert (found.code, found.err, found.lacks("`treadle run SPEC`")) == (0, "", [])
    assert treadle("runs", "--json").json() == {"schema": 1, "runs": []}
    assert treadle("status") == treadle("runs")
    assert treadle("status", "--json").json() == {"schema": 1, "runs": [], "folded": 0}
    for command in (*READERS, ["status", "--watch"]):
        found = treadle(*command)
        assert (found.code, found.out, found.error) == (2, "", "run.none")
    assert not store_of(here).exists()


def test_outside_of_a_project_every_reader_is_refused(here: Path) -> None:
    for command in (["runs"], *READERS):
        outcome = treadle(*command)
        assert (outcome.code, outcome.error) == (2, "project.missing")
    assert list(here.iterdir()) == []


def test_runs_are_listed(here: Path) -> None:
    record(here, "slug", "fractal")
    listing = treadle("runs", "--json").json()
    valid(listing, "Listing")
    (run,) = listing["runs"]
    assert (run["run"], run["protocol"], run["status"], run["outcome"]) == ("slug", "fractal", "ended", "Merged")
    assert "| slug | fractal | ended: Merged |" in treadle("runs").out


@pytest.mark.parametrize("of", ["v3", "riper"])
def test_json_documents_fit_their_schemas(of: str, here: Path) -> None:
    state = record(here, of=of, refuses=1)
    status = treadle("status", "r", "--json").json()
    valid(status, "Status")
    assert (status["events"], status["outcome"]) == (state.seq, state.outcome)
    lines = [json.loads(line) for line in treadle("log", "r", "--json").out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, state.seq + 1))
    for line in lines:
        valid(line, "LoggedEvent")
    cost = treadle("cost", "r", "--json").json()
    valid(cost, "Cost")
    assert cost["total"]["cost"] == state.usage.cost
    for act in {line["event"]["act"] for line in lines if "act" in line["event"]}:
        valid(json.loads(treadle("show", "r", act, "--json").out), "Story")


def test_a_document_that_breaks_its_schema_is_invalid(here: Path) -> None:
    record(here)
    status = treadle("status", "r", "--json").json()
    status["instances"][0]["positions"] = "nowhere"
    with pytest.raises(jsonschema.ValidationError):
        valid(status, "Status")


def test_readers_default_to_the_latest_run(here: Path) -> None:
    store, protocol = project(here), load("fractal")
    for name in ("first", "second"):
        add_run(store, name, protocol)
    store.close()
    assert [run["run"] for run in treadle("status", "--json").json()["runs"]] == ["second", "first"]
    assert treadle("log").out == treadle("log", "second").out
    assert treadle("status", "fir").out.startswith("first · ")
    assert "did you mean 'second'?" in treadle("status", "secnd").err


@pytest.mark.parametrize("command", ["log", "cost", "replay", "evidence"])
def test_readers_without_a_name_take_the_latest_run(command: str, here: Path) -> None:
    record(here, "only", refuses=1)
    assert treadle(command) == treadle(command, "only")
    assert treadle(command).code == 0


def test_an_activity_of_the_only_run_needs_no_run_name(here: Path) -> None:
    record(here, "only", refuses=1)
    shown = treadle("show", "scaffold#1.1")
    assert shown.code == 0
    assert shown == treadle("show", "only", "scaffold#1.1")
    for words in ([], ["only"]):
        asked = treadle("show", *words)
        assert (asked.code, asked.out, asked.error) == (2, "", "usage.missing")
        assert f"`{' '.join(['treadle', 'log', *words])}`" in asked.err
    store = Store(store_of(here))
    add_run(store, "other", load("v3"))
    store.close()
    several = treadle("show", "scaffold#1.1")
    assert (several.code, several.out, several.error) == (2, "", "run.ambiguous")
    assert "other, only" in several.err
    assert treadle("show", "on", "scaffold#1.1") == shown


def test_a_question_is_shown_with_the_commands_that_answer_it(here: Path) -> None:
    record(here, refuses=99, stops=0)
    out = treadle("status").out
    named = (
        "root: stuck · asks a person: ",
        "retry, replan, abort",
        "  root:scaffold#1.5 led to it: ",
        "\n  > mend it\n",
    )
    assert [text for text in named if text not in out] == []
    assert [f"treadle answer r {choice} " in out for choice in ("retry", "replan", "abort")] == [True] * 3
    assert "5,000 tokens in, 1,000 out" in out
    (question,) = treadle("status", "r", "--json").json()["questions"]
    assert (question["step"], question["by"]) == ("stuck@scaffold", "root:scaffold#1.5")


def test_a_go_is_shown_with_its_command(here: Path) -> None:
    record(here, of="riper", stops=0)
    assert ": CC PLAN MODE\n  treadle go r O1P --resume\n" in treadle("status").out


def test_the_log_has_a_line_for_each_event(here: Path) -> None:
    state = record(here)
    out = treadle("log", "r").out.splitlines()
    assert len(out) == state.seq
    assert [text for text in ("root:merge#1.1 ", "MergeComplete", " Merged") if text not in out[-1]] == []
    assert treadle("log", "r", "--follow").out.splitlines() == out


def test_an_activity_is_shown_by_a_part_of_its_name(here: Path) -> None:
    record(here, refuses=1)
    out = treadle("show", "r", "scaffold#1.1").out
    assert out.splitlines()[0].split(" · ") == ["root:scaffold#1.1", "planner:Scaffold", "refused (checkpoint failed)"]
    sections = [line.strip("─ ") for line in out.splitlines() if line.startswith("── ")]
    assert sections == ["Why", "Claim", "Checks", "Given", "Prompt", "Next"]
    assert "the Planner" in out.partition("── Prompt")[2]
    assert "InitWork by emit at 20" in out
    assert "checkpoint: FAILED" in out
    assert not [line for line in out.splitlines() if line.strip() in ("{", "}", "[", "]")], "only --json prints JSON"
    told = json.loads(treadle("show", "r", "scaffold#1.1", "--json").out)
    assert (told["attempt"], told["attempts"], told["step"]) == (1, 5, "scaffold")


def test_the_reason_of_a_refusal_is_shown_first_and_once(here: Path) -> None:
    record(here, refuses=1)
    out = treadle("show", "scaffold#1.1").out
    why = out.split("\n\n")[1].splitlines()
    assert (why[0], why[1].endswith("InitWork, attempt 1:"), why[2]) == ("── Why ──", True, "  checkpoint")
    assert "  mend it" in why
    assert out.count("mend it") == 1
    assert "── Why ──" not in treadle("show", "scaffold#1.2").out


def test_a_long_prompt_is_cut_and_shown_whole_if_asked_for(here: Path) -> None:
    record(here, refuses=1)
    prompt = next((here / ".treadle" / "local" / "runs").glob("r/acts/root*scaffold*1.1*/bundle/prompt.md"))
    prompt.write_text("".join(f"line {number}\n" for number in range(1, 32)), encoding="utf-8")
    shown = treadle("show", "scaffold#1.1").out
    assert "line 30\n… 1 more line\n" in shown
    assert "treadle show r 'root:scaffold#1.1' --prompt" in shown
    assert treadle("show", "scaffold#1.1", "--prompt").out == prompt.read_text(encoding="utf-8")
    assert treadle("show", "merge", "--prompt").error == "usage.conflict"
    assert treadle("show", "merge", "--prompt", "--json").code == 2


def test_a_name_that_is_not_clear_is_not_guessed(here: Path) -> None:
    record(here, refuses=1)
    several, none = treadle("show", "r", "scaffold"), treadle("show", "r", "scafold#1.1")
    assert (several.code, several.error) == (2, "usage.ambiguous")
    assert "root:scaffold#1.1, root:scaffold#1.2" in several.err
    assert (none.code, none.error, "'root:scaffold#1.1'" in none.err) == (2, "usage.unknown", True)


def test_an_agents_text_cannot_act_on_a_terminal(here: Path) -> None:
    record(here, refuses=1)
    prompt = next((here / ".treadle" / "local" / "runs").glob("r/acts/root*scaffold*1.1*/bundle/prompt.md"))
    prompt.write_bytes(b"\x1b[2J\x9b5m\xe2\x80\xae evil\x00\r\n")
    out = treadle("show", "r", "scaffold#1.1").out
    assert "␛[2J" in out
    assert "⟨U+D800⟩" in out
    assert all(char.isprintable() or char == "\n" for char in out)
    told = json.loads(treadle("show", "r", "scaffold#1.1", "--json").out)
    assert told["prompt"].startswith("\x1b[2J")


def test_a_prompt_is_not_read_through_a_link(here: Path) -> None:
    record(here, refuses=1)
    secret = here / "secret"
    secret.write_text("hunter2", encoding="utf-8")
    prompt = next((here / ".treadle" / "local" / "runs").glob("r/acts/root*scaffold*1.1*/bundle/prompt.md"))
    prompt.unlink()
    prompt.symlink_to(secret)
    assert "hunter2" not in treadle("show", "r", "scaffold#1.1").out


def test_costs_are_added_up_in_six_ways(here: Path) -> None:
    record(here, refuses=2)
    out = treadle("cost", "r").out
    assert [line for line in out.splitlines() if line.startswith("###")] == [
        "### By role", "### By step", "### By instance", "### By attempt", "### By conversation",
        "### By step and conversation",
    ]  # fmt: skip
    assert "| planner | 3 | 3,000 | 600 | 0.75 |" in out
    assert out.count("| total | 6 | 6,000 | 1,200 | 1.50 |") == 6


def test_a_replay_prints_the_outcome_and_the_number_of_events(here: Path) -> None:
    state = record(here, of="riper")
    outcome = treadle("replay", "r")
    assert outcome.code == 0
    assert outcome.out.splitlines()[0].split()[-1] == "Done"
    assert f"  {state.seq} events" in outcome.out


def _watcher(root: Path) -> "subprocess.Popen[str]":
    """Another process, which follows the run of this project until it ends."""
    command = [sys.executable, "-m", "treadle", "status", "--watch"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, text=True)


def test_a_watcher_sees_everything_and_ends_with_the_run(here: Path) -> None:
    store, protocol = project(here), load("fractal")
    add_run(store, "r", protocol)
    watcher = _watcher(here)
    state = drive(here, store, "r", protocol)
    out = watcher.communicate(timeout=60)[0].splitlines()
    store.close()
    assert watcher.returncode == 0
    events = [int(line.split()[0]) for line in out if line[:1] == " " and line.split()[0].isdigit()]
    assert events == list(range(1, state.seq + 1))
    assert any(line.startswith(f"r · fractal · ended: Merged · {state.seq} events") for line in out)


@pytest.mark.parametrize("more", [[], ["--watch"]])
def test_on_a_terminal_the_tree_is_drawn(more: list[str], here: Path) -> None:
    record(here, of="riper")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "treadle", "status", *more]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    process = subprocess.Popen(command, cwd=here, env=env, stdout=theirs)
    os.close(theirs)
    shown = _until_closed(ours)
    assert process.wait(60) == 0
    assert "╭─ r · riper · ended: Done · 34 events" in shown
    assert "✔ root" in shown


def _until_closed(handle: int) -> str:
    """What a terminal shows until nobody writes to it any more."""
    found = b""
    with suppress(OSError):
        while piece := os.read(handle, 65_536):
            found += piece
    os.close(handle)
    return found.decode()


def test_a_watching_program_gets_a_document_a_line(here: Path) -> None:
    record(here, of="fractal")
    lines = treadle("status", "--watch", "--json").out.splitlines()
    for line in lines:
        valid(json.loads(line), "Status")
    assert json.loads(lines[-1])["outcome"] == "Merged"


@pytest.mark.parametrize("command", [["status", "r"], ["log", "r"], ["cost", "r"], ["replay", "r"], ["runs"]])
def test_readers_need_no_lease_and_take_none(command: list[str], here: Path) -> None:
    record(here, refuses=99, stops=0)
    store = Store(store_of(here))
    lease = asyncio.run(store.take_lease("r", NOW))
    assert treadle(*command).code == 0
    assert f"process {os.getpid()}" in treadle("status").out
    asyncio.run(store.release(lease))
    store.close()


def test_readers_see_committed_data_only_and_do_not_wait(here: Path) -> None:
    record(here)
    with closing(sqlite3.connect(store_of(here), isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM events")
        assert treadle("log", "r").out.count("\n") == 10
        db.execute("ROLLBACK")


def test_a_log_that_was_changed_is_refused_with_its_run_and_event(here: Path) -> None:
    record(here)
    with closing(sqlite3.connect(store_of(here))) as db, db:
        db.execute("UPDATE events SET body = replace(CAST(body AS TEXT), 'root', 'roof') WHERE seq = 2")
    outcome = treadle("status", "r")
    assert (outcome.code, outcome.out, outcome.error) == (2, "", "log.changed")
    assert outcome.lacks("run r: event 2 ", "backup of .treadle/local") == []


def test_no_payload_is_shown_twice(here: Path) -> None:
    record(here, refuses=1)
    told = json.loads(treadle("show", "r", "scaffold#1.1", "--json").out)
    claimed = told["payloads"][told["claim"]["payload"]]
    lines = [line.strip() for line in treadle("show", "r", "scaffold#1.1").out.splitlines()]
    assert lines.count(f"contractSuite: {claimed['contractSuite']}") == 1
