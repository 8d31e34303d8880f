"""No status code of RIPER is forgotten: each occurs in a story, by the name of the exit or of the system exit."""

import re
from pathlib import Path

import pytest

from treadle.protocol.load import load

CODES = {
    **{code: code for code in "PC PR NR PA DG EN RC GC TI RTC RIC RFC BL ACCEPT REVISE REJECT QUALITY_FAILURE".split()},
    "TA": "TA",
    "ME": "!store",
    "TO": "!timeout",
    "EX": "!crash",
}
STORIES = [path for path in sorted(Path(__file__).parent.glob("test_riper*.py")) if path != Path(__file__)]
TOLD = "\n".join(path.read_text(encoding="utf-8") for path in STORIES)


@pytest.mark.parametrize("code", CODES)
def test_every_status_code_occurs_in_a_story(code: str) -> None:
    assert re.search(rf"(?<![\w!]){re.escape(CODES[code])}(?!\w)", TOLD), f"no story has →{code}"


def test_every_agents_exit_is_a_published_code_or_a_modes_own() -> None:
    riper = load("riper")
    steps = [step for graph in riper.graphs.values() for step in graph.steps.values() if step.kind == "agent"]
    exits = {name for step in steps for name in step.exits}
    at_delivery = {"RebaseAdapted", "RebaseBlocked"}
    assert exits - CODES.keys() == {"Designed", "Validated", "FailureReport"} | at_delivery
