"""The same on a terminal."""

from tests.views.trial import NOW, TEST, Trial, approved, merged, red, with_tests
from treadle.kernel.events import Failed
from treadle.views.evidence import Evidence
from treadle.views.evidence_text import rows


def told(found: Evidence) -> list[str]:
    return [f"{' ' * row.indent}{row.text}" for row in rows(found)]


def test_a_criterion_is_told_from_its_test_to_its_merge() -> None:
    lines = told(merged().evidence())
    assert lines[0] == "calc-1 · v3 1 · ended: Merged · 1 of 1 criteria verified"
    start = lines.index("✓ AC-1 · root · verified")
    assert lines[start + 1 : start + 7] == [
        "    AC-1 holds",
        "    test   tests/test_add.py::test_adds",
        "    red    root:tests#1.1 cccccccccccc, exit 1 as it must be, 0.25 s",
        "    green  root:impl#1.1 cccccccccccc, exit 0, 0.25 s",
        "    review Approved by tdd:ReviewImpl (root:review#1.1)",
        "    merge  root:merge#1.1 cccccccccccc",
    ]


def test_what_is_missing_comes_before_what_is_there() -> None:
    lines = told(Trial().evidence())
    start = lines.index("✗ AC-1 · root · no evidence")
    assert lines[start + 2] == "    missing: no test stands for it"
    assert "goes on (works) · 0 of 1 criteria verified so far" in lines[0]


def test_refusals_are_told_with_their_reports() -> None:
    lines = told(with_tests().says("root:impl#1.1", "TestsPassed", {}, "green").evidence())
    assert "    before refused once: TestsPassed (green failed)" in lines
    start = lines.index("── Refused, failed and sent back ──")
    assert "root:impl#1.1 refused: TestsPassed" in lines[start + 1]
    assert lines[start + 2 : start + 4] == ["    ### green", "    - mend it"]


def test_a_merge_that_was_rejected_is_told_with_its_reason() -> None:
    trial = approved()
    lines = told(trial.happens(trial.rejected("test_adds: fails: 5 is not 4")).evidence())
    at = next(at for at, line in enumerate(lines) if "sent back: MergeRejected.ContractViolation by effect" in line)
    assert lines[at + 1] == "    test_adds: fails: 5 is not 4"


def test_what_broke_is_told_in_words() -> None:
    trial = Trial()
    ref = trial.payloads.put({"report": "the test tool cannot start\nNo module named py"})
    lines = told(trial.happens(Failed(id="f", ts=NOW, act="root:scaffold#1.1", why="crash", detail_ref=ref)).evidence())
    assert "    the test tool cannot start" in lines
    assert "    No module named py" in lines


def test_what_tests_leave_open_is_told_though_it_refused_nothing() -> None:
    facts = red(TEST)
    noted = "".join(f"- (note) criterion AC-{n}: all its tests pass\n" for n in range(10))
    facts["red"] |= {"report": f"- something else\n{noted}"}
    lines = told(with_tests(facts=facts).evidence())
    start = lines.index("── What the tests leave open ──")
    assert lines[start + 1 : start + 3] == ["root:tests#1.1", "    criterion AC-0: all its tests pass"]
    assert lines[start + 10] == "    and 2 more: treadle show calc-1 root:tests#1.1"
    assert "── What the tests leave open ──" not in told(with_tests().evidence())
