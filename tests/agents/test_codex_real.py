"""The real Codex, driven as runs drive it, against a model that is played."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.server import ModelServer
from tests.agents import hostile
from tests.box import PATH
from tests.real_agents import KEY, another, inside_apart
from tests.results.desk import Desk, desk
from treadle.agents.codex import Codex
from treadle.agents.contract import has_answer
from treadle.agents.files import MAX_FINAL
from treadle.agents.one_shot import OneShot
from treadle.agents.processes import is_running, processes_with
from treadle.agents.program import KeeperFiles, Patience
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.enclosures.box import find_box
from treadle.enclosures.port import OPEN, EnclosedCommand, Enclosure, LaunchCommand
from treadle.mcp.http import HttpTools
from treadle.ports import Ended, Progress, Runner, Work
from treadle.results.tools import mcp_config, mcp_config_at
from treadle.runtime.dispatch import assignment_of
from treadle.testing.runner_contract import Behaviour, clauses, until

pytestmark = pytest.mark.agents
PLAY = f"{sys.executable} {hostile.__file__}"
SCRIPTS = rf"""
scripts:
  hello:
    - {{say: Hello., usage: {{tokens_in: 100, cache_read: 900, tokens_out: 7}}}}
  change:
    - say: I change it.
      usage: &used {{tokens_in: 1000, tokens_out: 50}}
      call:
        tool: exec_command
        with: {{cmd: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: in/new.txt\n+hello\n*** End Patch\nEOF\n"}}
    - call:
        tool: exec_command
        with: {{cmd: 'env > seen; echo x > ../outside; echo x > "$TREADLE_OUT/note"; echo x > "$TMPDIR/note"'}}
      usage: *used
    - {{say: Changed., usage: *used}}
  emit:
    - call: {{tool: "*emit_exit", with: {{exit: {{type: GC}}}}}}
    - call: {{tool: "*emit_exit", with: {{exit: {{type: RC, message: three}}}}}}
    - say: Handed in.
  code:
    - call: {{tool: exec, input: "await tools.exec_command({{cmd: 'echo hi > by-code'}})"}}
    - call: {{tool: exec, input: "await tools.mcp__treadle__emit_exit({{exit: {{type: 'RC', message: 'three'}}}})"}}
    - say: Done.
  busy: [fail: 429]
  quota: [fail: {{status: 429, type: insufficient_quota, message: You exceeded your current quota.}}]
  login: [fail: 401]
  over: [fail: 503]
  odd: [fail: 400]
  cut: [{{say: I, misbehave: cut}}]
  children:
    - call:
        tool: exec_command
        with: {{cmd: 'setsid sleep 1000 & echo $! >> pids; (sleep 999 & echo $! >> pids); echo $$ >> pids; sleep 999'}}
  waits:
    - call: {{tool: exec_command, with: {{cmd: "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo gone"}}}}
    - say: I have waited.
  answers: [{{call: {{tool: exec_command, with: {{cmd: "{PLAY} answers"}}}}}}, {{say: Done.}}]
  works: [{{call: {{tool: exec_command, with: {{cmd: "{PLAY} works"}}}}}}, {{say: Done.}}]
  leaves: [{{call: {{tool: exec_command, with: {{cmd: "{PLAY} leaves"}}}}}}, {{say: Done.}}]
  dumps: [{{call: {{tool: exec_command, with: {{cmd: "{PLAY} dumps"}}}}}}, {{say: Done.}}]
  floods: [say: {"flood " * (MAX_FINAL // 5)}]
"""


class Around(msgspec.Struct, frozen=True):
    """Stands for a box, so that Codex's own sandbox is off."""

    name: str = "something"
    is_apart: bool = False
    loopback: bool = False
    narrows: bool = False

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        return LaunchCommand(argv=job.argv, env=job.env)


def runner_in(folder: Path, enclosure: Enclosure = OPEN) -> Runner:
    patience = Patience(asked=1.0, answered=5.0)
    return parse_runner("codex", AgentSetup(root=folder, patience=patience, enclosure=enclosure))


def activity(folder: Path, script: str, name: str = "first", **changes: Any) -> Desk:
    """An activity of its own in the lane of all."""
    it = desk(folder, "dptr/cycle/red")
    home = folder / name
    if not home.exists():
        shutil.copytree(it.work.home, home)
    prompt = f"Do it. [[script:{script}]] {'It is long. ' * 20_000 if name == 'first' else ''}"
    own = {"TREADLE_BUNDLE": str(home / "bundle"), "TREADLE_OUT": str(home / "out")}
    env = {key: value for key, value in it.env.items() if key.startswith("TREADLE_")} | own
    work = msgspec.structs.replace(it.work, home=home, prompt=prompt, model="played-1", env=env, **changes)
    return Desk(work, it.step_exits, work.env)


async def play(runner: Runner, work: Work) -> tuple[Ended, list[str]]:
    heard: list[Progress] = []
    session = await runner.start(work, heard.append)
    ended = await asyncio.wait_for(session.wait(), 60)
    return ended, [one.text for one in heard if one.text]


def played(runner: Runner, work: Work) -> tuple[Ended, list[str]]:
    return asyncio.run(play(runner, work))


# what happens inside


def works(server: ModelServer, folder: Path) -> dict[str, Any]:
    work = activity(folder, "change").work
    ended, heard = played(runner_in(folder), work)
    seen = dict(line.split("=", 1) for line in (work.lane / "seen").read_text().splitlines() if "=" in line)
    return {
        "how": [ended.how, ended.code, ended.final],
        "tokens": [ended.usage.tokens_in, ended.usage.tokens_out, ended.usage.unpriced],
        "heard": heard,
        "file": (work.lane / "in" / "new.txt").read_text(),
        "outside": (folder / "outside").exists(),
        "notes": [(work.out / "note").exists(), (work.out / "tmp" / "note").exists()],
        "keys": [name for name, value in seen.items() if KEY in value],
        "token": seen["TREADLE_TOKEN"] == work.token,
        "mark": KeeperFiles.of(work).mark.partition("=")[2] == seen["TREADLE_KEEPER"],
        "user": [path.name for path in (folder / "user").rglob("*")],
        "prompted": all("It is long. It is long." in json.dumps(one.body) for one in server.exchanges if one.wire),
    }


def test_it_writes_only_in_its_lane(tmp_path: Path) -> None:
    found = inside_apart(works, tmp_path, SCRIPTS)
    assert found["how"] == ["done", 0, "Changed."]
    assert found["tokens"] == [3000, 150, 3150]
    assert "Changed." in found["heard"]
    assert any(one.startswith("add /") and one.endswith("in/new.txt") for one in found["heard"])
    assert found["file"] == "hello\n"
    assert not found["outside"], "its own sandbox has let it write outside of its lane"
    assert found["notes"] == [True, True]
    assert found["keys"] == [], "its key is in the environment of commands"
    assert found["token"]
    assert found["mark"], "what it starts could not be found"
    assert found["user"] == [], "it has written to the HOME of the user"
    assert found["prompted"]


def emits(server: ModelServer, folder: Path) -> dict[str, Any]:
    """Once by a server that it starts, once by tools that this process serves; an invalid exit first, each time."""

    async def emit(way: str, tools: HttpTools) -> list[Any]:
        it = activity(folder, "emit", way)
        config = mcp_config(it.env, (sys.executable, "-P", "-m", "treadle", "mcp"))
        if way == "http":
            config = mcp_config_at(await tools.open(assignment_of(it.work, it.step_exits), it.env), it.work.token)
        (it.work.bundle / "mcp.json").write_text(json.dumps(config))
        ended, heard = await play(runner_in(folder), it.work)
        return [ended.how, ended.final, has_answer(it.work), "treadle: emit_exit" in heard]

    async def both(tools: HttpTools) -> list[list[Any]]:
        return [*await asyncio.gather(emit("stdio", tools), emit("http", tools))]

    with HttpTools() as tools:
        found = dict(zip(("stdio", "http"), asyncio.run(both(tools)), strict=True))
    refused = ["not accepted" in json.dumps(one.body) for one in server.exchanges if one.wire]
    return {**found, "refused": [refused.count(False), refused.count(True)]}


def test_an_invalid_exit_is_corrected_in_the_same_conversation(tmp_path: Path) -> None:
    found = inside_apart(emits, tmp_path, SCRIPTS)
    expected = ["done", "Handed in.", True, True]
    assert found == {"stdio": expected, "http": expected, "refused": [2, 4]}


def writes_code(_: ModelServer, folder: Path) -> list[Any]:
    """Models that Codex knows call all tools by code that they write."""
    it = activity(folder, "code")
    (it.work.bundle / "mcp.json").write_text(json.dumps(mcp_config(it.env)))
    ended, heard = played(runner_in(folder), msgspec.structs.replace(it.work, model=""))
    return [ended.how, ended.final, (it.work.lane / "by-code").exists(), has_answer(it.work), heard]


def test_its_own_models_reach_the_tools_too(tmp_path: Path) -> None:
    *found, heard = inside_apart(writes_code, tmp_path, SCRIPTS)
    assert found == ["done", "Done.", True, True]
    assert "treadle: emit_exit" in heard


def lacks_its_tools(_server: ModelServer, folder: Path) -> list[Any]:
    it = activity(folder, "hello")
    (it.work.bundle / "mcp.json").write_text(json.dumps(mcp_config_at("http://127.0.0.1:9/x", "t")))
    ended, _ = played(runner_in(folder), it.work)
    return [ended.how, ended.detail]


def test_without_its_tools_it_does_not_begin(tmp_path: Path) -> None:
    how, detail = inside_apart(lacks_its_tools, tmp_path, SCRIPTS)
    assert how == "failed"
    assert "treadle" in detail


def goes_on(server: ModelServer, folder: Path) -> list[Any]:
    runner = runner_in(folder)
    first, _ = played(runner, activity(folder, "hello", "one").work)
    forked, _ = played(runner, activity(folder, "hello", "three", session=first.session, fork=True).work)
    again, _ = played(runner, activity(folder, "hello", "two", session=first.session).work)
    last, _ = played(runner, activity(folder, "hello", "four", session=forked.session).work)
    said = [json.dumps(one.body).count("Do it. [[script:hello]]") for one in server.exchanges if one.wire]
    ends = (first, forked, again, last)
    return [
        said,
        [(one.usage.tokens_in, one.usage.cached, one.usage.tokens_out) for one in ends],
        [one.how for one in ends],
        [one.session.partition("/")[0] for one in ends],
        len({one.session.partition("/")[2] for one in ends}),
    ]


def test_conversations_go_on_and_branch_off(tmp_path: Path) -> None:
    said, usage, how, homes, threads = inside_apart(goes_on, tmp_path, SCRIPTS)
    assert how == ["done"] * 4
    assert said == [1, 2, 2, 3], "both know what was said before, and not what the other was told"
    assert usage == [[1000, 900, 7]] * 4, "each activity counts its own"
    assert homes == ["one", "three", "one", "three"]
    assert threads == 2


def fails(server: ModelServer, folder: Path) -> dict[str, Any]:
    """All at once: they must not meet."""

    async def fail(script: str) -> list[Any]:
        ended, _ = await play(runner_in(folder), activity(folder, script, script).work)
        return [ended.how, ended.outage]

    async def all_of(*scripts: str) -> dict[str, Any]:
        return dict(zip(scripts, await asyncio.gather(*map(fail, scripts)), strict=True))

    found = asyncio.run(all_of("busy", "quota", "login", "over", "odd", "cut"))
    assert server.exchanges
    os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    return found | asyncio.run(all_of("down"))


def test_outages_get_their_kind(tmp_path: Path) -> None:
    assert inside_apart(fails, tmp_path, SCRIPTS) == {
        "busy": ["failed", "rate"],
        "quota": ["failed", "billing"],
        "login": ["failed", "login"],
        "over": ["failed", "overload"],
        "odd": ["failed", None],
        "cut": ["failed", "network"],
        "down": ["failed", "network"],
    }


def is_cancelled(_: ModelServer, folder: Path) -> list[Any]:
    found: list[Any] = []
    for enclosure in (OPEN, Around()):
        work = activity(folder, "children", f"c{len(found)}").work
        pids = work.lane / "pids"
        pids.unlink(missing_ok=True)
        found.append(asyncio.run(_cancelled(runner_in(folder, enclosure), work, pids)))
    return found


async def _cancelled(runner: Runner, work: Work, pids: Path) -> list[Any]:
    session = await runner.start(work, lambda _: None)
    waiting = asyncio.ensure_future(session.wait())
    await until(_has(pids, 3), "it has started what it wants to leave behind")
    before = processes_with(KeeperFiles.of(work).mark)
    assert len(before) > 3
    await session.cancel()
    ended = await asyncio.wait_for(waiting, 20)
    return [
        ended.how,
        ended.outage,
        [one.pid for one in before if is_running(one)],
        len(processes_with(KeeperFiles.of(work).mark)),
    ]


def _has(path: Path, lines: int) -> Callable[[], bool]:
    return lambda: path.exists() and len(path.read_text().split()) >= lines


def test_cancelling_it_ends_all_its_processes(tmp_path: Path) -> None:
    assert inside_apart(is_cancelled, tmp_path, SCRIPTS) == [["lost", None, [], 0]] * 2


def starts_and_is_killed(folder: Path) -> None:
    played(runner_in(folder), activity(folder, "waits", "kept").work)


def is_found_again(_: ModelServer, folder: Path) -> list[Any]:
    work = activity(folder, "waits", "kept").work
    before = another(starts_and_is_killed, folder)
    assert before.stdout
    asyncio.run(until((work.lane / "begun").exists, "it works"))
    before.send_signal(signal.SIGKILL)
    before.communicate()
    heard: list[Progress] = []

    async def attached() -> Ended:
        assert await runner_in(folder).harvest(work) is None
        session = await runner_in(folder).attach(work, heard.append)
        assert session is not None
        (work.lane / "go").touch()
        return await asyncio.wait_for(session.wait(), 60)

    ended = asyncio.run(attached())
    harvested = asyncio.run(runner_in(folder).harvest(work))
    return [ended.how, ended.final, bool(ended.session), ended == harvested, any(one.text for one in heard)]


def test_a_running_agent_is_reattached_and_harvested(tmp_path: Path) -> None:
    assert inside_apart(is_found_again, tmp_path, SCRIPTS) == ["done", "I have waited.", True, True, True]


def uses_settings(server: ModelServer, folder: Path) -> list[Any]:
    """The user's own provider, with its key in a variable of its own, in place of the environment's address."""
    (folder / "user" / ".codex").mkdir()
    (folder / "user" / ".codex" / "config.toml").write_text(
        'model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nenv_key = "MINE"\nwire_api = "responses"\n'
        f'base_url = "{server.url}/v1"\n'
    )
    os.environ |= {"MINE": "sk-mine", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    work = activity(folder, "hello").work
    ended, _ = played(runner_in(folder), work)
    found = subprocess.run(["grep", "-rl", "sk-mine", work.home, folder / "conversations"], check=False, stdout=-1)
    return [ended.how, ended.final, found.stdout.decode()]


def test_the_users_own_service_is_asked(tmp_path: Path) -> None:
    assert inside_apart(uses_settings, tmp_path, SCRIPTS) == ["done", "Hello.", ""]


def works_in_a_box(_server: ModelServer, folder: Path) -> Any:
    os.environ["PATH"] += os.pathsep + (folder / "path").read_text()
    box = asyncio.run(find_box())
    if isinstance(box, str):
        return box
    work = activity(folder, "change", writes=("in/**",)).work
    (work.lane / "in").mkdir()
    ended, _ = played(runner_in(folder, box), work)
    names = ("in/new.txt", "seen", "../outside")
    return [ended.how, ended.final, [(work.lane / name).exists() for name in names], (work.out / "note").exists()]


def test_in_a_box_it_writes_only_inside_its_scope(tmp_path: Path) -> None:
    (tmp_path / "path").write_text(PATH)
    found = inside_apart(works_in_a_box, tmp_path, SCRIPTS)
    if isinstance(found, str):
        pytest.skip(f"{found}; run `make box-tools`, or `apt install bubblewrap`")
    assert found == ["done", "Changed.", [True, False, False], True]


class Scripted(Codex, frozen=True, kw_only=True):
    """Codex whose model plays a script whatever the prompt is."""

    script: str

    def settings(self, work: Work) -> dict[str, Any]:
        found = super().settings(work)
        instructions = f"{found['developer_instructions']} [[script:{self.script}]]"
        return found | {"developer_instructions": instructions, "model": "played-1"}


class CodexBench:
    behaviours: tuple[Behaviour, ...] = ("answers", "works", "leaves", "floods", "dumps")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> OneShot:  # noqa: ARG002
        """Its own sandbox would end what is left behind; somebody else has to be able to."""
        dialect = Scripted(script=behaviour, is_enclosed=behaviour in ("works", "leaves"))
        return OneShot(dialect=dialect, patience=Patience(asked=1))

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "works":
            await until((work.lane / "pids").exists, "it works")


BENCH = CodexBench()


def keeps_the_contract(_: ModelServer, folder: Path) -> list[str]:
    os.environ["SECRET_OF_THE_USER"] = "hunter2"
    chosen = [clause for clause in clauses(BENCH) if clause.behaviour == folder.name]
    for clause in chosen:
        (folder / clause.name).mkdir()
        clause.hold(BENCH, folder / clause.name)
    return [clause.name for clause in chosen]


@pytest.mark.parametrize("behaviour", BENCH.behaviours)
def test_contract(behaviour: Behaviour, tmp_path: Path) -> None:
    assert inside_apart(keeps_the_contract, tmp_path / behaviour, SCRIPTS)
