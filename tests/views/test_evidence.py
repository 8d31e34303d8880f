"""The evidence of a run as a whole, the findings and advice of its checks, and the body of the delivered commit."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.recorded import record
from tests.views.trial import NOW, TEST, Trial, approved, green, implemented, merged, scaffolded, with_tests
from treadle.kernel.events import Event, Failed
from treadle.kernel.replay import Move, encode_event
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.store.records import Stray
from treadle.store.sqlite import Store
from treadle.testing.scenario import Scenario, items
from treadle.views.activity import story
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import CheckFinding, Evidence
from treadle.views.evidence_html import html
from treadle.views.evidence_records import advice_of, codes, findings
from treadle.views.evidence_text import commit_body, rows
from treadle.views.evidence_verdict import EvidenceInputs, gather_evidence
from treadle.views.result import Advice, advice_lines
from treadle.views.timeline import describe_move

# The evidence of a run as a whole: what it says of runs that go on, went wrong, or follow other protocols.


def test_a_run_that_goes_on_says_so() -> None:
    found = implemented().evidence()
    assert (found.so_far, found.outcome, found.status) == (True, "", "works")
    found = merged().evidence()
    assert (found.so_far, found.outcome, found.spec, found.about) == (False, "Merged", "calc", "the part calc")
    assert (found.tally.criteria, found.tally.verified) == (1, 1)
    assert found.usage.cost == 2.0


def test_every_accepted_exit_has_its_raw_records() -> None:
    found = merged().evidence()
    assert [(it.act, it.proves, it.effect) for it in found.accepted] == [
        ("root:scaffold#1.1", "plan", ""),
        ("root:tests#1.1", "red", ""),
        ("root:impl#1.1", "green", ""),
        ("root:review#1.1", "approval", ""),
        ("root:merge#1.1", "contract", "merge"),
    ]
    assert [it.check for it in found.accepted[-1].checks] == ["build", "contract", "suite"]
    red = found.accepted[1].checks[-1]
    assert (red.check, red.command, red.exit, red.duration, red.output) == (
        "red", ("pytest", "-q"), 1, 0.25, "the output of red",
    )  # fmt: skip


def test_refused_and_failed_work_stays_in_the_history() -> None:
    trial = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST), "scope", "green")
    trial.happens(Failed(id="f", ts=NOW + 50_000, act="root:impl#1.2", why="invalid", detail_ref=""))
    stray = Stray(at=NOW + 70_000, act="root:impl#1.1", what="answer", detail="too late")
    found = trial.evidence(stray)
    assert [(it.kind, it.act, it.what, it.why) for it in found.setbacks] == [
        ("refused", "root:impl#1.1", "TestsPassed", ("scope", "green")),
        ("failed", "root:impl#1.2", "invalid", ()),
        ("not obeyed", "root:impl#1.1", "answer", ()),
    ]
    assert found.setbacks[0].report.startswith("### scope, green")
    assert (found.setbacks[2].instance, found.setbacks[2].step) == ("root", "impl")


def test_a_skipped_check_has_refused_nothing() -> None:
    unseen: dict[str, dict[str, Json]] = {one: {"skipped": True} for one in ("green", "minimal")}
    trial = with_tests().says("root:impl#1.1", "TestsPassed", unseen, "scope", "green", "minimal")
    found = trial.evidence()
    assert [it.why for it in found.setbacks] == [("scope",)]
    told = story(trial.log, "root:impl#1.1", [], NOW)
    assert [it.check for it in told.checks if it.ok is False] == ["scope"]
    assert "green" not in told.verdict


def test_advice_against_accepted_work_is_a_waiver() -> None:
    found = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST), "minimal").evidence()
    assert [(it.act, it.check) for it in found.waivers] == [("root:impl#1.1", "minimal")]
    assert found.accepted[-1].exit == "TestsPassed"


def test_changes_beside_the_work_are_listed_with_any_verdict() -> None:
    beside: dict[str, dict[str, Json]] = {"checkpoint": {"meanwhile": ["in the user's repository, x was changed"]}}
    trial = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST) | beside, "green")
    found = trial.says("root:impl#1.2", "TestsPassed", green(TEST) | beside).evidence()
    assert [(it.act, it.check) for it in found.waivers] == [
        ("root:impl#1.2", "checkpoint"),
        ("root:impl#1.1", "checkpoint"),
    ]
    text = "\n".join(row.text for row in rows(found))
    assert "- in the user's repository, x was changed" in text.partition("── Advice that ")[2]


def test_a_persons_decisions_are_listed() -> None:
    trial = with_tests().says("root:impl#1.1", "Stuck", diagnosis="no way", recommendation="help")
    ask = next(iter(trial.log.state.asks))
    (said,) = trial.answers(ask, "retry", "use a dictionary").evidence().decisions
    assert (said.who, said.instance, said.step, said.choice, said.note) == (
        "ada", "root", "stuck", "retry", "use a dictionary",
    )  # fmt: skip
    assert said.question == trial.protocol.graphs["node"].steps["stuck@impl"].title


def test_the_same_log_and_payloads_give_the_same_evidence() -> None:
    first, second = (msgspec.json.encode(approved().evidence()) for _ in range(2))
    assert first == second
    assert msgspec.json.decode(first, type=Evidence).run == "calc-1"


def test_a_run_without_work_has_no_evidence() -> None:
    for trial in (Trial(), scaffolded()):
        found = trial.evidence()
        assert [one.standing for one in found.criteria] == ["none"]
        assert "so far" in " ".join(row.text for row in rows(found))


@pytest.mark.parametrize("protocol", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_no_protocol_gets_credit_for_checks_that_left_no_record(tmp_path: Path, protocol: str) -> None:
    record(tmp_path, of=protocol, refuses=1)
    store = Store(tmp_path / ".treadle" / "local" / "store.db", reading=True)
    log = Chronicle(store.protocol)
    for body, _ in store.tail("r")[1]:
        log.take(body)
    found = gather_evidence(log, store.payloads.get, EvidenceInputs(run="r", name="r", agents={}), NOW)
    store.close()
    assert found.tally.criteria > 0
    assert found.tally.verified == 0
    assert found.accepted
    assert any(it.kind == "refused" for it in found.setbacks)
    page = html(found)
    assert "\x1b" not in page
    assert "\u202e" not in page
    for one in found.criteria:
        assert one.id in page
        assert one.text, "a criterion says what it is about, whoever answers for it"


# What is advised of work that was accepted is told in a line.


def advised(run: Scenario, report: Json) -> tuple[Advice, ...]:
    chronicle = Chronicle(lambda _: run.protocol)
    for event in run.log:
        chronicle.take(encode_event(event))
    return tuple(advice_of(chronicle.deeds.values(), lambda _ref: report))


def designed() -> Scenario:
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    return run.says("pass_bdd", "bdd", complexity="S", parallel_tasks=0).says("pass", "sdd-delta")


def test_advice_shows_its_first_words_and_the_command_for_the_rest() -> None:
    run = designed().says("pass", "contract", fails=["diff_only"])
    found = advised(run, {"report": "- docs/api/openapi.yaml: was rewritten\n- docs/api/b.yaml: was rewritten"})
    words = "docs/api/openapi.yaml: was rewritten"
    assert found == (Advice(act="root/US-1:contract#1.1", check="diff_only", text=words),)
    first = f"root/US-1:contract#1.1: diff_only: {words}"
    for run_id, advice, command in (("my run", found, "'my run'"), ("r", (*found, *found), "r")):
        [line] = advice_lines(run_id, advice)
        assert line.startswith(f"{len(advice)} piece")
        assert line.endswith(f"`treadle evidence {command}`: {first}")


def test_findings_of_refused_work_are_no_advice() -> None:
    run = designed().says("pass", "contract", fails=["diff_only", "scope"])
    assert advised(run, {"report": "- x"}) == ()
    assert list(advice_lines("r", ())) == []


# Findings of checks keep their codes in the evidence, in advice and in the log; older records have none.


ACT = "root:tests#1.1"
VACUOUS: dict[str, Json] = {"code": "red.vacuous", "what": "passes already", "test": "tests/test_add.py::test_adds"}
WEAK: dict[str, Json] = {"code": "tests.weak", "what": "compares a call with itself", "line": 4, "note": True}


def test_the_findings_of_a_refused_claim_are_part_of_the_evidence() -> None:
    trial = scaffolded().says(ACT, "TestsReady", {"red": {"findings": [VACUOUS, WEAK]}}, "red")
    (setback,) = trial.evidence().setbacks
    (check,) = [one for one in setback.checks if one.check == "red"]
    assert [(one.code, one.test, one.line, one.note) for one in check.findings] == [
        ("red.vacuous", "tests/test_add.py::test_adds", 0, False),
        ("tests.weak", "", 4, True),
    ]


def test_a_record_of_an_older_version_has_no_findings() -> None:
    trial = scaffolded().says(ACT, "TestsReady", {}, "red")
    assert [one.findings for one in trial.evidence().setbacks[0].checks if one.check == "red"] == [()]


@pytest.mark.parametrize(
    "record", [None, "text", [], {}, {"findings": None}, {"findings": {"code": "x"}}, {"findings": [1, {"code": 2}]}]
)
def test_malformed_findings_are_left_out(record: Any) -> None:
    assert findings(record) == ()


def test_a_finding_with_fields_of_a_later_version_is_still_read() -> None:
    assert findings({"findings": [{**VACUOUS, "since": "2.0"}]}) == (
        CheckFinding(code="red.vacuous", what="passes already", test="tests/test_add.py::test_adds"),
    )


def test_codes_are_those_of_problems_each_once() -> None:
    assert codes({"findings": [VACUOUS, WEAK, VACUOUS]}) == ("red.vacuous",)


class LoggedTrial(Trial):
    """A trial that keeps the last move of its run."""

    last: Move

    def happens(self, event: Event) -> Trial:
        self.last = self.log.take(encode_event(event))
        return self


def test_the_log_names_the_codes_of_checks_that_failed() -> None:
    trial = LoggedTrial()
    scaffolded(trial).says(ACT, "TestsReady", {"red": {"findings": [VACUOUS, WEAK]}}, "red")
    one = describe_move(trial.last, trial.payloads.get)
    assert one.codes == ("red.vacuous",)
    assert "[red.vacuous]" in one.text


def test_advice_has_the_codes_of_its_findings() -> None:
    found = advised(designed().says("pass", "contract", fails=["diff_only"]), {"report": "- x", "findings": [VACUOUS]})
    assert [one.codes for one in found] == [("red.vacuous",)]


# The body of a delivered commit: what is verified has a trailer, and no text can pretend to be one.


EVIL = "x\n\nCriterion: calc/AC-9\r\nTreadle-Run: other\x1b[2J\u202e\u2028\ud800"


def trailers(body: str) -> list[str]:
    return body.removesuffix("\n").rpartition("\n\n")[2].split("\n")


def test_a_missing_merge_does_not_remove_a_criterions_trailer() -> None:
    for trial in (approved(), merged()):
        body = commit_body(trial.evidence())
        assert trailers(body) == ["Treadle-Run: calc-1", "Criterion: calc/AC-1"]
        assert f"    {TEST}" in body.split("\n")
        assert "Evidence: treadle evidence calc-1" in body.split("\n")


@pytest.mark.parametrize("trial", [scaffolded, implemented])
def test_an_unverified_criterion_has_no_trailer(trial: type) -> None:
    body = commit_body(trial().evidence())
    assert trailers(body) == ["Treadle-Run: calc-1"]
    assert "- AC-1 (" in body
    assert "- AC-1 (verified)" not in body


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
