"""From a text to a runner."""

from pathlib import Path

import pytest

from treadle.agents.command import CommandRunner
from treadle.agents.manual import Manual
from treadle.agents.program import Patience
from treadle.agents.registry import RUNNERS, AgentSetup, key_variables, logins, parse_runner
from treadle.agents.replay import FolderRecording, Replay
from treadle.agents.scripted import Scripted
from treadle.config.agents import BARE, WITH_ARGUMENT
from treadle.errors import TreadleError


@pytest.fixture
def around(tmp_path: Path) -> AgentSetup:
    (tmp_path / "demo.yaml").write_text("agents: [{turns: [{say: hello}]}]")
    (tmp_path / "old-run").mkdir()
    return AgentSetup(root=tmp_path, allowed=("API_KEY",), patience=Patience(answered=1.0))


def test_each_text_names_its_runner(around: AgentSetup) -> None:
    command = parse_runner("command:./agent.py --fast 'a b'", around)
    assert isinstance(command, CommandRunner)
    assert command.argv == ("./agent.py", "--fast", "a b")
    assert (command.root, command.allowed, command.patience) == (around.root, around.allowed, around.patience)
    assert isinstance(parse_runner("manual", around), Manual)
    assert isinstance(parse_runner(" scripted: demo.yaml", around), Scripted)
    replay = parse_runner("replay:old-run", around)
    assert isinstance(replay, Replay)
    assert replay.recording == FolderRecording(around.root / "old-run")


def test_a_store_may_supply_the_recording(tmp_path: Path) -> None:
    asked: list[str] = []

    def recording(name: str) -> FolderRecording:
        asked.append(name)
        return FolderRecording(tmp_path)

    assert isinstance(parse_runner("replay:7f3a", AgentSetup(root=tmp_path, recording=recording)), Replay)
    assert asked == ["7f3a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("comand:x", "did you mean 'command'"),
        ("scriptd:x", "did you mean 'scripted'"),
        ("command", "write `command:PROGRAM ARGS`"),
        ("manual:x", "'manual' takes nothing after it"),
        ("replay:old-rum", "did you mean 'old-run'"),
        ("scripted:none.yaml", "cannot be read: No such file"),
        ("command:'", "check its quotes"),
        ("", "there is no agent ''"),
    ],
)
def test_an_unknown_agent_text_is_refused_with_advice(text: str, message: str, around: AgentSetup) -> None:
    with pytest.raises(TreadleError, match=message):
        parse_runner(text, around)


def test_every_runner_can_be_named_in_the_settings() -> None:
    assert set(RUNNERS) <= {*BARE, *WITH_ARGUMENT}


def test_every_agent_of_the_settings_has_a_runner() -> None:
    assert {*BARE, *WITH_ARGUMENT} == {*RUNNERS}


def test_variables_that_settings_take_keys_from_are_key_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    codex, opencode = tmp_path / ".codex" / "config.toml", tmp_path / ".config" / "opencode" / "opencode.json"
    for file in (codex, opencode):
        file.parent.mkdir(parents=True)
    codex.write_text('[model_providers.own]\nenv_key = "GATEWAY"\nenv_http_headers = {X-Who = "WHO"}\n')
    opencode.write_text('{"provider": {"own": {"options": {"apiKey": "{env:OWN_SERVICE}"}}}}')
    assert {"GATEWAY", "WHO", "OWN_SERVICE"} <= {*key_variables()}
    assert {codex, opencode} <= {*logins(tmp_path)}, "a key may stand in them"
    codex.write_text("no = toml [")
    assert {"OWN_SERVICE"} <= {*key_variables()}
