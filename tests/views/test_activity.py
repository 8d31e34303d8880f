from pathlib import Path

import msgspec
import pytest

from tests.kernel.protocols import agent, graph, protocol, to
from tests.recorded import record
from tests.views.logs import NOW, START, played, read, written
from tests.views.trial import merged
from treadle.kernel.events import Checked, CheckResult, Envelope, Event, Exited, Failed, Signalled, TimerFired
from treadle.kernel.replay import encode_event
from treadle.protocol.digest import digest
from treadle.protocol.load import load
from treadle.store.records import Stray
from treadle.store.sqlite import Store
from treadle.testing.scenario import Scenario
from treadle.views.activity import story
from treadle.views.chronicle import Chronicle

WORK = "root:work#1.1"
CLAIM = Exited(id="c", ts=NOW, act=WORK, envelope=Envelope("Ready", fields={"n": 1}, payload_ref="p"), channel="emit")
GOOD = Checked(id="k", ts=NOW, act=WORK, results=tuple(CheckResult(name, True, "rep") for name in ("scope", "green")))
BAD = Checked(id="k", ts=NOW, act=WORK, results=(CheckResult("scope", True), CheckResult("green", False)))
VERDICTS: list[tuple[list[Event], str]] = [
    ([], "at work"),
    ([CLAIM], "claims Ready, being checked"),
    ([CLAIM, GOOD], "accepted: Ready"),
    ([CLAIM, BAD], "refused (green failed)"),
    ([Failed(id="f", ts=NOW, act=WORK, why="invalid")], "no valid answer"),
    ([TimerFired(id="t", ts=NOW, timer=WORK)], "stopped (timeout)"),
    ([Signalled(id="s", ts=NOW, inst="root", name="abort")], "stopped (ended)"),
]


@pytest.mark.parametrize(("events", "verdict"), VERDICTS, ids=[verdict for _, verdict in VERDICTS])
def test_each_course_of_events_has_its_verdict(events: list[Event], verdict: str) -> None:
    assert story(written(*events), WORK, [], NOW).verdict == verdict


SPENT: list[tuple[str, tuple[str, ...], str]] = [
    ("TestsPassed", ("green",), "claimed TestsPassed (green failed); its attempts are used up, so it leaves by Stuck"),
    ("RequestRetry", (), "claimed RequestRetry; its attempts are used up, so it leaves by Stuck"),
    ("", (), "has not answered; its attempts are used up, so it leaves by Stuck"),
    ("Stuck", (), "accepted: Stuck"),
]


@pytest.mark.parametrize(("claim", "fails", "verdict"), SPENT, ids=[claim or "none" for claim, _, _ in SPENT])
def test_an_exit_made_from_spent_attempts_is_not_shown_as_a_claim(
    claim: str, fails: tuple[str, ...], verdict: str
) -> None:
    run = Scenario(load("v3")).says("InitWork").says("TestsReady")
    for _ in range(4):
        run.says("RequestRetry")
    run = run.says(claim, fails=fails) if claim else run.fails("invalid")
    assert run.where() == "stuck@impl"
    assert story(played(run), "root:impl#1.5", [], NOW).verdict == verdict


def test_the_evidence_is_complete() -> None:
    strays = [Stray(at=NOW, act=WORK, what="answer", detail="stale"), Stray(at=NOW, act="other", what="x", detail="y")]
    told = story(written(CLAIM, GOOD), WORK, strays, NOW)
    assert told.claim is not None
    assert (told.claim.exit, told.claim.channel, told.claim.payload, told.claim.fields) == (
        "Ready", "emit", "p", {"n": 1},
    )  # fmt: skip
    assert [(it.check, it.ok, it.advisory, it.report) for it in told.checks] == [
        ("scope", True, False, "rep"),
        ("green", True, False, "rep"),
        ("minimal", None, True, ""),
    ]
    assert [it.detail for it in told.strays] == ["stale"]
    assert told.refs == ["text:spec", "p", "rep"]


def test_checks_of_one_name_keep_their_own_results() -> None:
    checked = protocol(
        graph({"work": agent({"Ready": to("@end:Done")}, gates="schema:gherkin schema:delta")})
    )  # fmt: skip
    chronicle = Chronicle(lambda _: checked)
    results = (CheckResult("schema", False, "first"), CheckResult("schema", True, "second"))
    started = msgspec.structs.replace(START, protocol=digest(checked))
    for event in (started, CLAIM, Checked(id="k", ts=NOW, act=WORK, results=results)):
        chronicle.take(encode_event(event))
    shown = story(chronicle, WORK, [], NOW).checks
    assert [(it.arg, it.ok, it.report) for it in shown] == [("gherkin", False, "first"), ("delta", True, "second")]


def test_an_effect_shows_its_own_checks() -> None:
    told = story(merged().log, "root:merge#1.1", [], NOW)
    assert [(it.check, it.ok) for it in told.checks] == [("build", True), ("contract", True), ("suite", True)]
    assert all(it.report in told.refs for it in told.checks)


def test_every_payload_that_a_recorded_story_refers_to_exists(tmp_path: Path) -> None:
    record(tmp_path, of="v3", refuses=1)
    chronicle = read(tmp_path)
    store = Store(tmp_path / ".treadle" / "local" / "store.db", reading=True)
    for act in chronicle.deeds:
        told = story(chronicle, act, [], NOW)
        assert told.refs
        assert all(store.payloads.get(ref) is not None for ref in told.refs)
    store.close()
