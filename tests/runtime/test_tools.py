"""Which agents are told to reach their tools over HTTP, and which start a server of their own."""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import CommandRunner
from treadle.ports import Abilities, Ended, Watch, Work
from treadle.results.assignment import Assignment
from treadle.runtime.dispatch import load_work

ADDRESS = "http://127.0.0.1:1/activity"


class Noted:
    """Serves at an address, or cannot; notes who was served."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.open_now: list[str] = []
        self.asked: list[tuple[str, str]] = []
        """Tokens, and where the tools were served before."""

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        assert env["TREADLE_TOKEN"] == task.token
        self.open_now = [task.act]
        self.asked.append((task.token, at))
        return self.address

    def close(self, task: Assignment) -> None:
        self.open_now.remove(task.act)


@pytest.mark.parametrize(
    ("mcp", "address", "told"),
    [("http", ADDRESS, "http"), ("http", "", "stdio"), ("http", None, "stdio"), ("stdio", ADDRESS, "stdio")],
)
def test_an_agent_gets_its_tools_over_http_or_stdio(
    mcp: Literal["stdio", "http"], address: str | None, told: str, tmp_path: Path
) -> None:
    tools = Noted(address) if address is not None else None
    emit = f"{sys.executable} -m treadle emit --type Ok"
    runner = CommandRunner(argv=("/bin/sh", "-c", emit), root=tmp_path, abilities=Abilities(survives=True, mcp=mcp))
    stage = Stage(tmp_path, with_role(ONE_STEP), runner, tools=tools)
    assert asyncio.run(stage.drive()).outcome == "Done"
    stage.store.close()

    (home,) = tmp_path.glob("runs/r/acts/*")
    (server,) = json.loads((home / "bundle" / "mcp.json").read_bytes())["mcpServers"].values()
    work = load_work(home)
    assert work is not None
    assert server["type"] == told
    assert work.tools_at == (ADDRESS if told == "http" else "")
    if told == "http":
        assert (server["url"], server["headers"]) == (ADDRESS, {"Authorization": f"Bearer {work.token}"})
    if tools:
        assert (tools.open_now, tools.asked) == ([], [(work.token, "")] if mcp == "http" else [])


class Forgetful:
    """Forgets to answer in the first round, and answers in the second."""

    abilities = Abilities(resume=True, mcp="http")

    def __init__(self, change: Callable[[Work], None]) -> None:
        self._change = change
        self.works: list[Work] = []

    async def start(self, work: Work, watch: Watch) -> "Round":  # noqa: ARG002
        self.works.append(work)
        self._change(work)
        return Round("" if len(self.works) == 1 else '{"exit": {"type": "Ok"}}')

    async def attach(self, work: Work, watch: Watch) -> None: ...

    async def harvest(self, work: Work) -> None: ...


class Round(NamedTuple):
    final: str

    async def wait(self) -> Ended:
        return Ended(how="done", final=self.final, session="conversation")

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        return False

    async def cancel(self) -> None: ...


def test_a_second_round_gets_the_current_address_of_its_tools(tmp_path: Path) -> None:
    tools = Noted(ADDRESS)
    read: list[object] = []

    def moved(work: Work) -> None:
        read.append(json.loads((work.bundle / "mcp.json").read_bytes())["mcpServers"]["treadle"]["url"])
        tools.address = ADDRESS + "/moved"

    runner = Forgetful(moved)
    stage = Stage(tmp_path, with_role(ONE_STEP), runner, tools=tools)
    assert asyncio.run(stage.drive()).outcome == "Done"
    stage.store.close()
    assert read == [work.tools_at for work in runner.works] == [ADDRESS, ADDRESS + "/moved"]
    assert [at for _, at in tools.asked] == ["", ADDRESS]
    assert tools.open_now == []
