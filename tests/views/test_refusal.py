"""Why an attempt came to nothing, in a line."""

import pytest

from treadle.prompts.outcomes import failure_report
from treadle.protocol.items import Json
from treadle.views.words import reason

GATE = "### scope\n- a.txt: not yours to write\n- b.txt: nor that\n\n### build\n- it fails\n\n### lint (advice)\n- long"


@pytest.mark.parametrize(
    ("cause", "report", "said"),
    [
        ("!gate", {"report": GATE, "checks": []}, "refused by scope, build: a.txt: not yours to write"),
        ("!gate.protection", "### protection\n- a.txt: is protected", "refused by protection: a.txt: is protected"),
        (
            "!invalid",
            failure_report("you have not handed in an exit", "the agent handed in no exit"),
            "no valid answer: the agent handed in no exit",
        ),
        ("!invalid", failure_report("for both", "for both"), "no valid answer: for both"),
        ("!crash", "it ended with code 3", "crashed: it ended with code 3"),
        ("!exhausted", "### red\n- none fails", "no attempt is left, refused by red: none fails"),
        ("!exhausted", "", "no attempt is left"),
        ("!timeout", "", "timed out"),
        ("!news", {"other": 1}, "!news"),
        ("!crash", "x" * 999, "more characters]"),
    ],
)
def test_a_reason_names_the_checks_and_their_first_finding(cause: str, report: Json, said: str) -> None:
    found = reason(cause, report)
    assert found.startswith(said) or found.endswith(said)
    assert len(found) < 700
