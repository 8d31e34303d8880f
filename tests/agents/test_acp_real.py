"""Gemini CLI and opencode themselves under the runner (with `make test-agents`)."""

import asyncio
import json
import os
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
from tests.results.desk import desk
from treadle.agents.acp import AcpRunner
from treadle.agents.processes import find_process
from treadle.agents.program import KeeperFiles, Patience
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.enclosures.box import find_box
from treadle.enclosures.port import OPEN, Enclosure
from treadle.mcp.http import HttpTools
from treadle.ports import Ended, Progress, Work
from treadle.results.channels import Before, read_answer
from treadle.results.tools import mcp_config_at
from treadle.runtime.dispatch import assignment_of
from treadle.testing.runner_contract import make_work

LONG = 150
AGENTS = ("gemini", "opencode")
HOSTILE = f"{sys.executable} {hostile.__file__}"
USED = "usage: {tokens_in: 1000}"
SCRIPTS = rf"""
scripts:
  works:
    - call:
        first:
          - {{tool: run_shell_command, with: {{command: "{HOSTILE} works", description: "work"}}}}
          - {{tool: bash, with: {{command: "{HOSTILE} works", description: "work"}}}}
      {USED}
    - {{say: Done., {USED}}}
  waits:
    - call:
        tool: [run_shell_command, bash]
        with: {{command: "echo 0 > pids; while [ ! -e go ]; do sleep 0.05; done; echo gone", description: "wait"}}
      {USED}
    - {{say: Done., {USED}}}
  writes:
    - call:
        tool: [run_shell_command, bash]
        with: {{command: "mkdir -p src; echo x > src/in; echo x > out; echo x > ../beside", description: "write"}}
    - call:
        first:
          - {{tool: write_file, with: {{file_path: "docs/by-tool", content: "x"}}}}
          - {{tool: write, with: {{filePath: "docs/by-tool", content: "x"}}}}
    - say: Tried.
  step:
    find: {{folder: 'The folder is (\S+?)\.'}}
    steps:
      - say: I write two files.
        {USED}
        call:
          - tool: [write_file, write]
            with: {{file_path: "{{folder}}/src/hello.txt", filePath: "{{folder}}/src/hello.txt", content: "hi\n"}}
      - {USED}
        call:
          - tool: [write_file, write]
            with: {{file_path: "{{folder}}/docs/hello.txt", filePath: "{{folder}}/docs/hello.txt", content: "hi\n"}}
      - {{call: {{tool: "*emit_exit", with: {{exit: {{type: RCC}}}}}}, {USED}}}
      - {{call: {{tool: "*emit_exit", with: {{exit: {{type: RC, message: three}}}}}}, {USED}}}
      - say: It is handed in.
        usage: {{tokens_in: 10, cache_read: 4990, tokens_out: 20}}
  hello: [say: Hello.]
  bye: [say: Bye.]
  busy: [fail: {{status: 429, message: "Too many requests, try again in 20 s"}}]
  wrong: [fail: {{status: 401, message: "Invalid API key"}}]
"""
MODELS = {"gemini": "gemini-2.5-flash", "opencode": "played/played-1"}


def runner(agent: str, enclosure: Enclosure = OPEN) -> AcpRunner:
    made = parse_runner(agent, AgentSetup(root=Path("/"), patience=Patience(asked=3), enclosure=enclosure))
    assert isinstance(made, AcpRunner)
    dialect = msgspec.structs.replace(made.dialect, silence=4.0)
    return msgspec.structs.replace(made, dialect=dialect)


async def play(agent: str, work: Work, heard: list[Progress] | None = None, enclosure: Enclosure = OPEN) -> Ended:
    session = await runner(agent, enclosure).start(work, (heard if heard is not None else []).append)
    return await asyncio.wait_for(session.wait(), LONG)


def worked(agent: str, folder: Path, script: str, act: str = "root:tests#1.1", **changes: Any) -> Work:
    """An activity whose prompt names a script; all of a folder are of one run."""
    lane = folder / "lane"
    lane.mkdir(parents=True, exist_ok=True)
    given = {"lane": lane, "model": MODELS[agent], "prompt": f"Do it. [[script:{script}]]", **changes}
    return make_work(folder / act, given.pop("lane"), act, home=folder / "acts" / act, **given)


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """They take their time."""
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.05)
    assert condition(), what


def does_a_step(server: ModelServer, folder: Path) -> dict[str, Any]:
    agent = folder.name
    it = desk(folder, "dptr/cycle/red")
    work = msgspec.structs.replace(
        it.work, prompt=f"The folder is {it.work.lane}. [[script:step]]", env=it.env, writes=("src/**",),
        model=MODELS[agent],
    )  # fmt: skip
    heard: list[Progress] = []

    async def step(tools: HttpTools) -> Ended:
        config = mcp_config_at(await tools.open(assignment_of(it.work, it.step_exits), it.env), it.work.token)
        (work.bundle / "mcp.json").write_bytes(msgspec.json.encode(config))
        return await play(agent, work, heard)

    with HttpTools() as tools:
        ended = asyncio.run(step(tools))
    reading = asyncio.run(read_answer(it.work, it.step_exits, Before()))
    kept = b"".join(path.read_bytes() for path in work.home.rglob("*") if path.is_file())
    return {
        "how": [ended.how, ended.code, ended.detail, ended.final],
        "session": bool(ended.session.partition("/")[2]),
        "usage": msgspec.to_builtins(ended.usage),
        "answer": [reading.channel, reading.claim.fields["message"]] if reading.claim else [],
        "texts": [progress.text for progress in heard if progress.text],
        "notes": [progress.note for progress in heard if progress.note],
        "heard": json.dumps([exchange.body for exchange in server.exchanges if exchange.script][-1:]),
        "written": sorted(str(path.relative_to(work.lane)) for path in work.lane.rglob("*.txt")),
        "leak": KEY.encode() in kept,
    }


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_step_from_its_files_to_an_answer_that_was_corrected(agent: str, tmp_path: Path) -> None:
    found = inside_apart(does_a_step, tmp_path / agent, SCRIPTS)
    assert found["how"] == ["done", 0, "", "It is handed in."], found
    assert found["answer"] == ["mcp", "three"], found
    assert ("must be equal to constant" if agent == "gemini" else "did you mean 'RC'") in found["heard"]
    assert found["written"] == ["src/hello.txt"], "the rest is refused"
    assert "files of this step" in "".join(found["notes"]), found
    assert found["usage"]["tokens_in"] == 4 * 1000 + 5000, found
    assert found["usage"]["cached"] == 4990
    assert found["usage"]["unpriced"] == found["usage"]["tokens_in"] + found["usage"]["tokens_out"]
    assert found["session"]
    assert not found["leak"]


def goes_on_and_branches_off(server: ModelServer, folder: Path) -> dict[str, Any]:
    """What the model was told of the conversation in each activity, and what people were."""
    agent = folder.name
    said: list[list[str]] = []
    warm: list[bool] = []
    notes: list[str] = []

    def talk(act: str, script: str, **changes: Any) -> str:
        before = len(server.exchanges)
        heard: list[Progress] = []
        lane = folder / f"lane-{act}"
        lane.mkdir()
        ended = asyncio.run(play(agent, worked(agent, folder, script, act, lane=lane, **changes), heard))
        assert ended.how == "done", ended
        assert ended.final == {"hello": "Hello.", "bye": "Bye."}[script]
        bodies = [json.dumps(each.body) for each in server.exchanges[before:] if each.script and each.body.get("tools")]
        warm.append(ended.usage.cached > 0.9 * ended.usage.tokens_in)
        said.append([word for word in ("Hello.", "Bye.") if word in bodies[-1]])
        notes.extend(progress.note for progress in heard if progress.note)
        return ended.session

    first = talk("1", "hello")
    assert talk("2", "bye", session=first) == first
    branch = talk("3", "hello", session=first, fork=True)
    assert branch != first
    return {"said": said, "notes": notes, "warm": warm}


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_conversation_goes_on_in_another_lane_and_branches_off_where_the_agent_can(
    agent: str, tmp_path: Path
) -> None:
    found = inside_apart(goes_on_and_branches_off, tmp_path / agent, SCRIPTS)
    assert runner(agent).abilities.fork == (agent == "opencode")
    if agent == "opencode":
        assert (found["said"], found["notes"]) == ([[], ["Hello."], ["Hello.", "Bye."]], [])
    else:
        assert found["said"] == [[], ["Hello."], []]
        assert "branch off" in "".join(found["notes"])
    assert found["warm"] == [bool(words) for words in found["said"]], "what was sent before is read from the cache"


def meets_outages(server: ModelServer, folder: Path) -> dict[str, list[Any]]:
    agent = folder.name
    found = {}

    def meet(name: str, script: str) -> None:
        ended = asyncio.run(play(agent, worked(agent, folder, script, name)))
        found[name] = [ended.how, ended.outage, ended.wait, ended.detail]

    meet("busy", "busy")
    meet("wrong", "wrong")
    for name in ("GOOGLE_GEMINI_BASE_URL", "OPENCODE_CONFIG_CONTENT"):
        os.environ[name] = os.environ[name].replace(server.url, "http://127.0.0.1:9")
    meet("offline", "hello")
    return found


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_outages_have_their_kind(agent: str, tmp_path: Path) -> None:
    found = inside_apart(meets_outages, tmp_path / agent, SCRIPTS)
    assert found["busy"][:3] == ["failed", "rate", 20], found
    assert found["wrong"][:2] == ["failed", "login"], found
    assert found["offline"][:2] == ["failed", "network"], found


def works_in_a_box(_: ModelServer, folder: Path) -> Any:
    agent = folder.name
    os.environ["PATH"] += f"{os.pathsep}{PATH.partition(os.pathsep)[0]}"
    box = asyncio.run(find_box())
    if isinstance(box, str):
        return box
    work = worked(agent, folder, "writes", writes=("src/**",))
    for name in ("src", "docs"):
        (work.lane / name).mkdir()
    ended = asyncio.run(play(agent, work, enclosure=box))
    written = sorted(str(path.relative_to(folder)) for path in folder.glob("lane/**/*") if path.is_file())
    return [ended.how, ended.final, written, (folder / "beside").exists()]


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_in_a_box_it_writes_only_inside_its_scope(agent: str, tmp_path: Path) -> None:
    found = inside_apart(works_in_a_box, tmp_path / agent, SCRIPTS)
    if isinstance(found, str):
        pytest.skip(f"{found}; run `make box-tools`, or `apt install bubblewrap`")
    assert found == ["done", "Tried.", ["lane/src/in"], False]


def drives(folder: Path) -> None:
    """Until it is killed."""

    async def drive() -> None:
        agent = folder.parent.name
        session = await runner(agent).start(worked(agent, folder, folder.name), lambda _: None)
        sys.stdout.write("started\n")
        sys.stdout.flush()
        await session.wait()

    asyncio.run(drive())


def drive_and_kill(folder: Path) -> tuple[Work, int]:
    """Start an agent from a process that is killed while it works; the pid of what the agent has started."""
    work = worked(folder.parent.name, folder, folder.name)
    pids = work.lane / "pids"
    with another(drives, folder) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        asyncio.run(eventually(lambda: pids.exists() and bool(pids.read_text()), "it works"))
        process.kill()
    return work, int(pids.read_text())


def survives(_: ModelServer, folder: Path) -> dict[str, Any]:
    agent = folder.name
    found: dict[str, Any] = {}

    async def attach(work: Work) -> None:
        heard: list[Progress] = []
        session = await runner(agent).attach(work, heard.append)
        assert session
        waiting = asyncio.ensure_future(session.wait())
        await eventually(lambda: any(progress.text for progress in heard), "it is heard from the start")
        await session.cancel()
        ended = await waiting
        found["attached"] = [ended.how, bool(ended.session)]

    async def harvest(work: Work) -> None:
        (work.lane / "go").touch()
        await eventually(lambda: not KeeperFiles.of(work).is_locked(), "it has ended")
        ended = await runner(agent).harvest(work)
        assert ended
        found["harvested"] = [ended.how, ended.final, ended.usage.tokens_in]

    work, pid = drive_and_kill(folder / "works")
    asyncio.run(attach(work))
    found["left"] = [one for one in (pid,) if find_process(one)]
    asyncio.run(harvest(drive_and_kill(folder / "waits")[0]))
    return found


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_it_survives_the_driver_that_started_it(agent: str, tmp_path: Path) -> None:
    found = inside_apart(survives, tmp_path / agent, SCRIPTS)
    assert found == {"attached": ["lost", True], "left": [], "harvested": ["done", "Done.", 2000]}
