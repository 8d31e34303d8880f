"""One status of a run feeds every surface: documents for programs, and lines for people."""

import msgspec
import pytest

from tests.store.runs import record
from tests.views.logs import NOW, written
from tests.views.trial import Trial, approved, merged, spec
from treadle.kernel.events import Envelope, Event, Exited, Signalled
from treadle.views.chronicle import Chronicle
from treadle.views.run_status import (
    RunStatus,
    list_run,
    rest_document,
    rest_lines,
    run_line,
    run_status,
    status_at,
    status_lines,
    summary_line,
)
from treadle.views.status import Status, StatusInputs

STUCK = Exited(id="c", ts=NOW + 4000, act="root:work#1.1", envelope=Envelope("Stuck"))
KNOWN = StatusInputs(run="r", name="my run", wordings={"root:human#1.1": "\n".join(map(str, range(60)))})


def now_of(chronicle: Chronicle, known: StatusInputs = KNOWN, **more: object) -> RunStatus:
    return run_status(chronicle, known, NOW + 10_000, **more)  # type: ignore[arg-type]


def ended(trial: Trial) -> RunStatus:
    known = StatusInputs(run="calc-1", name="calc-1")
    return run_status(trial.log, known, NOW + 60_000, evidence=trial.evidence())


def test_a_listed_run_has_the_fields_of_its_record_and_its_condition() -> None:
    run = msgspec.structs.replace(record(), seq=3, acts=1, outcome="")
    found = list_run(run, "v3", "process 1", "asks")
    assert (found.run, found.protocol, found.driver, found.events, found.status) == (
        run.id, "v3", "process 1", 3, "asks",
    )  # fmt: skip


def test_the_document_of_a_run_has_no_fields_besides_those_of_its_status() -> None:
    assert tuple(msgspec.to_builtins(now_of(written(STUCK)).document)) == Status.__struct_fields__


def test_an_ended_run_shows_the_tally_of_its_criteria_and_names_the_unverified() -> None:
    trial = approved(Trial(spec("calc", "AC-1", "AC-2"))).merges()
    now = ended(trial)
    assert (now.outcome, now.evidence and now.evidence.tally.verified) == ("Merged", 1)
    for lines in (list(status_lines(now)), list(rest_lines(now))):
        assert [line for line in lines if "1 of 2 criteria verified" in line]
        (gap,) = [line for line in lines if "AC-2" in line]
        assert gap.startswith("  calc/AC-2 no evidence: ")
        assert not [line for line in lines if "AC-1" in line]
    assert rest_document(now, 1).verdict == "unverified"


def test_an_ended_run_with_all_criteria_verified_names_none() -> None:
    lines = list(status_lines(ended(merged())))
    assert [line for line in lines if "criteria verified" in line] == ["1 of 1 criteria verified (observed)"]
    assert not [line for line in lines if "AC-1" in line]


def test_only_a_run_that_has_just_asked_prints_its_whole_question() -> None:
    now = now_of(written(STUCK))
    shown, whole = list(status_lines(now)), list(rest_lines(now))
    assert ("  59" in shown, "  59" in whole) == (False, True)
    assert [line for line in shown if "treadle show r 'root:human#1.1'" in line]
    for lines in (shown, whole):
        assert [line for line in lines if line.startswith("  treadle answer r retry")]


def test_the_document_of_a_resting_run_has_its_questions_its_pauses_and_its_due_time() -> None:
    (asked,) = rest_document(now_of(written(STUCK)), 3).questions
    assert (asked.id, [choice.name for choice in asked.choices]) == ("root:human#1.1", ["retry", "abort"])
    paused = now_of(written(Signalled(id="s", ts=NOW, inst="root", name="pause")), agents=("root:work#1.1",), due=NOW)
    document = rest_document(paused, 3)
    assert (document.paused, document.agents, bool(document.due)) == (("root",), ("root:work#1.1",), True)


def test_a_run_without_a_driver_shows_the_command_that_resumes_it() -> None:
    for now in (now_of(written()), now_of(written(STUCK))):
        assert "`treadle resume r`" in list(status_lines(now))[-1]
        assert "`treadle resume r`" in summary_line(now)
    driven = now_of(written(), msgspec.structs.replace(KNOWN, driver="process 1"))
    assert list(status_lines(driven))[-1] == "driven by process 1"


def test_the_line_of_a_run_has_its_tally_and_its_places() -> None:
    trial = approved(Trial(spec("calc", "AC-1", "AC-2")))
    now = ended(trial)
    line = run_line(now, trial.log, trial.evidence(), {"impl": "command:./agent"})
    assert (line.verified, line.criteria, line.verdict) == (0, 2, "unverified")
    assert [(at.instance, at.step) for at in line.places] == [("root", "merge")]


@pytest.mark.parametrize("events", [(), (STUCK,), (Signalled(id="s", ts=NOW, inst="root", name="pause"),)])
def test_the_status_of_a_state_agrees_with_that_of_its_log(events: tuple[Event, ...]) -> None:
    chronicle = written(*events)
    assert chronicle.protocol
    whole, alone = now_of(chronicle), status_at(chronicle.protocol, chronicle.state, NOW + 10_000)
    for name in ("status", "lines", "starts", "paused", "timers", "usage", "limits", "elapsed", "events"):
        assert getattr(alone, name) == getattr(whole, name), name
    assert [(it.id, it.phase, it.elapsed) for it in alone.activities] == [
        (it.id, it.phase, it.elapsed) for it in whole.activities
    ]
    assert [(it.id, it.choices) for it in alone.questions] == [(it.id, it.choices) for it in whole.questions]
