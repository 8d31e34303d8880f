"""How the evidence of a run is put into words."""

import msgspec
import pytest

from tests.views.trial import TEST, green, merged, with_tests
from treadle.toolchains.command import LIMITS
from treadle.views.evidence import Evidence
from treadle.views.evidence_html import html
from treadle.views.evidence_text import rows
from treadle.views.evidence_words import score
from treadle.views.result import Result

RESULT = Result(branch="treadle/calc-1/root/int", commit="c" * 40, into="main", taken=False, merge="branch", why="")


@pytest.mark.parametrize(
    ("outcome", "said", "never"),
    [("Done", "result", "accepted"), ("Aborted", "accepted", "result"), ("Partial", "accepted", "result")],
)
def test_only_a_good_end_has_a_result(outcome: str, said: str, never: str) -> None:
    found = msgspec.structs.replace(merged().evidence(), outcome=outcome, so_far=False, result=RESULT)
    lines = [row.text for row in rows(found)]
    assert f"{said} {'c' * 12} on the branch treadle/calc-1/root/int" in lines
    assert not [line for line in lines if line.startswith(f"{never} ")]
    page = html(found)
    assert f"<dt>{said.capitalize()}</dt>" in page
    assert ("the result is" in page) is (said == "result")


def by_own_word() -> Evidence:
    facts = green(TEST)
    facts["green"] |= {"limits": [*LIMITS]}
    trial = with_tests().says("root:impl#1.1", "TestsPassed", facts)
    return trial.says("root:review#1.1", "Approved", signOff="fine").merges().evidence()


def test_what_only_the_runner_has_seen_is_never_shown_as_witnessed() -> None:
    found = by_own_word()
    assert (found.criteria[0].standing, found.criteria[0].own_word, found.tally.own_word) == ("verified", True, 1)
    assert LIMITS in [check.limits for step in found.accepted for check in step.checks]
    lines = [row.text for row in rows(found)]
    assert lines[0].endswith("1 of 1 criteria verified by the runner's own word")
    assert "○ AC-1 · root · verified by the runner's own word" in lines
    assert any(line.startswith("whose  its test runner says so") for line in lines)
    page = html(found)
    assert 'class="card verified"' not in page
    assert ">verified by the runner&#39;s own word</span>" in page
    assert "1 of 1 criteria verified by the runner&#39;s own word" in page


def test_what_others_have_seen_too_is_told_without_a_word_about_it() -> None:
    found = merged().evidence()
    assert (found.criteria[0].own_word, found.tally.own_word) == (False, 0)
    assert "own word" not in html(found) + str(list(rows(found)))


def test_some_of_them_by_own_word() -> None:
    tally = msgspec.structs.replace(by_own_word().tally, criteria=3, verified=2)
    found = msgspec.structs.replace(by_own_word(), tally=tally)
    assert score(found) == "2 of 3 criteria verified (1 of them by the runner's own word)"
