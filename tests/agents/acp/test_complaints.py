"""When an agent's log is taken for the reason of its silence."""

import asyncio

import pytest

from treadle.agents.acp.complaints import Complaints

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
def test_several_complaints_and_nothing_else(lines: list[str], said: str) -> None:
    async def listen() -> str:
        complaints = Complaints(silence=0)
        complaints.sign_of_life()
        for line in lines:
            complaints.hear(line)
        await asyncio.sleep(0)
        return await asyncio.wait_for(complaints.lasting(), 0.01) if said else complaints.verdict()

    assert asyncio.run(listen()) == said


def test_a_sign_of_life_and_a_tool_at_work_excuse_it() -> None:
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
