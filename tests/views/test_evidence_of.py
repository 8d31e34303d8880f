"""The evidence of a run as a whole: what it says of runs that go on, went wrong, or follow other protocols."""

from pathlib import Path

import msgspec
import pytest

from tests.recorded import record
from tests.views.trial import NOW, TEST, Trial, approved, green, implemented, merged, scaffolded, with_tests
from treadle.kernel.events import Failed
from treadle.protocol.items import Json
from treadle.store.records import Stray
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence
from treadle.views.evidence_html import html
from treadle.views.evidence_log import Record
from treadle.views.evidence_of import Beside, evidence
from treadle.views.evidence_text import rows


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


def test_what_came_to_nothing_stays_in_the_history() -> None:
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


def test_advice_against_accepted_work_is_a_waiver() -> None:
    found = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST), "minimal").evidence()
    assert [(it.act, it.check) for it in found.waivers] == [("root:impl#1.1", "minimal")]
    assert found.accepted[-1].exit == "TestsPassed"


def test_what_was_changed_beside_the_work_is_told_whatever_came_of_the_work() -> None:
    beside: dict[str, dict[str, Json]] = {"checkpoint": {"meanwhile": ["in the user's repository, x was changed"]}}
    trial = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST) | beside, "green")
    found = trial.says("root:impl#1.2", "TestsPassed", green(TEST) | beside).evidence()
    assert [(it.act, it.check) for it in found.waivers] == [
        ("root:impl#1.2", "checkpoint"),
        ("root:impl#1.1", "checkpoint"),
    ]
    text = "\n".join(row.text for row in rows(found))
    assert "- in the user's repository, x was changed" in text.partition("Advice that refused nothing")[2]


def test_what_people_decided_is_told() -> None:
    trial = with_tests().says("root:impl#1.1", "Stuck", diagnosis="no way", recommendation="help")
    ask = next(iter(trial.chronicle.state.asks))
    (said,) = trial.answers(ask, "retry", "use a dictionary").evidence().decisions
    assert (said.who, said.instance, said.step, said.choice, said.note) == (
        "ada", "root", "stuck", "retry", "use a dictionary",
    )  # fmt: skip
    assert said.question == "A person is needed"


def test_it_is_a_function_of_log_and_payloads() -> None:
    first, second = (msgspec.json.encode(approved().evidence()) for _ in range(2))
    assert first == second
    assert msgspec.json.decode(first, type=Evidence).run == "calc-1"


def test_before_anything_was_done() -> None:
    for trial in (Trial(), scaffolded()):
        found = trial.evidence()
        assert [one.standing for one in found.criteria] == ["none"]
        assert "so far" in " ".join(row.text for row in rows(found))


@pytest.mark.parametrize("protocol", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_no_protocol_gets_credit_for_checks_that_left_no_record(tmp_path: Path, protocol: str) -> None:
    record(tmp_path, of=protocol, refuses=1)
    store = Store(tmp_path / ".treadle" / "local" / "store.db", reading=True)
    chronicle, log = Chronicle(store.protocol), Record()
    for body, _ in store.tail("r")[1]:
        log.take(chronicle.take(body))
    found = evidence(chronicle, log, store.payloads.get, Beside(run="r", name="r", agents={}), NOW)
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
