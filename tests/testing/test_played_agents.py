"""A model that plays scripted agents: what it has a program do is what the script would have done itself."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.player import Player
from played_model.script import Tokens
from played_model.wire import ConversationEntry, ModelAnswer, ModelRequest, Tool
from treadle.agents.script import read_script
from treadle.agents.scripted import Scripted
from treadle.ports import Work
from treadle.runtime.agent import REMINDER
from treadle.testing.played_agents import PlayedAgents
from treadle.testing.runner_contract import make_work

CONTEXT = {"instance": "root", "spec": {"title": "Ä 'quoted'", "items": [1, 2]}}
EMIT = "mcp__treadle__emit_exit"
CLAUDE = ("Write", "Bash", EMIT)
CODEX = ("exec_command", EMIT)
GEMINI = ("write_file", "run_shell_command", "mcp_treadle_emit_exit")
OPENCODE = ("write", "bash", "treadle_emit_exit")
MANY = 20


class Stage:
    """The activities of a project, and a client that does in a lane what its model says."""

    def __init__(self, folder: Path, *turns: dict[str, Any], rule: dict[str, Any] | None = None) -> None:
        self.folder, self.runs = folder, folder / "runs"
        self.script = read_script(json.dumps({"agents": [{**(rule or {}), "turns": turns}]}), "parts.yaml")
        self.player = Player(PlayedAgents(self.script, self.runs))
        self.emitted: list[Any] = []

    def work(self, prompt: str = "Write the tests.", run: str = "run-1", **changes: Any) -> Work:
        """An activity that was sent out."""
        act, retry = changes.get("act", "root:tests#1.1"), changes.get("retry", 0)
        home = self.runs / run / "acts" / f"{act.replace(':', '=3A')}~{retry}"
        lane = self.folder / f"lane of {run}"
        lane.mkdir(exist_ok=True)
        for name, text in {"log": "one\n", "old name.py": "old", "gone": ""}.items():
            (lane / name).write_text(text)
        work = msgspec.structs.replace(make_work(home, lane, prompt=prompt, run=run, **changes), home=home)
        work.bundle.mkdir(parents=True)
        (work.bundle / "context.json").write_text(json.dumps(CONTEXT))
        (home / "work.json").write_bytes(msgspec.json.encode(work, enc_hook=str))
        return work

    def answer(self, *prompts: str, offered: tuple[str, ...] = CLAUDE, turn: int = 0) -> ModelAnswer:
        said = [ConversationEntry("prompt", prompt) for prompt in prompts]
        since = [ConversationEntry(by, "") for _ in range(turn) for by in ("model", "result")]
        tools = tuple(Tool(name) for name in offered)
        return self.player.answer(ModelRequest(model="m", entries=(*said, *since), tools=tools))

    def play(self, lane: Path, *prompts: str, offered: tuple[str, ...] = CLAUDE) -> str:
        """To the end, as a client does: the model's last words."""
        for turn in range(MANY):
            answer = self.answer(*prompts, offered=offered, turn=turn)
            for call in answer.calls:
                self._do(lane, call.tool.names[0], call.arguments)
            if not answer.calls:
                return answer.text
        raise AssertionError("it does not end")

    def _do(self, lane: Path, tool: str, given: dict[str, Any]) -> None:
        if tool.endswith("emit_exit"):
            self.emitted.append(given)
        elif "content" in given:
            path = lane / (given.get("file_path") or given["filePath"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(given["content"])
        else:
            command = given.get("command") or given["cmd"]
            subprocess.run(["sh", "-c", command], cwd=lane, check=True)


def files(lane: Path) -> dict[str, tuple[str, bool]]:
    return {
        str(path.relative_to(lane)): (path.read_text(), bool(path.stat().st_mode & 0o100))
        for path in lane.rglob("*")
        if path.is_file()
    }


TURN: dict[str, Any] = {
    "say": ["hello", "for {spec[title]}"],
    "write": {"src/{step}/t.py": "# {spec[title]} $HOME {{x}}\n", "run.sh": "#!/bin/sh\n"},
    "append": {"log": "two\n", "new/log": "first\n"},
    "rename": {"old name.py": "deep/new name.py"},
    "delete": ["gone", "never/was"],
    "executable": "run.sh",
    "run": [["sh", "-c", 'echo "$1" > ran; cat log >> ran', "sh", "{role}'s"]],
    "exit": {"type": "TestsReady", "tests": "{spec[items]}", "note": "for {spec[title]}"},
}


@pytest.mark.parametrize("offered", [CLAUDE, CODEX, GEMINI, OPENCODE], ids=["claude", "codex", "gemini", "opencode"])
def test_every_client_acts_like_the_scripted_agent(offered: tuple[str, ...], tmp_path: Path) -> None:
    stage = Stage(tmp_path, TURN)
    here, there = stage.work(), stage.work(run="run-2", prompt="Another prompt.")
    assert stage.play(here.lane, here.prompt, offered=offered) == "Done."

    async def scripted() -> str:
        session = await Scripted(script=stage.script).start(there, lambda _: None)
        return (await session.wait()).how

    assert asyncio.run(scripted()) == "done"
    assert files(here.lane) == files(there.lane)
    assert stage.emitted == [{"exit": {"type": "TestsReady", "tests": [1, 2], "note": "for Ä 'quoted'"}}]
    assert stage.answer(here.prompt).text == "hello\nfor Ä 'quoted'"


@pytest.mark.parametrize(
    ("channel", "file", "said"),
    [
        ("executor-result", ".ai/executor-result", "Done."),
        ("handoff", ".ai/HANDOFF.md", "Done."),
        ("message", "", '{"exit":{"type":"Ok","message":"m"}}'),
        ("code", "", "→[Ok,m]"),
    ],
)
def test_an_answer_comes_by_the_channel_that_the_script_names(
    channel: str, file: str, said: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, {"exit": {"type": "Ok", "message": "m"}, "channel": channel})
    work = stage.work()
    last = stage.play(work.lane, work.prompt)
    assert last.replace(" ", "") == said.replace(" ", "")
    assert [path for path in files(work.lane) if path.startswith(".ai")] == ([file] if file else [])
    assert not stage.emitted


def test_a_turn_without_calls_is_the_last(tmp_path: Path) -> None:
    """A client takes it for the end; what only answers does so at once."""
    stage = Stage(tmp_path, {"say": "I know.", "exit": {"type": "Ok"}})
    answer = stage.answer(stage.work().prompt)
    assert (answer.text, [call.tool.names[0] for call in answer.calls]) == ("I know.", [EMIT])


def test_turns_come_by_attempt_and_the_prompt_tells_which_activity_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"say": "first"}, {"say": "second"}, rule={"step": "tests"})
    stage.work("Do it.")
    assert stage.answer("Some words around:\nDo it.\nand after").text == "first\nDone."
    stage.work("Do it.\nIt was refused.", act="root:tests#1.2", attempt=2)
    assert stage.answer("Do it.", "Do it.\nIt was refused.").text == "second\nDone."


def test_a_prompt_is_matched_to_its_run_or_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"say": "in {run}"})
    assert "the parts of parts.yaml" in stage.answer("Do it.").text
    stage.work("Do it.", run="run-1")
    stage.work("Do that.", run="run-2")
    assert stage.answer("Do it.").text == "in run-1\nDone."
    assert stage.answer("Do that.").text == "in run-2\nDone."
    assert stage.answer("Do something else.").text.startswith("model server: the prompt has no marker")


def test_a_reminded_agent_only_answers(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TURN)
    work = stage.work()
    (call,) = stage.answer(work.prompt, f"An answer is missing.\n{REMINDER}").calls
    assert call.tool.names[0] == EMIT
    assert stage.answer(work.prompt, REMINDER, turn=1).text == "Done."
    (call,) = stage.answer(work.prompt, REMINDER, f"{REMINDER} Again.").calls
    assert call.tool.names[0] == EMIT
    assert "no marker" in stage.answer(REMINDER).text


@pytest.mark.parametrize(("why", "status"), [("rate", 429), ("overload", 503), ("billing", 402), ("login", 401)])
def test_a_service_is_out_as_often_as_the_script_says(why: str, status: int, tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"say": "back", "outage": {"why": why, "wait": 7}})
    work = stage.work()
    for _ in range(3):  # a client that asks again by itself learns nothing new
        failure = stage.answer(work.prompt).failure
        assert failure is not None
        assert (failure.status, failure.headers) == (status, {"retry-after": "7"})
    stage.work(retry=1)
    assert stage.answer(work.prompt).text == "back\nDone."


@pytest.mark.parametrize(("how", "played"), [("hang", "hang"), ("crash", "cut")])
def test_a_misbehaving_turn_gives_no_answer(how: str, played: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"run": [["true"]], "misbehave": how, "exit": {"type": "Ok"}})
    work = stage.work()
    assert [call.arguments for call in stage.answer(work.prompt).calls] == [{"command": "true"}]
    assert stage.answer(work.prompt, turn=1).misbehave == played
    assert "has ended" in stage.answer(work.prompt, turn=2).text


@pytest.mark.parametrize(
    ("turn", "rule", "said"),
    [
        ({"say": "{spec[nothing]}"}, {}, "finds no 'nothing' in spec"),
        ({"say": "x"}, {"step": "impl"}, "parts.yaml has no turn for root:tests#1.1, role 'tdd'"),
    ],
)
def test_a_part_that_cannot_be_played_is_reported_as_the_models_text(
    turn: dict[str, Any], rule: dict[str, Any], said: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, turn, rule=rule)
    answer = stage.answer(stage.work().prompt)
    assert answer.text.startswith("model server: ")
    assert said in answer.text


def test_delays_and_tokens_are_the_scripts(tmp_path: Path) -> None:
    usage = {"tokens_in": 7, "cached": 3, "tokens_out": 2}
    stage = Stage(tmp_path, {"delay": 3, "usage": usage, "exit": {"type": "Written"}})
    prompt = stage.work().prompt
    answer = stage.answer(prompt)
    assert (answer.sleep, answer.usage) == (3, Tokens(tokens_in=4, cache_read=3, tokens_out=2))
    for later in (stage.answer(prompt, turn=1), stage.answer(prompt, REMINDER)):
        assert later.usage == Tokens(tokens_in=0, tokens_out=0), "nothing is added to them"


def test_tokens_are_counted_where_the_script_has_no_usage(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"exit": {"type": "Written"}})
    prompt = stage.work().prompt
    first, second = stage.answer(prompt).usage, stage.answer(prompt, turn=1).usage
    assert (first.tokens_in, first.cache_read) == (len(prompt) // 4, 0)
    assert second.cache_read == first.tokens_in, "what was sent before"


def test_tokens_may_be_counted_despite_the_scripts_usage(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"usage": {"tokens_in": 7, "tokens_out": 2}, "exit": {"type": "Written"}})
    prompt = stage.work().prompt
    stage.player = Player(PlayedAgents(stage.script, stage.runs, is_counted=True))
    assert stage.answer(prompt).usage.tokens_in == len(prompt) // 4
