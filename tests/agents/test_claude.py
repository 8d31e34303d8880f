"""Claude Code under its runner: what it is told, and (with `make test-agents`) the program itself."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.server import ModelServer
from tests.agents import hostile
from tests.real_agents import KEY, another, inside_apart
from tests.results.desk import desk
from tests.runtime.stage import ONE_STEP, with_role
from tests.runtime.stage import Stage as Run
from treadle.agents.claude import Claude, ClaudeReader
from treadle.agents.files import MAX_FINAL
from treadle.agents.one_shot import OneShot
from treadle.agents.processes import find_process
from treadle.agents.program import KeeperFiles, Patience
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.enclosures.port import NoEnclosure
from treadle.kernel.events import Exited
from treadle.mcp.http import HttpTools
from treadle.ports import Ended, Progress, Work
from treadle.protocol.model import Perm
from treadle.results.channels import Before, read_answer
from treadle.results.tools import mcp_config
from treadle.testing.runner_contract import PATIENCE, Behaviour, clauses, make_work, until

TALK = "06473fc0-37af-499d-9547-1225945c4802"


def words_of(folder: Path, claude: Claude = Claude(), session: str = "", **changes: Any) -> list[str]:  # noqa: B008
    work = make_work(folder, folder / "lane", **changes)
    kept = folder / ".claude" / "projects" / "-lane" / f"{TALK}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    return claude.argv(work, folder, session)


def after(words: list[str], option: str) -> str:
    """What follows an option."""
    return words[words.index(option) + 1]


@pytest.mark.parametrize(
    ("session", "fork", "expected"),
    [
        ("", False, []),
        (TALK, False, ["--resume", TALK]),
        (TALK, True, ["--resume", TALK, "--fork-session"]),
        (TALK[::-1], False, []),
        ("*", False, []),
        ("--dangerously-skip-permissions", False, []),
    ],
)
def test_a_conversation_is_begun_continued_or_branched_off(
    session: str, fork: bool, expected: list[str], tmp_path: Path
) -> None:
    words = words_of(tmp_path, session=session, fork=fork, model="opus")
    assert words[words.index("--model") + 2 :] == expected
    assert "Do it." not in words, "the prompt is not for everybody to see"


def test_each_start_passes_all_options_again(tmp_path: Path) -> None:
    (tmp_path / "home" / "bundle").mkdir(parents=True)
    (tmp_path / "home" / "bundle" / "mcp.json").write_text("{}")
    first, later = words_of(tmp_path), words_of(tmp_path, session=TALK)
    assert later[: len(first)] == first
    assert "mcp__treadle__emit_exit" in after(first, "--append-system-prompt")
    assert after(first, "--mcp-config") == str(tmp_path / "home" / "bundle" / "mcp.json")
    assert after(first, "--setting-sources") == ""
    assert "--model" not in first
    assert "--max-turns" not in first
    assert after(words_of(tmp_path, turns=7), "--max-turns") == "7"


WEB = ["WebFetch", "WebSearch"]
ASKED = ["Bash", "Monitor", *WEB]
CHANGING = ["Edit", "NotebookEdit", "Write"]
ANSWERS = ["Edit(/.ai/executor-result)", "Edit(/.ai/HANDOFF.md)"]


@pytest.mark.parametrize(
    ("writes", "mode", "edits"),
    [
        (None, "acceptEdits", []),
        ((), "dontAsk", ANSWERS),
        (("src/**", "*.md"), "dontAsk", ["Edit(/src/**)", "Edit(/*.md)", *ANSWERS]),
        (("src/**", "a,b (1).md"), "acceptEdits", []),
    ],
)
def test_the_write_scope_decides_on_allowed_tools_and_permission_mode(
    writes: tuple[str, ...] | None, mode: str, edits: list[str], tmp_path: Path
) -> None:
    words = words_of(tmp_path, writes=writes)
    assert after(words, "--permission-mode") == mode
    allowed = words[words.index("--allowedTools") + 1 :]
    assert allowed == [*ASKED, "mcp__treadle", f"Read(/{tmp_path}/home/bundle/**)", *edits]


@pytest.mark.parametrize("is_enclosed", [False, True])
@pytest.mark.parametrize(
    ("perms", "refused", "allowed"),
    [
        (None, [], ASKED),
        (("read_files",), ["Bash", "Monitor", "Edit", "NotebookEdit", "Write", *WEB], []),
        (("read_files", "web"), ["Bash", "Monitor", "Edit", "NotebookEdit", "Write"], WEB),
        (("read_files", "run_commands"), ["Edit", "NotebookEdit", "Write", *WEB], ["Bash", "Monitor"]),
        (("read_files", "modify"), ["Bash", "Monitor", *WEB], []),
        (("run_commands", "modify"), WEB, ["Bash", "Monitor"]),
    ],
)
def test_tools_that_the_role_lacks_permission_for_are_refused(
    is_enclosed: bool, perms: tuple[Perm, ...] | None, refused: list[str], allowed: list[str], tmp_path: Path
) -> None:
    words = words_of(tmp_path, Claude(is_enclosed=is_enclosed), perms=perms, writes=("src/**",))
    none = [tool for tool in after(words, "--disallowedTools").split(",") if tool in (*ASKED, *CHANGING)]
    assert none == refused
    if is_enclosed:
        return
    asked = words[words.index("--allowedTools") + 1 :]
    assert asked[: len(allowed) + 1] == [*allowed, "mcp__treadle"]
    assert ("Edit(/src/**)" in asked) == ("Edit" not in refused)
    assert after(words, "--permission-mode") == "dontAsk"


def test_its_own_sandbox_is_used_unless_a_box_encloses_it(tmp_path: Path) -> None:
    assert "--settings" not in words_of(tmp_path)
    sandbox = json.loads(after(words_of(tmp_path, Claude(has_sandbox=True)), "--settings"))["sandbox"]
    assert sandbox["enabled"]
    assert sandbox["failIfUnavailable"]
    assert sandbox["filesystem"] == {"allowWrite": [str(tmp_path / "home" / "out")]}
    enclosed = words_of(tmp_path, Claude(is_enclosed=True, has_sandbox=True), writes=("src/**",))
    assert after(enclosed, "--permission-mode") == "bypassPermissions"
    assert not {"--settings", "--allowedTools"} & {*enclosed}


def test_its_environment_depends_on_box_and_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = make_work(tmp_path, tmp_path / "lane")
    assert "IS_SANDBOX" not in Claude().env(work, tmp_path)
    assert Claude(is_enclosed=True).env(work, tmp_path)["IS_SANDBOX"] == "1", "else root may not skip its questions"
    assert Claude().env(work, tmp_path)["ENABLE_TOOL_SEARCH"] == "false"
    monkeypatch.delenv("CLAUDE_CODE_USE_BEDROCK", raising=False)
    assert "AWS_*" not in Claude().keys
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    assert {"AWS_*", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_API_KEY"} <= {*Claude().keys}


def test_claude_is_named_by_its_program(tmp_path: Path) -> None:
    runner = parse_runner("claude", AgentSetup(root=tmp_path))
    assert isinstance(runner, OneShot)
    assert isinstance(runner.dialect.reader(), ClaudeReader)
    assert runner.abilities.mcp == "http"
    apart = parse_runner("claude", AgentSetup(root=tmp_path, enclosure=NoEnclosure(name="a container", is_apart=True)))
    assert apart.abilities.mcp == "stdio", "who is apart does not reach this process"
    assert isinstance(apart, OneShot)
    assert apart.dialect == Claude(is_enclosed=True)


# the program itself

HOSTILE = Path(hostile.__file__)
USED = "usage: {tokens_in: 1000}"
SCRIPTS = rf"""
scripts:
  answers: [{{call: {{tool: Bash, with: {{command: "{sys.executable} {HOSTILE} answers"}}}}}}, {{say: Done.}}]
  works:
    - {{call: {{tool: Bash, with: {{command: "{sys.executable} {HOSTILE} works"}}}}, {USED}}}
    - {{say: Done., {USED}}}
  leaves: [{{call: {{tool: Bash, with: {{command: "{sys.executable} {HOSTILE} leaves"}}}}}}, {{say: Done.}}]
  dumps: [{{call: {{tool: Bash, with: {{command: "{sys.executable} {HOSTILE} dumps"}}}}}}, {{say: Done.}}]
  floods: [say: {"flood " * (MAX_FINAL // 5)}]
  step:
    find: {{folder: '[Ww]orking directory: (\S+)'}}
    steps:
      - say: I write two files.
        {USED}
        call:
          - {{tool: Write, with: {{file_path: "{{folder}}/src/hello.txt", content: "hi\n"}}}}
          - {{tool: Write, with: {{file_path: "{{folder}}/docs/hello.txt", content: "hi\n"}}}}
      - {{call: {{tool: mcp__treadle__emit_exit, with: {{exit: {{type: RCC}}}}}}, {USED}}}
      - {{call: {{tool: mcp__treadle__emit_exit, with: {{exit: {{type: RC, message: three}}}}}}, {USED}}}
      - say: It is handed in.
        usage: {{tokens_in: 10, cache_read: 4980, cache_write: 10, tokens_out: 20}}
  forgets:
    - {{say: I am done., {USED}}}
    - {{call: {{tool: mcp__treadle__emit_exit, with: {{exit: {{type: Ok, note: now}}}}}}, {USED}}}
    - {{say: Now I am., {USED}}}
  hello: [say: Hello.]
  bye: [say: Bye.]
  busy: [fail: {{status: 429, headers: {{retry-after: 1}}}}]
  wrong: [fail: 401]
"""


def runner() -> OneShot:
    return OneShot(dialect=Claude(), patience=Patience(asked=1))


async def play(work: Work, heard: list[Progress] | None = None) -> Ended:
    session = await runner().start(work, (heard if heard is not None else []).append)
    return await asyncio.wait_for(session.wait(), PATIENCE)


def worked(folder: Path, script: str, act: str = "root:tests#1.1", **changes: Any) -> Work:
    """An activity whose prompt names a script; all of a folder are of one run."""
    lane = folder / "lane"
    lane.mkdir(parents=True, exist_ok=True)
    return make_work(
        folder / act, lane, act, home=folder / "acts" / act, prompt=f"Do it. [[script:{script}]]", **changes
    )


class Scripted(Claude, frozen=True, kw_only=True):
    """Claude Code whose model plays a script whatever the prompt is."""

    script: str

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        words = super().argv(work, home, session)
        words[words.index("--append-system-prompt") + 1] += f" [[script:{self.script}]]"
        return words


class ClaudeBench:
    behaviours: tuple[Behaviour, ...] = ("answers", "works", "leaves", "floods", "dumps")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> OneShot:  # noqa: ARG002
        return OneShot(dialect=Scripted(script=behaviour), patience=Patience(asked=1))

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "works":
            await until((work.lane / "pids").exists, "it works")


BENCH = ClaudeBench()
CLAUSES = [clause for clause in clauses(BENCH) if not clause.name.startswith("knows_nothing")]


def keeps_the_contract(_: ModelServer, folder: Path) -> list[str]:
    os.environ["SECRET_OF_THE_USER"] = "hunter2"
    chosen = [clause for clause in CLAUSES if clause.behaviour == folder.name]
    for clause in chosen:
        (folder / clause.name).mkdir()
        clause.hold(BENCH, folder / clause.name)
    return [clause.name for clause in chosen]


@pytest.mark.agents
@pytest.mark.parametrize("behaviour", BENCH.behaviours)
def test_contract(behaviour: Behaviour, tmp_path: Path) -> None:
    assert inside_apart(keeps_the_contract, tmp_path / behaviour, SCRIPTS)


def does_a_step(server: ModelServer, folder: Path) -> dict[str, Any]:
    it = desk(folder, "dptr/cycle/red")
    work = msgspec.structs.replace(it.work, prompt="Do it. [[script:step]]", env=it.env, writes=("src/**",))
    (work.bundle / "mcp.json").write_bytes(msgspec.json.encode(mcp_config(it.env)))
    heard: list[Progress] = []
    ended = asyncio.run(play(work, heard))
    reading = asyncio.run(read_answer(it.work, it.step_exits, Before()))
    kept = b"".join(path.read_bytes() for path in work.home.rglob("*") if path.is_file())
    return {
        "how": [ended.how, ended.code, ended.detail, ended.final],
        "session": len(ended.session.partition("/")[2]),
        "usage": msgspec.to_builtins(ended.usage),
        "answer": [reading.channel, reading.claim.fields["message"]] if reading.claim else [],
        "texts": [progress.text for progress in heard if progress.text],
        "notes": [progress.note for progress in heard if progress.note],
        "heard": json.dumps([exchange.body["messages"][-1] for exchange in server.exchanges if exchange.script]),
        "tools": sorted({tool["name"] for exchange in server.exchanges for tool in exchange.body.get("tools", ())}),
        "written": sorted(str(path.relative_to(work.lane)) for path in work.lane.rglob("*.txt")),
        "leak": KEY.encode() in kept,
    }


@pytest.mark.agents
def test_a_step_from_its_files_to_an_answer_that_was_corrected(tmp_path: Path) -> None:
    found = inside_apart(does_a_step, tmp_path, SCRIPTS)
    assert found["how"] == ["done", 0, "", "It is handed in."], found
    assert found["answer"] == ["mcp", "three"], found
    assert "did you mean 'RC'" in found["heard"]
    assert found["written"] == ["src/hello.txt"], "the rest is refused by the program itself"
    assert "refused Write" in "".join(found["notes"])
    assert {"Write docs/hello.txt", "emit_exit"} & {*found["texts"]}, "not all of them: it is quicker than people"
    assert found["usage"]["tokens_in"] == 3 * 1000 + 5000
    assert found["usage"]["cached"] == 4980
    assert found["usage"]["cost"] > 0
    assert found["session"] == 36
    assert {"mcp__treadle__emit_exit", "Bash", "Edit"} <= {*found["tools"]}, "they need not be searched for"
    assert not {"EnterWorktree", "SendMessage", "CronCreate"} & {*found["tools"]}
    assert not found["leak"]


def goes_on_and_branches_off(server: ModelServer, folder: Path) -> list[list[Any]]:
    """What the model was told of the conversation in each activity, and whether some of it was in the cache."""
    said = []

    def talk(act: str, script: str, **changes: Any) -> str:
        before = len(server.exchanges)
        ended = asyncio.run(play(worked(folder, script, act, **changes)))
        assert ended.how == "done", ended
        bodies = [json.dumps(each.body["messages"]) for each in server.exchanges[before:] if each.script]
        is_warm = ended.usage.cached > 0.9 * ended.usage.tokens_in
        said.append([*(word for word in ("Hello.", "Bye.") if word in bodies[-1]), is_warm])
        return ended.session

    first = talk("1", "hello")
    branch = talk("2", "hello", session=first, fork=True)
    assert talk("3", "bye", session=first) == first
    assert branch != first
    assert talk("4", "hello", session=branch) == branch
    talk("5", "hello", session=first)
    return said


@pytest.mark.agents
def test_a_fork_does_not_see_the_other_branchs_messages(tmp_path: Path) -> None:
    said = inside_apart(goes_on_and_branches_off, tmp_path, SCRIPTS)
    assert said == [[False], ["Hello.", True], ["Hello.", True], ["Hello.", True], ["Hello.", "Bye.", True]]


def forgets(server: ModelServer, folder: Path) -> dict[str, Any]:
    table = msgspec.structs.replace(with_role(ONE_STEP), templates={"work.jinja": "Do your part. [[script:forgets]]"})
    with HttpTools() as tools:
        stage = Run(folder, table, runner(), tools=tools)
        state = asyncio.run(stage.drive())
    exits = [event for event in stage.events() if isinstance(event, Exited)]
    stage.store.close()
    turns = [exchange for exchange in server.exchanges if exchange.script]
    return {
        "outcome": state.outcome,
        "answers": [event.envelope.key for event in exits],
        "used": [event.usage.tokens_in for event in exits],
        "steps": [turn.step for turn in turns],
        "reminded": "REMINDER" in json.dumps(turns[1].body["messages"][-1]),
        "at": [json.loads(path.read_text())["mcpServers"]["treadle"]["type"] for path in folder.rglob("mcp.json")],
    }


@pytest.mark.agents
def test_an_agent_without_an_answer_is_reminded_in_the_same_conversation(tmp_path: Path) -> None:
    assert inside_apart(forgets, tmp_path, SCRIPTS) == {
        "outcome": "Done",
        "answers": ["Ok"],
        "used": [3000],
        "steps": [0, 1, 2],
        "reminded": True,
        "at": ["http"],
    }


def meets_outages(_: ModelServer, folder: Path) -> dict[str, list[Any]]:
    found = {}

    def meet(name: str, script: str) -> None:
        ended = asyncio.run(play(worked(folder, script, name)))
        found[name] = [ended.how, ended.outage, ended.usage.tokens_in > 0]

    meet("busy", "busy")
    meet("wrong", "wrong")
    url = os.environ.pop("ANTHROPIC_BASE_URL")
    os.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    meet("offline", "hello")
    os.environ["ANTHROPIC_BASE_URL"] = url
    del os.environ["ANTHROPIC_API_KEY"]
    meet("nobody", "hello")
    (folder / "user" / ".claude").mkdir()
    login = {"accessToken": "sk-ant-oat01-fake", "expiresAt": 1 << 42, "scopes": ["user:inference"]}
    (folder / "user" / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
    meet("login", "hello")
    return found


@pytest.mark.agents
def test_outages_have_their_kind(tmp_path: Path) -> None:
    assert inside_apart(meets_outages, tmp_path, SCRIPTS) == {
        "busy": ["failed", "rate", False],
        "wrong": ["failed", "login", False],
        "offline": ["failed", "network", False],
        "nobody": ["failed", "login", False],
        "login": ["done", None, True],
    }


def drives(folder: Path) -> None:
    """Until it is killed."""

    async def drive() -> None:
        session = await runner().start(worked(folder, "works"), lambda _: None)
        sys.stdout.write("started\n")
        sys.stdout.flush()
        await session.wait()

    asyncio.run(drive())


def drive_and_kill(folder: Path) -> list[int]:
    """Start an agent from a process that is killed while it works; the pids of what the agent has started."""
    pids = worked(folder, "works").lane / "pids"
    with another(drives, folder) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        asyncio.run(until(lambda: pids.exists() and bool(pids.read_text()), "it works"))
        process.kill()
    return [int(line) for line in pids.read_text().splitlines()]


def survives(_: ModelServer, folder: Path) -> dict[str, Any]:
    attached, harvested = folder / "attached", folder / "harvested"
    found: dict[str, Any] = {}

    async def attach() -> None:
        heard: list[Progress] = []
        session = await runner().attach(worked(attached, "works"), heard.append)
        assert session
        waiting = asyncio.ensure_future(session.wait())
        await until(
            lambda: any("hostile.py works" in progress.text for progress in heard), "it is heard from the start"
        )
        await session.cancel()
        ended = await waiting
        found["attached"] = [ended.how, ended.usage.tokens_in, len(ended.session.partition("/")[2])]

    async def harvest(pid: int) -> None:
        work = worked(harvested, "works")
        os.kill(pid, 15)  # what its tool had started: it goes on without
        await until(lambda: not KeeperFiles.of(work).is_locked(), "it has ended")
        ended = await runner().harvest(work)
        assert ended
        found["harvested"] = [ended.how, ended.final, ended.usage.tokens_in]

    pids = drive_and_kill(attached)
    asyncio.run(attach())
    found["left"] = [pid for pid in pids if find_process(pid)]
    asyncio.run(harvest(drive_and_kill(harvested)[0]))
    return found


@pytest.mark.agents
def test_it_survives_the_driver_that_started_it(tmp_path: Path) -> None:
    found = inside_apart(survives, tmp_path, SCRIPTS)
    assert found == {"attached": ["lost", 1000, 36], "left": [], "harvested": ["done", "Done.", 2000]}
