"""How the evidence of a run is put into words."""

import msgspec
import pytest

from tests.views.trial import merged
from treadle.views.evidence_html import html
from treadle.views.evidence_text import rows
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
