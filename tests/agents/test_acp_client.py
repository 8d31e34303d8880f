"""The client program of ACP agents: what it grants, what it hears, and the turn that it leads."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents import acp_stand_in as stand_in
from treadle.agents.acp_client import AcpJob, Complaints, call_refusal, main, write_refusal
from treadle.results.tools import mcp_config_at

Lead = Callable[..., list[dict[str, Any]]]
LOADS = {"loadSession": True}
FORKS = {"loadSession": True, "sessionCapabilities": {"fork": {}, "resume": {}}}
ALL = ["allow_always", "allow_once", "reject_once"]


def job_in(folder: Path, **changes: Any) -> AcpJob:
    for name in ("lane", "bundle", "out"):
        (folder / name).mkdir(exist_ok=True)
    places = {name: str(folder / name) for name in ("lane", "bundle", "out")}
    return AcpJob(**{**places, "silence": 0.5, **changes})


@pytest.fixture
def lead(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Lead:
    """Leads a turn in which the agent acts so; what the client tells."""

    def led(*actions: list[Any], able: dict[str, Any] = LOADS, **changes: Any) -> list[dict[str, Any]]:
        command = [sys.executable, "-I", "-S", stand_in.__file__, json.dumps(able)]
        prompt = f"Do it. ACTIONS:{json.dumps(actions)}"
        asyncio.run(main(job_in(tmp_path, **changes), command, prompt))
        return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]

    return led


def heard(folder: Path, method: str) -> list[dict[str, Any]]:
    """What the agent was told by a method."""
    lines = (folder / "lane" / "heard.jsonl").read_text().splitlines()
    return [told["params"] for line in lines if (told := json.loads(line)).get("method") == method]


def told(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def test_a_whole_turn_becomes_events(lead: Lead, tmp_path: Path) -> None:
    usage = {"totalTokens": 170, "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 40, "thoughtTokens": 10}
    events = lead(
        ["say", "I begin."],
        ["call", "make test", {"kind": "execute", "status": "pending"}],
        ["raw", "this is no message"],
        ["update", "of_another_time", {"a": 1}],
        ["update", "usage_update", {"used": 5, "size": 9, "cost": {"amount": 0.25, "currency": "USD"}}],
        ["say", "All "],
        ["say", "done."],
        ["end", {"stopReason": "end_turn", "usage": usage}],
    )
    assert events[0] == {"type": "session", "id": "talk-1", "how": "new"}
    assert {"type": "progress", "text": "make test"} in events
    assert told(events, "usage") == [{"type": "usage", "tokens_in": 140, "tokens_out": 30, "cached": 40, "cost": 0.25}]
    assert events[-1] == {"type": "ended", "stop_reason": "end_turn", "final": "All done."}
    capabilities = heard(tmp_path, "initialize")[0]["clientCapabilities"]
    assert capabilities["fs"] == {"writeTextFile": True}, "who may read this way fails to make new files, in places"


@pytest.mark.parametrize(
    ("call", "kinds", "chosen"),
    [
        ({"kind": "edit", "locations": [{"path": "src/a.py"}]}, ALL, "allow_once"),
        ({"kind": "edit", "locations": [{"path": "docs/a.md"}]}, ALL, "reject_once"),
        ({"kind": "edit", "locations": [{"path": "docs/a.md"}]}, ["allow_once", "reject_always"], "reject_always"),
        ({"kind": "edit", "locations": [{"path": "docs/a.md"}]}, ["allow_once"], None),
        ({"kind": "execute", "rawInput": {"command": "make"}}, ["allow_always"], "allow_always"),
        ({"kind": "other", "title": "emit_exit"}, ALL, "allow_once"),
    ],
)
def test_a_permission_request_is_answered_by_the_write_scope(
    call: dict[str, Any], kinds: list[str], chosen: str | None, lead: Lead
) -> None:
    events = lead(["permission", {"title": "it", **call}, kinds], writes=("src/**",))
    expected = {"outcome": "selected", "optionId": f"id-{chosen}"} if chosen else {"outcome": "cancelled"}
    assert json.loads(events[-1]["final"]) == expected
    refused = [{"type": "refused", "what": "it", "why": "docs/a.md: it is not among the files of this step"}]
    assert told(events, "refused") == (refused if "docs" in str(call) else [])


def test_a_call_that_the_agents_own_rules_refuse_is_reported(lead: Lead) -> None:
    call = {"kind": "edit", "locations": [{"path": "docs/a.md"}]}
    failed = {"toolCallId": "w", "status": "failed"}
    events = lead(["call", "w", call], ["update", "tool_call_update", failed], writes=("src/**",))
    assert [event["what"] for event in told(events, "refused")] == ["w"]


def test_files_are_written_where_they_may_be(lead: Lead, tmp_path: Path) -> None:
    (tmp_path / "lane").mkdir()
    (tmp_path / "lane" / "src").symlink_to(tmp_path)
    for place in ("lane/new/a.txt", "lane/src/b.txt", "outside.txt", "out/c.txt", "lane/.git/hooks/x"):
        lead(["write", str(tmp_path / place), "text"])
    assert (tmp_path / "lane/new/a.txt").read_text() == "text"
    assert (tmp_path / "out/c.txt").read_text() == "text"
    assert not any((tmp_path / name).exists() for name in ("b.txt", "outside.txt", "lane/.git"))


@pytest.mark.parametrize(
    ("able", "changes", "session", "asked"),
    [
        (LOADS, {"session": "old"}, {"id": "old", "how": "loaded"}, "session/load"),
        (FORKS, {"session": "old"}, {"id": "old", "how": "resumed"}, "session/resume"),
        (FORKS, {"session": "old", "fork": True}, {"id": "old-branch", "how": "forked"}, "session/fork"),
        (LOADS, {"session": "old", "fork": True}, {"id": "talk-1", "how": "new"}, "session/new"),
        (LOADS, {"session": "gone"}, {"id": "talk-1", "how": "new"}, "session/new"),
        ({}, {"session": "old"}, {"id": "talk-1", "how": "new"}, "session/new"),
    ],
)
def test_a_session_is_loaded_resumed_forked_or_begun_afresh(
    able: dict[str, Any], changes: dict[str, Any], session: dict[str, Any], asked: str, lead: Lead, tmp_path: Path
) -> None:
    job = job_in(tmp_path)
    (tmp_path / "bundle" / "prompt.md").write_text("All of it.")
    (tmp_path / "bundle" / "mcp.json").write_bytes(msgspec.json.encode(mcp_config_at("http://127.0.0.1:9/x", "t")))
    events = lead(["say", "Hello."], able={**able, "mcpCapabilities": {"http": True}}, **changes)
    assert told(events, "session") == [{"type": "session", **session}]
    assert events[-1]["final"] == "Hello.", "what was said long ago does not count"
    [request] = heard(tmp_path, asked)
    header = {"name": "Authorization", "value": "Bearer t"}
    server = {"type": "http", "name": "treadle", "url": "http://127.0.0.1:9/x", "headers": [header]}
    assert (request["cwd"], request["mcpServers"]) == (job.lane, [server])
    is_afresh = session["how"] == "new"
    assert bool([note for note in told(events, "note") if "a new one" in note["text"]]) == is_afresh
    prompt = heard(tmp_path, "session/prompt")[0]["prompt"][0]["text"]
    assert ("All of it." in prompt, "mcp_treadle_emit_exit" in prompt) == (is_afresh, is_afresh)


def test_an_agent_that_reaches_no_address_starts_a_server(lead: Lead, tmp_path: Path) -> None:
    job_in(tmp_path)
    (tmp_path / "bundle" / "mcp.json").write_bytes(msgspec.json.encode(mcp_config_at("http://127.0.0.1:9/x", "t")))
    lead()
    [server] = heard(tmp_path, "session/new")[0]["mcpServers"]
    assert (server["name"], server["command"], server["args"][-1]) == ("treadle", sys.executable, "mcp")


def test_the_model_is_set_or_refused_with_the_known_ones(lead: Lead, tmp_path: Path) -> None:
    lead(model="large")
    [chosen] = heard(tmp_path, "session/set_config_option")
    assert (chosen["configId"], chosen["value"]) == ("model", "large")
    [error] = told(lead(model="huge"), "error")
    assert [text for text in ("'huge'", "small, large") if text not in error["message"]] == []


@pytest.mark.parametrize(
    ("actions", "able", "expected"),
    [
        ([["fail", 429, "Slow down."]], LOADS, {"during": "prompt", "code": 429, "message": "Slow down."}),
        ([["die", 3]], LOADS, {"during": "prompt", "message": "the agent ended too early, with exit code 3"}),
        ([["end", {"stopReason": "never"}]], LOADS, {"during": "start", "message": "violates the protocol"}),
        ([], {"version": 2}, {"during": "start", "message": "it speaks version 2"}),
        (
            [["log", "ERROR rate limit"], ["log", "ERROR rate limit, again"], ["hang"]],
            LOADS,
            {"during": "prompt", "message": "ERROR rate limit, again"},
        ),
    ],
)
def test_a_failing_turn_reports_an_error_with_its_phase(
    actions: list[Any], able: dict[str, Any], expected: dict[str, Any], lead: Lead
) -> None:
    events = lead(*actions, able=able)
    [error] = told(events, "error")
    assert expected["message"] in error["message"]
    assert {name: error[name] for name in expected if name != "message"} == {
        name: value for name, value in expected.items() if name != "message"
    }
    assert not told(events, "ended")


def test_a_program_that_cannot_be_started(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert asyncio.run(main(job_in(tmp_path), [str(tmp_path / "none")], "")) == 1
    assert b"none cannot be started: No such file" in capfdbinary.readouterr().out


def test_a_tool_at_work_may_be_silent_for_long_despite_errors_in_the_log(lead: Lead) -> None:
    complaints = [["log", "error: 429"], ["log", "error: 429"]]
    working = ["call", "long", {"kind": "execute", "status": "in_progress"}]
    slow = ["run", sys.executable, "-I", "-S", "-c", "import time; time.sleep(1)"]
    events = lead(working, *complaints, slow, ["say", "Done."])
    assert events[-1]["stop_reason"] == "end_turn"


def test_sigterm_cancels_the_turn(lead: Lead, tmp_path: Path) -> None:
    stop = f"import os, signal; os.kill({__import__('os').getpid()}, signal.SIGTERM)"
    events = lead(["run", sys.executable, "-I", "-S", "-c", stop], ["hang"])
    assert events[-1] == {"type": "ended", "stop_reason": "cancelled", "final": ""}
    assert heard(tmp_path, "session/cancel") == [{"sessionId": "talk-1"}]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def job_with_source(folder: Path, **changes: Any) -> AcpJob:
    lane = folder / "lane"
    (lane / "src").mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir(exist_ok=True)
    return AcpJob(lane=str(lane), bundle=str(folder / "bundle"), out=str(folder / "out"), **changes)


@pytest.mark.parametrize(
    ("path", "writes", "why"),
    [
        ("src/a.py", None, ""),
        ("src/a.py", ("src/**",), ""),
        ("src/a.py", ("src/**", "!src/a.py"), "not among"),
        ("docs/a.md", ("src/**",), "not among"),
        ("docs/a.md", (), "not among"),
        ("../a", None, "outside"),
        ("src/../../a", None, "outside"),
        ("/etc/passwd", None, "outside"),
        ("link/a", None, "outside"),
        ("link", None, "outside"),
        ("loop/a", None, "invalid"),
        (".git/config", None, "git's own"),
        ("../out/answer", (), ""),
        ("src/\0", None, "invalid"),
    ],
)
def test_files_are_written_only_in_the_lane_and_the_scope(
    path: str, writes: tuple[str, ...] | None, why: str, tmp_path: Path
) -> None:
    job = job_with_source(tmp_path, writes=writes)
    (tmp_path / "lane" / "link").symlink_to(tmp_path)
    (tmp_path / "lane" / "loop").symlink_to("loop")
    found = write_refusal(job, path)
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"kind": "execute", "rawInput": {"command": "rm -rf /"}}, ""),
        ({"kind": "read", "locations": [{"path": "/etc/passwd"}]}, ""),
        ({"kind": "edit", "locations": [{"path": "src/a"}]}, ""),
        ({"kind": "edit"}, "it does not name the file"),
        ({"kind": "delete", "rawInput": {"file_path": "docs/a"}}, "docs/a: it is not among"),
        ({"kind": "move", "locations": [{"path": "src/a"}, {"path": "docs/a"}]}, "docs/a: it is not among"),
        ({"kind": "other", "content": [{"type": "diff", "path": "../a"}]}, "../a: it is outside"),
        ({"kind": "other", "content": "odd", "locations": 7, "rawInput": []}, ""),
        ({"kind": "switch_mode"}, "it keeps the mode"),
        ({}, ""),
    ],
)
def test_calls_outside_of_the_write_scope_are_refused(call: dict[str, Any], why: str, tmp_path: Path) -> None:
    found = call_refusal(job_with_source(tmp_path, writes=("src/**",)), call)
    assert found.startswith(why)
    assert bool(found) == bool(why)


@pytest.mark.parametrize("is_enclosed", [False, True])
@pytest.mark.parametrize(
    ("call", "perm", "why"),
    [
        ({"kind": "execute", "rawInput": {"command": "ls"}}, "run_commands", "this role may not run commands"),
        ({"kind": "fetch", "rawInput": {"url": "http://x"}}, "web", "this role may not use the web"),
        ({"kind": "edit", "locations": [{"path": "src/a"}]}, "modify", "src/a: it is not among"),
        ({"kind": "other", "content": [{"type": "diff", "path": "src/a"}]}, "modify", "src/a: it is not among"),
    ],
)
def test_calls_that_a_role_lacks_permission_for_are_refused_in_a_box_too(
    call: dict[str, Any], perm: str, why: str, is_enclosed: bool, tmp_path: Path
) -> None:
    """Who may not modify has no files to write, except for answers."""
    some = job_with_source(tmp_path, perms=("read_files",), writes=(".ai/executor-result",), is_enclosed=is_enclosed)
    assert call_refusal(some, call).startswith(why)
    assert not call_refusal(some, {"kind": "edit", "locations": [{"path": ".ai/executor-result"}]})
    assert not call_refusal(some, {"kind": "read", "locations": [{"path": "src/a"}]})
    leave = job_with_source(tmp_path, perms=("read_files", perm), writes=("src/**",), is_enclosed=is_enclosed)
    assert not call_refusal(leave, call)


def test_in_a_box_every_edit_is_permitted(tmp_path: Path) -> None:
    assert not call_refusal(
        job_with_source(tmp_path, is_enclosed=True), {"kind": "edit", "locations": [{"path": "/etc/passwd"}]}
    )


BUSY = 'level=ERROR message="stream error" error.error="Too many requests"'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([BUSY, BUSY], "Too many requests"),
        ([BUSY], ""),
        (["error: 503 Service Unavailable", "retrying, error: 503"], "retrying, error: 503"),
        (["took 500 ms", "429 tokens", "quota left"], ""),
        (["an error of mine", "it failed"], ""),
    ],
)
def test_repeated_complaints_without_progress_become_the_verdict(lines: list[str], said: str) -> None:
    async def listen() -> str:
        complaints = Complaints(silence=0)
        complaints.sign_of_life()
        for line in lines:
            complaints.hear(line)
        await asyncio.sleep(0)
        return await asyncio.wait_for(complaints.lasting(), 0.01) if said else complaints.verdict()

    assert asyncio.run(listen()) == said


def test_progress_or_a_running_tool_silences_complaints() -> None:
    async def listen() -> list[str]:
        complaints = Complaints(silence=0)
        for line in (BUSY, BUSY):
            complaints.hear(line)
        complaints.tool("make", is_at_work=True)
        found = [complaints.verdict()]
        complaints.tool("make", is_at_work=False)
        found.append(complaints.verdict())
        complaints.sign_of_life()
        return [*found, complaints.verdict(), Complaints(silence=1000).verdict()]

    assert asyncio.run(listen()) == ["", "Too many requests", "", ""]
