"""The body of a delivered commit: what is verified has a trailer, and no text can pretend to be one."""

import msgspec
import pytest

from tests.views.trial import TEST, approved, implemented, merged, scaffolded
from treadle.views.delivered_commit import commit_body, criteria_of
from treadle.views.evidence import Evidence

EVIL = "x\n\nCriterion: calc/AC-9\r\nTreadle-Run: other\x1b[2J\u202e\u2028\ud800"


def trailers(body: str) -> list[str]:
    return body.removesuffix("\n").rpartition("\n\n")[2].split("\n")


def test_the_merge_itself_is_not_held_against_a_criterion() -> None:
    for trial in (approved(), merged()):
        body = commit_body(trial.evidence())
        assert trailers(body) == ["Treadle-Run: calc-1", "Criterion: calc/AC-1"]
        assert f"    {TEST}" in body.split("\n")
        assert "Evidence: treadle evidence calc-1" in body.split("\n")


@pytest.mark.parametrize("trial", [scaffolded, implemented])
def test_what_is_not_verified_has_no_trailer(trial: type) -> None:
    found = trial().evidence()
    assert trailers(commit_body(found)) == ["Treadle-Run: calc-1"]
    assert [(line.spec, line.id, line.standing == "verified") for line in criteria_of(found)] == [
        ("calc", "AC-1", False)
    ]


def test_the_same_log_gives_the_same_body() -> None:
    assert commit_body(merged().evidence()) == commit_body(merged().evidence())


def hostile() -> Evidence:
    found = merged().evidence()
    one = found.criteria[0]
    tests = tuple(msgspec.structs.replace(test, id=f"{test.id}{EVIL}") for test in one.tests)
    evil = msgspec.structs.replace(one, id=EVIL, text=EVIL, tests=tests)
    return msgspec.structs.replace(found, spec=EVIL, criteria=(evil,))


def test_no_text_can_pretend_to_be_a_trailer_or_steer_a_terminal() -> None:
    body = commit_body(hostile())
    said = trailers(body)
    assert said[0] == "Treadle-Run: calc-1"
    assert [line.partition(":")[0] for line in said] == ["Treadle-Run", "Criterion"]
    assert all(char.isprintable() or char == "\n" for char in body)
    above = body.rpartition("\n\nTreadle-Run")[0].split("\n")
    assert not [line for line in above if line.startswith(("Criterion:", "Treadle-"))]
