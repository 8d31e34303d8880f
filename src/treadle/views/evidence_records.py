"""The records behind the evidence: payloads, checks, statements of people, accepted activities, setbacks, test runs.

The terminal, the page, the memory bank and the files of stories all read a run from here: `Chronicle` folds its log,
`check_records` reads its checks.

Payloads come from other versions and from damaged stores: a missing or malformed record proves nothing, and raises
nothing.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from treadle.errors import PortError
from treadle.kernel.commands import RunAgent, RunEffect
from treadle.kernel.events import CheckResult
from treadle.prompts.outcomes import for_person
from treadle.protocol.guards import proof_of
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef, Exit, Protocol, Step, base_of, find_step, tag_of
from treadle.protocol.vocabulary import PROOFS, RECORDS, check_name
from treadle.store.records import Stray
from treadle.toolchains.results import is_unwitnessed
from treadle.views.activity import is_spent, who_of, worker_of
from treadle.views.chronicle import ActivityRecord, Chronicle, Statement
from treadle.views.evidence import (
    AcceptedActivity,
    Check,
    CheckFinding,
    Decision,
    Grade,
    Kind,
    Setback,
    SubjectRuns,
    TestProof,
)
from treadle.views.result import Advice, first_advice
from treadle.views.words import effect_words, first_words, moment, report_words, seconds

# Payloads and their values.

Get = Callable[[str], Json]
"""The payload behind a reference; a `PortError` if it is missing or damaged."""


def read_value(get: Get, ref: str) -> Json:
    """A payload; None if it cannot be read."""
    try:
        return get(ref) if ref else None
    except PortError:
        return None


def read_payload(get: Get, ref: str) -> dict[str, Json]:
    """The fields of a payload; none if it has none, or cannot be read."""
    return mapping(read_value(get, ref))


def text(value: Json) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def mapping(value: Json) -> dict[str, Json]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Json) -> list[dict[str, Json]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# Records of checks.


class SuiteCounts(
    msgspec.Struct, frozen=True, kw_only=True, rename={"passed": "pass", "failed": "fail", "skipped": "skip"}
):
    """The numbers of passed, failed and skipped tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class CheckRecord(NamedTuple):
    """A check's record, with its results for tests."""

    check: Check
    red: frozenset[str]
    """Tests that were seen failing for the right reason."""
    on_skeleton: frozenset[str]
    criteria: dict[str, dict[str, str]]
    """Criterion → test → how it ended."""
    apart: frozenset[str]
    """Tests that were seen with judge and subject apart: failing at red, passing at green."""
    together: dict[str, str]
    """Tests that cannot be judged apart, each with the reason."""
    unnoticed: dict[str, tuple[str, ...]] | None
    """Criterion → wrong implementations that all its tests pass with; None: none was tried."""
    counts: SuiteCounts | None = None
    """The tests of the whole suite, counted; None: the check did not run the suite."""
    failing: tuple[str, ...] = ()
    """The tests of the suite that failed."""
    files_changed: tuple[str, ...] | None = None
    """The files that the activity changed, by git; None: the check does not list them."""
    paths: tuple[str, ...] = ()
    """The paths that a check of protected paths reports."""
    meanwhile: tuple[str, ...] = ()
    """Changes made beside the work while the activity ran."""
    owners: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Criterion → the spec that it belongs to, and the hash of its text; empty in records of older versions."""
    inside: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Test that only repeats the verdicts of others → the innermost tests in it."""


def check_results(deed: ActivityRecord) -> list[tuple[CheckResult, CheckRef]]:
    """Return the results of an activity's checks, each with the check that was asked for."""
    claimed = deed.claim.results if isinstance(deed.command, RunEffect) and deed.claim else ()
    return [*((result, CheckRef(name=result.check)) for result in claimed), *gate_results(deed)]


def gate_results(deed: ActivityRecord) -> list[tuple[CheckResult, CheckRef]]:
    """Return the results of the gate's checks alone, without those that an effect ran before it published its work."""
    results = deed.checked.results if deed.checked else ()
    # Results come in the order of the checks that were asked for; two checks of one name differ in their argument.
    if [one.check for one in results] == [one.name for one in deed.checks]:
        return list(zip(results, deed.checks, strict=True))
    advisory = {one.name for one in deed.checks if one.advisory}
    return [(result, CheckRef(name=result.check, advisory=result.check in advisory)) for result in results]


def check_records(get: Get, deed: ActivityRecord) -> tuple[CheckRecord, ...]:
    """Return the records of an activity's checks, in their order."""
    return tuple(_check_record(get, result, ref) for result, ref in check_results(deed))


def gate_records(get: Get, deed: ActivityRecord, names: Collection[str] = ()) -> Iterator[CheckRecord]:
    """Yield the records of the gate's checks alone, or of those with these names.

    Views that are written after every event read no more payloads than they need.
    """
    for result, ref in gate_results(deed):
        if not names or result.check in names:
            yield _check_record(get, result, ref)


def has_refused(check: Check) -> bool:
    """Whether a check ran and did not pass: a skipped one has not passed either, but found nothing."""
    return not check.ok and not check.skipped


def refusals(get: Get, deed: ActivityRecord) -> list[tuple[str, str]]:
    """Return the checks that ran and refused an activity, each with its first finding."""
    return [
        (result.check, first_words(report_words(read_value(get, result.report_ref)).removeprefix("- ")))
        for result, ref in gate_results(deed)
        if not (result.ok or result.skipped or ref.advisory)
    ]


def last_test_result(
    get: Get, deeds: Sequence[ActivityRecord], among: Collection[str]
) -> Literal["pass", "fail"] | None:
    """Return the result of the last check that ran tests in one of these instances, or in any if none is named."""
    for deed in reversed(deeds):
        for one in reversed(check_records(get, deed)) if not among or deed.command.inst in among else ():
            name = one.check.check.partition(":")[0]
            if one.check.skipped:
                continue
            if name in PROOFS["green"][0]:
                return "pass" if one.check.ok else "fail"
            if name in PROOFS["red"][0]:
                # A passed red check means failing tests; a failed one, too, if the runner exited non-zero.
                return "fail" if one.check.ok or one.check.exit else "pass"
    return None


def _check_record(get: Get, result: CheckResult, ref: CheckRef) -> CheckRecord:
    record = read_payload(get, result.report_ref)
    exit_, duration = record.get("exit"), record.get("duration")
    if not isinstance(duration, int | float) or isinstance(duration, bool):
        duration = 0.0
    plots = [read_payload(get, text(one.get("plot"))) for one in mappings(record.get("scaling"))]
    criteria, owners = mapping(record.get("criteria")), mapping(record.get("of"))
    counts = record.get("tests")
    numbers = {name: value for name, value in mapping(counts).items() if type(value) is int}
    return CheckRecord(
        check=Check(
            check=check_name(ref.name, ref.arg),
            ok=result.ok,
            advisory=ref.advisory,
            skipped=record.get("skipped") is True,
            commit=text(record.get("commit")),
            tree=text(record.get("tree")),
            command=texts(record.get("command")),
            exit=exit_ if isinstance(exit_, int) else None,
            duration=float(duration),
            output=text(record.get("output")),
            report=text(record.get("report")) if record else "there is no record of it",
            findings=findings(record),
            isolation=text(record.get("isolation")),
            limits=texts(record.get("limits")),
            subjects=_subjects(record),
            plots=tuple(svg for plot in plots if (svg := text(plot.get("svg")))),
            ref=result.report_ref,
            gone=not record,
        ),
        red=frozenset(texts(record.get("red"))),
        on_skeleton=frozenset(texts(record.get("red_on_skeleton"))),
        apart=frozenset(texts(record.get("apart"))),
        together={id_: text(why) for id_, why in mapping(record.get("together")).items()},
        criteria={
            name: {id_: text(verdict) for id_, verdict in tests.items()}
            for name, tests in criteria.items()
            if isinstance(tests, dict)
        },
        unnoticed={name: texts(wrong) for name, wrong in mapping(record.get("unnoticed")).items()}
        if "wrong_implementations" in record
        else None,
        counts=msgspec.convert(numbers, SuiteCounts) if isinstance(counts, dict) else None,
        failing=texts(record.get("failing_tests")),
        files_changed=texts(record["files_changed"]) if "files_changed" in record else None,
        paths=texts(record.get("paths")),
        meanwhile=texts(record.get("meanwhile")),
        owners={
            name: (text(one.get("spec")), text(one.get("text")))
            for name, one in owners.items()
            if isinstance(one, dict)
        },
        inside={id_: texts(held) for id_, held in mapping(record.get("inside")).items()},
    )


def _subjects(record: dict[str, Json]) -> SubjectRuns | None:
    """Return the runs with judge and subject apart; None if the check had none."""
    try:
        return msgspec.convert(record["subjects"], SubjectRuns) if "subjects" in record else None
    except msgspec.ValidationError:
        return None


def findings(record: Json) -> tuple[CheckFinding, ...]:
    """Return the findings in a check's record; empty if the record is older than codes."""
    found: list[CheckFinding] = []
    for one in mappings(mapping(record).get("findings")):
        try:
            found.append(msgspec.convert(one, CheckFinding))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def codes(record: Json) -> tuple[str, ...]:
    """The codes of the problems in a check's record, each once; those of notes are left out."""
    return tuple(dict.fromkeys(one.code for one in findings(record) if one.code and not one.note))


def advice_of(deeds: Iterable[ActivityRecord], get: Get) -> Iterator[Advice]:
    """Yield the advice of checks on accepted activities, in their order."""
    for deed in filter(is_accepted, deeds):
        for result, ref in check_results(deed):
            if ref.advisory and not result.ok and not result.skipped:
                record = read_value(get, result.report_ref)
                yield Advice(
                    act=deed.command.id,
                    check=check_name(ref.name, ref.arg),
                    text=first_advice(report_words(record)),
                    codes=codes(record),
                )


def decision_of(log: Chronicle, one: Statement, get: Get) -> Decision:
    """Return a statement as the evidence shows it, with the title of the question that it answers."""
    inst = log.state.insts.get(one.inst)
    step = find_step(log.protocol, inst.graph, one.step) if inst else None
    return Decision(
        time=moment(one.ts),
        who=one.who or "a person",
        instance=one.inst,
        step=base_of(one.step),
        question=(step.title or one.step) if step and one.ask else "",
        choice=one.choice,
        note=text(read_value(get, one.note_ref)),
    )


# Accepted activities and setbacks.

_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_WORDS: Final = 2_000
Agents = Mapping[str, str]
"""Role → its agent, as the run was started; used only where the log names no actor."""


class AcceptedStep(NamedTuple):
    """An accepted activity, with the records of its checks."""

    step: AcceptedActivity
    records: tuple[CheckRecord, ...]
    ref: str
    """Where the accepted claim lies."""


class LostStep(NamedTuple):
    """A setback, with the records of its checks."""

    setback: Setback
    records: tuple[CheckRecord, ...] = ()
    signals: tuple[str, ...] = ()
    """The payloads of the signals that it served."""


def is_accepted(deed: ActivityRecord) -> bool:
    """Whether the exit of an activity was accepted."""
    return bool(deed.ended and deed.left) and not (deed.stopped or deed.left.startswith("!") or is_spent(deed))


def workers(log: Chronicle, agents: Agents) -> dict[str, str]:
    """Role → the persons and agents that have worked in it, the first one first."""
    found: dict[str, list[str]] = {}
    for deed in log.deeds.values():
        if isinstance(deed.command, RunAgent) and (by := worker_of(deed, agents)):
            found.setdefault(deed.command.role, []).append(by)
    return {role: ", ".join(dict.fromkeys(names)) for role, names in found.items()}


def accepted_steps(log: Chronicle, get: Get, agents: Agents) -> list[AcceptedStep]:
    """Return the accepted activities, in the order of their last events."""
    found: list[AcceptedStep] = []
    for deed in filter(is_accepted, log.deeds.values()):
        job, records, ref = deed.command, check_records(get, deed), claim_ref(deed)
        exit_, step = _declared(log.protocol, deed)
        fields = read_payload(get, ref)

        # The commit behind an exit; for an effect, the commit that it checked before publishing.
        git_fields = [name for name, field in exit_.fields.items() if field.by == "git"] if exit_ else []
        commits = [one.check.commit for one in records if isinstance(job, RunEffect) and one.check.commit]
        commits += [value for name in git_fields if _COMMIT.match(value := text(fields.get(name)))]
        commits += [one.check.commit for one in records if one.check.check in RECORDS]

        activity = AcceptedActivity(
            act=job.id,
            instance=job.inst,
            step=job.step,
            title=step.title if step else "",
            who=who_of(job),
            by=worker_of(deed, agents),
            exit=deed.left,
            proves=proof_of(exit_, fields) if exit_ else "",
            effect=job.effect if isinstance(job, RunEffect) else "",
            attempt=job.attempt,
            seq=log.settled.get(job.id, 0),
            time=moment(deed.ended),
            elapsed=seconds(deed.began, deed.ended),
            commit=commits[0] if commits else "",
            words=_agent_words(exit_, fields),
            checks=tuple(one.check for one in records),
        )
        found.append(AcceptedStep(activity, records, ref))
    return sorted(found, key=lambda one: one.step.seq)


def lost_steps(log: Chronicle, get: Get, strays: Sequence[Stray], agents: Agents) -> list[LostStep]:
    """Return the setbacks, in the order of their time."""
    found = [one for deed in log.deeds.values() for one in _setbacks_of(log.protocol, get, agents, deed)]
    for stray in strays:
        place, _, _ = stray.act.partition("#")
        inst, _, step = place.rpartition(":")
        setback = Setback(
            kind="not obeyed",
            act=stray.act,
            instance=inst,
            step=step,
            who="",
            attempt=0,
            time=moment(stray.at),
            what=stray.what,
            why=(),
            report=stray.detail,
            checks=(),
        )
        found.append(LostStep(setback))
    return sorted(found, key=lambda one: one.setback.time)


def _setbacks_of(protocol: Protocol | None, get: Get, agents: Agents, deed: ActivityRecord) -> Iterator[LostStep]:
    """Yield the failures of an activity, then how it was stopped, refused or sent back."""
    job, by, all_records = deed.command, worker_of(deed, agents), check_records(get, deed)

    def setback(
        kind: Kind,
        what: str,
        at: int,
        report: str = "",
        records: tuple[CheckRecord, ...] = (),
        why: Sequence[str] = (),
    ) -> LostStep:
        made = Setback(
            kind=kind,
            act=job.id,
            instance=job.inst,
            step=job.step,
            who=who_of(job),
            by=by,
            attempt=job.attempt,
            time=moment(at),
            what=what,
            why=tuple(why),
            report=report,
            checks=tuple(one.check for one in records),
        )
        return LostStep(made, records, job.inputs.get("signals", ()))

    for failure in deed.failures:
        details = read_value(get, failure.detail_ref)
        words = (details.get("error") or for_person(details)) if isinstance(details, dict) else details
        report = words if isinstance(words, str) else json.dumps(details, ensure_ascii=False) if details else ""
        yield setback("failed", failure.why, failure.ts, report)

    if deed.stopped and deed.stopped != "answered":
        yield setback("stopped", deed.stopped, deed.ended)
    elif deed.claim and (deed.left.startswith("!") or is_spent(deed)):
        key = deed.claim.envelope.key
        failed = [one.check.check for one in all_records if has_refused(one.check) and not one.check.advisory]
        if failed or deed.left.startswith("!"):
            ref = deed.checked.payload_ref if deed.checked else deed.claim.envelope.payload_ref
            report = text(read_payload(get, ref).get("report"))
            yield setback("refused", key, deed.ended, report, all_records, failed)
        else:  # every check passed, but the exit itself spent an attempt
            exit_ = protocol.exits.get(deed.claim.envelope.type) if protocol else None
            words = _agent_words(exit_, read_payload(get, claim_ref(deed)))
            yield setback("sent back", key, deed.ended, words, all_records)
    elif is_accepted(deed):
        exit_, _ = _declared(protocol, deed)
        fields = read_payload(get, claim_ref(deed))
        if exit_ and (exit_.severity != "INFO" or exit_.proves != proof_of(exit_, fields)):
            is_effect = isinstance(job, RunEffect)
            report = effect_words(fields)[:_WORDS] if is_effect else _agent_words(exit_, fields)
            yield setback("sent back", deed.left, deed.ended, report, all_records)


def _declared(protocol: Protocol | None, deed: ActivityRecord) -> tuple[Exit | None, Step | None]:
    """Return the exit and the step of an activity, as the protocol declares them."""
    exit_ = protocol.exits.get(tag_of(deed.left)) if protocol else None
    return exit_, find_step(protocol, deed.command.graph, deed.command.step)


def claim_ref(deed: ActivityRecord) -> str:
    """Return the reference of a claim with the fields that its checks computed; of a refused claim, of the claim alone:
    its checks have left a report in their place.
    """
    own = deed.claim.envelope.payload_ref if deed.claim else ""
    checked = deed.checked.payload_ref if deed.checked else ""
    return own or checked if deed.left.startswith("!") else checked or own


def _agent_words(exit_: Exit | None, fields: dict[str, Json]) -> str:
    """Format the agent's own fields of an exit, a line each."""
    names = [name for name, field in exit_.fields.items() if field.by == "agent"] if exit_ else []
    lines = [f"{name}: {_line(fields[name])}" for name in names if fields.get(name) not in (None, "", [])]
    return "\n".join(lines)[:_WORDS]


def _line(value: Json) -> str:
    match value:
        case str():
            return value
        case list():
            return "; ".join(map(_line, value))
        case dict():
            return " · ".join(_line(one) for one in value.values() if one not in (None, "", []))
    return json.dumps(value)


# Sightings of failing and passing tests, in the runs behind accepted work.

_GREEN: Final = frozenset[str]().union(*PROOFS["green"])


class Sighting(NamedTuple):
    """A test in a run that an accepted activity rests on."""

    seq: int
    instance: str
    act: str
    how: str
    commit: str
    own_word: bool
    """Whether the test runner is the only witness."""
    apart: bool = False
    """Whether it was seen with judge and subject apart."""
    together: str = ""
    """Why it cannot be."""


class Sightings:
    """The runs in which tests were seen failing and passing."""

    def __init__(self, steps: Iterable[AcceptedStep]) -> None:
        self.red: dict[str, list[Sighting]] = {}
        self.green: dict[str, list[Sighting]] = {}
        self.any: dict[str, list[Sighting]] = {}
        for step, records, _ in steps:
            for record in records:
                check = record.check
                if check.gone or not check.ok:
                    continue
                seen = Sighting(step.seq, step.instance, step.act, "", check.commit, is_unwitnessed(check.limits))
                for id_ in record.red | record.on_skeleton:
                    how = "failed" if id_ in record.red else "skeleton"
                    reason = record.together.get(id_, "")
                    one = seen._replace(how=how, apart=id_ in record.apart, together=reason)
                    self.red.setdefault(id_, []).append(one)
                # A test may stand for several criteria; it ran once.
                endings = {id_: ending for tests in record.criteria.values() for id_, ending in tests.items()}
                for id_, ending in endings.items():
                    self.any.setdefault(id_, []).append(seen._replace(how=ending))
                    if ending == "passed" and check.check in _GREEN:
                        self.green.setdefault(id_, []).append(seen._replace(how=ending, apart=id_ in record.apart))

    def proof(self, id_: str) -> tuple[TestProof, Sighting | None, Sighting | None]:
        """Return the proof of a test: its last red, and its last green if that came later."""
        green = last_sighting(self.green.get(id_, ()))
        reds = self.red.get(id_, [])
        red = last_sighting([one for one in reds if not green or one.seq < green.seq]) or last_sighting(reds)
        if red and green and green.seq < red.seq:
            green = None
        now = last_sighting(self.any.get(id_, ()))
        proof = TestProof(
            id=id_,
            red=red.act if red else "",
            on_skeleton=bool(red and red.how == "skeleton"),
            green=green.act if green else "",
            now=now.how if now else "",
            grade=_grade(red, green),
            together=red.together if red else "",
        )
        return proof, red, green

    def green_since(self, ids: Iterable[str], instances: Collection[str]) -> int:
        """Return the event since which the tests pass on the commit of their last pass; 0 if they never passed.

        Runs by these instances count, because their work was approved and merged then; other instances ran the same
        tests later, for their own work. Runs by others count only if these instances have none. A later run on the same
        commit adds nothing: an approval after the first run is about this commit.
        """
        every = [self.green[id_] for id_ in ids if id_ in self.green]
        own = [[one for one in many if one.instance in instances] for many in every]
        seen = [many for many in own if many] or every
        latest = last_sighting([one for many in seen for one in many])
        if latest is None:
            return 0
        return max(
            min(one.seq for one in many if one.commit == latest.commit)
            for many in seen
            if any(one.commit == latest.commit for one in many)
        )


def _grade(red: Sighting | None, green: Sighting | None) -> Grade | Literal[""]:
    """Return how far a test can be believed that was seen failing, then passing."""
    if red is None or green is None:
        return ""
    if green.own_word:
        return "word"
    return "proved" if red.apart and green.apart else "observed"


def last_sighting(seen: Sequence[Sighting]) -> Sighting | None:
    """The latest of them."""
    return max(seen, key=lambda one: one.seq, default=None)
