"""`treadle agents` and `treadle agents try`, with programs that stand in for agents, and with the real ones."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest

from played_model.server import ModelServer
from tests.cli.chores import Chores
from tests.cli.treadle import treadle
from tests.real_agents import inside_apart
from treadle.agents.claude import Claude
from treadle.agents.one_shot import OneShot
from treadle.cli.agent_trial import DATA
from treadle.config.agents import PROGRAMS
from treadle.errors import PortError
from treadle.protocol.check import check
from treadle.protocol.load import load
from treadle.views.tree import OUTAGE_WORDS

SECRET = "sk-do-not-print-this"
VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "OPENAI_API_KEY")
AGENT = f"""#!{sys.executable}
import json, os, pathlib
kind = {{"note": "Noted", "astray": "Tried"}}.get(os.environ["TREADLE_STEP"], "Recalled")
if kind == "Noted":
    pathlib.Path("notes").mkdir()
    pathlib.Path("notes/word.txt").write_text("a word")
more = {{"Tried": {{"refused": True}}, "Recalled": {{"word": ""}}}}.get(kind, {{}})
print(json.dumps({{"exit": {{"type": kind, **more}}}}))
"""


class Place:
    """A folder to work in, one for programs on the PATH, one for temporary files, and a home without any login."""

    def __init__(self, folder: Path) -> None:
        self.here, self.programs, self.temporary, self.home = (folder / name for name in ("here", "bin", "tmp", "home"))
        for each in (self.here, self.programs, self.temporary, self.home):
            each.mkdir()

    def program(self, name: str, text: str) -> Path:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    @property
    def left(self) -> list[str]:
        return sorted(str(path) for path in self.temporary.iterdir())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{found.programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(found.home))
    monkeypatch.setenv("TMPDIR", str(found.temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(found.here)
    return found


def listing() -> dict[str, dict[str, Any]]:
    document = treadle("agents", "--json").json()
    assert set(document) == {"schema", "agents", "box"}
    return {one["name"]: one for one in document["agents"]}


def test_without_any_agent_it_says_how_to_get_one(place: Place) -> None:
    assert list(listing()) == [program.name for program in PROGRAMS]
    assert not any(one["path"] or one["version"] or one["login"] for one in listing().values())
    said = treadle("agents")
    assert said.code == 0
    assert all(program.install in said.out for program in PROGRAMS)
    place.program("claude", "#!/bin/sh\necho 1.2.3\n")
    assert PROGRAMS[-1].install in treadle("agents").out, "also if others are here"
    assert "not installed" in said.out
    assert not place.left


def test_agents_that_make_agents_installed_are_detected_besides_the_path(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place.home / ".cache" / "treadle" / "agents" / "node_modules" / ".bin"
    folder.mkdir(parents=True)
    monkeypatch.delenv("TREADLE_AGENTS")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    node = '#!/bin/sh\necho "1.2.3 by ${0##*/} ${1##*/} $2"\n'
    for name, text in {"codex": "#!/usr/bin/env node\n", "node": node, "goose": node, "claude": node}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    own = place.program("claude", "#!/bin/sh\necho 4.5.6\n")
    found = listing()
    origins = {name: (one["path"], one["origin"]) for name, one in found.items() if one["path"]}
    assert origins == {"claude": (str(own), "PATH"), "codex": (str(folder / "codex"), "make agents")}
    assert found["codex"]["version"] == "1.2.3 by node codex --version", "by the node that was installed with it"
    claude = OneShot(dialect=Claude())
    claude.ready()
    own.unlink()
    claude.ready()
    (folder / "claude").unlink()
    with pytest.raises(PortError) as caught:
        claude.ready()
    assert caught.value.code == "agent.missing"


def test_a_version_is_read_below_complaints_and_without_our_keys(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    told = 'echo "careful: this is deprecated" >&2; echo "\x1b[1mclaude 1.2.3 ($1 $ANTHROPIC_API_KEY)"'
    path = place.program("claude", f"#!/bin/sh\n{told}\n")
    place.program("codex", "#!/bin/sh\necho 4.5.6; exit 1\n")
    found = listing()
    assert (found["claude"]["path"], found["claude"]["version"]) == (str(path), "[1mclaude 1.2.3 (--version )")
    assert (found["codex"]["version"], found["gemini"]["path"]) == ("", "")
    said = treadle("agents").out
    assert "\x1b" not in said
    assert "| codex | here |" in said
    assert "`treadle agents try claude`" in said


def test_a_login_is_detected_by_variable_or_file_and_never_printed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    (place.home / ".codex").mkdir()
    (place.home / ".codex" / "auth.json").write_text(SECRET)
    found = listing()
    assert found["claude"]["login"] == "ANTHROPIC_API_KEY"
    assert found["codex"]["login"] == "~/.codex/auth.json"
    assert SECRET not in json.dumps(found) + treadle("agents").out


def test_a_variable_can_stand_in_for_a_login(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    found = listing()
    assert found["codex"]["login"] == "OPENAI_API_KEY", "codex is lent it as its own"
    assert found["claude"]["login"] == "CLAUDE_CODE_USE_BEDROCK"
    assert place.left == []


def test_a_trial_does_not_wait_for_a_service_that_cannot_be_reached(place: Place) -> None:
    turn = {"outage": {"why": "network", "times": 9}}
    (place.here / "offline.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    outcome = treadle("agents", "try", "scripted:offline.yaml", "--timeout", "100")
    assert outcome.code == 1
    assert OUTAGE_WORDS["network"] in outcome.out
    [scratch] = [path for path in place.left if "treadle-trial-" in path]
    assert f"cd {scratch} && treadle log trial" in outcome.out
    os.chdir(scratch)
    assert treadle("log", "trial").out.count("is held up") == 1


@pytest.mark.parametrize(
    ("agent", "code", "named"),
    [
        ("clude", "agent.unknown", ["'clude'", "'claude'"]),
        ("claude", "agent.missing", ["'claude'", "`treadle agents`"]),
        ("command:./none", "agent.missing", ["'./none'"]),
        ("scripted:none.yaml", "file.unreadable", ["none.yaml"]),
        ("manual", "agent.untried", ["`manual`"]),
        ("command:", "agent.unknown", ["`command:PROGRAM ARGS`"]),
    ],
)
def test_an_agent_that_cannot_be_started_is_refused_and_no_folder_is_made(
    agent: str, code: str, named: list[str], place: Place
) -> None:
    outcome = treadle("agents", "try", agent)
    assert (outcome.code, outcome.out, outcome.error) == (2, "", code)
    assert outcome.lacks(*named) == []
    assert not place.left


def test_the_users_own_program_runs_from_here_and_answers_in_its_own_way(place: Place) -> None:
    agent = place.here / "agent.py"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    outcome = treadle("agents", "try", "command:./agent.py --fast", "--json")
    assert outcome.code == 0, outcome.out + outcome.err
    seen = outcome.json()
    assert (seen["version"], seen["writes"], seen["channel"]) == ("", "yes", "final")
    assert (seen["resume"], seen["fork"], seen["kept_in"]) == ("no", "no", "yes")
    assert place.left == [seen["folder"]]
    assert list(place.here.iterdir()) == [agent]


def scripted(place: Place, turn: dict[str, Any], *words: str) -> dict[str, Any]:
    (place.here / "script.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    outcome = treadle("agents", "try", "scripted:script.yaml", "--json", *words)
    assert outcome.code == 1
    found: dict[str, Any] = outcome.json()
    assert place.left == [found["folder"]]
    assert (found["works"], found["outcome"], found["fork"]) == (False, "", "not tried")
    return found


@pytest.mark.parametrize("why", ["login", "rate"])
def test_a_trial_does_not_wait_for_the_end_of_an_outage(why: Literal["login", "rate"], place: Place) -> None:
    found = scripted(place, {"outage": {"why": why, "wait": 7200}, "exit": {"type": "Noted"}})
    assert found["trouble"].startswith(OUTAGE_WORDS[why])
    assert (found["writes"], found["channel"], found["sandbox"]) == ("no", "", "none")


def test_an_agent_that_never_answers_is_stopped(place: Place) -> None:
    found = scripted(place, {"misbehave": "hang"}, "--timeout", "1")
    assert found["trouble"].endswith(" within 1 s")


def test_a_run_with_a_missing_agent_is_refused(place: Place) -> None:
    Chores(place.here)
    found = treadle("run", "chore.yaml", "-p", "decide", "--agent", "claude")
    assert (found.code, found.error, found.lacks("'claude'", "`treadle agents`")) == (2, "agent.missing", [])
    assert treadle("status", "--json").json()["runs"] == []


def test_the_protocol_of_the_trial_is_sound() -> None:
    assert check(load(str(DATA / "agent-trial"))) == []


def tries(_: ModelServer, folder: Path) -> dict[str, Any]:
    (folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(folder / "tmp")
    outcome = treadle("agents", "try", "claude", "--played", "--json")
    assert outcome.code == 0, outcome.out + outcome.err
    return {**outcome.json(), "left": [str(path) for path in (folder / "tmp").iterdir()]}


@pytest.mark.agents
def test_a_real_program_passes_with_a_model_that_is_played(tmp_path: Path) -> None:
    """The others do so in tests/test_agent_pages.py."""
    found = inside_apart(tries, tmp_path, "scripts: {none: [{say: nothing}]}")
    assert (found["works"], found["outcome"], found["channel"]) == (True, "Tried", "mcp"), found
    assert (found["writes"], found["fits"], found["resume"], found["fork"]) == ("yes", "yes", "yes", "yes")
    assert found["version"]
    assert found["kept_in"] == "yes" or "box" not in found["sandbox"]
    assert found["left"] == [found["folder"]]
