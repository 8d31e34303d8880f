"""Builds the evidence of a run from its log and payloads, and decides by it whether an instance may be merged."""

from collections.abc import Sequence

import msgspec

from treadle.evidence.subject import ProofSoFar
from treadle.kernel.instances import ROOT
from treadle.store.records import Stray
from treadle.views.activity import usage_of
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import GRADES, CriterionProof, Evidence, Grade, InstanceProof, Standing, Tally, Waiver
from treadle.views.evidence_criteria import CriteriaTree, Prover
from treadle.views.evidence_records import (
    AcceptedStep,
    Get,
    LostStep,
    Sightings,
    accepted_steps,
    decision_of,
    has_refused,
    last_sighting,
    lost_steps,
    mapping,
    mappings,
    read_payload,
    read_value,
    text,
    workers,
)
from treadle.views.result import Result
from treadle.views.status import Baseline, OldTest, condition, protocol_pin
from treadle.views.words import moment, seconds


class EvidenceInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a run from outside its log."""

    run: str
    name: str
    agents: dict[str, str]
    """Role → its agent, as the run was started; used only where the log names no actor."""
    strays: tuple[Stray, ...] = ()
    result: Result | None = None
    baseline: Baseline | None = None
    minimum: Grade = "word"
    """The grade that a criterion needs to be verified, as the run was started."""


def gather_evidence(log: Chronicle, get: Get, inputs: EvidenceInputs, now: int) -> Evidence:
    """Build the evidence of a run, including its gaps."""
    state, protocol = log.state, log.protocol
    steps = accepted_steps(log, get, inputs.agents)
    losses = lost_steps(log, get, inputs.strays, inputs.agents)
    end = state.now if state.outcome else now
    criteria: list[CriterionProof] = []
    instances: list[InstanceProof] = []
    tally = Tally(criteria=0, verified=0, partial=0, none=0)
    if protocol:
        tree = CriteriaTree(protocol, state, get)
        prover = Prover(tree, log, get, steps, losses, inputs.minimum)
        criteria = [prover.prove(state.insts[inst], id_) for inst, id_ in tree.answers]
        instances = _instances(log, tree, criteria, end)
        tally = _tally(tree, criteria)
    root = read_payload(get, state.insts[ROOT].input.ref) if ROOT in state.insts else {}
    return Evidence(
        run=inputs.run,
        name=inputs.name,
        spec=next((text(root.get(key)) for key in ("id", "name", "project", "title") if text(root.get(key))), ""),
        about=next((text(root.get(key)) for key in ("title", "description", "about") if text(root.get(key))), ""),
        protocol=protocol_pin(protocol, state),
        status=condition(protocol, state),
        outcome=state.outcome,
        so_far=not state.outcome,
        began=moment(state.started),
        changed=moment(state.now),
        elapsed=seconds(state.started, end),
        events=state.seq,
        agents=workers(log, inputs.agents),
        usage=usage_of(state.usage),
        result=inputs.result,
        minimum=inputs.minimum,
        verdict=tally.ruling,
        tally=tally,
        criteria=tuple(criteria),
        instances=tuple(instances),
        accepted=tuple(one.step for one in steps),
        setbacks=tuple(one.setback for one in losses),
        decisions=tuple(decision_of(log, one, get) for one in log.statements),
        waivers=tuple(_remarks(steps, losses)),
        baseline=_baseline(inputs.baseline, steps, losses, get) if inputs.baseline else None,
    )


def unverified_criteria(log: Chronicle, get: Get, merging: str, minimum: Grade = "word") -> list[CriterionProof]:
    """The criteria that an instance and those below it answer for, and that may not be merged yet.

    They are neither verified nor let pass by a person.
    """
    return [one for one in _proofs_before_merge(log, get, merging, minimum) if one.is_open]


def proved_tests(log: Chronicle, get: Get, inst: str) -> frozenset[str]:
    """Return the tests that prove criteria of an instance, and of those below it, with judge and subject apart."""
    proofs = _proofs_before_merge(log, get, inst, "word")
    return frozenset(test.id for one in proofs for test in one.tests if test.grade == "proved")


def _proofs_before_merge(log: Chronicle, get: Get, merging: str, minimum: Grade) -> list[CriterionProof]:
    if log.protocol is None:
        return []
    tree = CriteriaTree(log.protocol, log.state, get)
    part = tree.part(log.state.insts[merging])
    prover = Prover(tree, log, get, _steps_around(tree, log, get, merging), minimum=minimum)
    return [prover.prove(log.state.insts[inst], id_, merging) for inst, id_ in tree.answers if inst in part]


def proof_so_far(log: Chronicle, get: Get, inst: str) -> ProofSoFar:
    """Return the proof that `unverified_criteria` would see now: the tests seen failing, and the accepted plans."""
    if log.protocol is None or inst not in log.state.insts:
        return ProofSoFar()
    steps = _steps_around(CriteriaTree(log.protocol, log.state, get), log, get, inst)
    plans = [one.step.commit for one in steps if one.step.instance == inst and one.step.proves == "plan"]
    reds = {id_: last_sighting(seen) for id_, seen in Sightings(steps).red.items()}
    return ProofSoFar(
        frozenset(reds),
        tuple(dict.fromkeys(commit for commit in plans if commit)),
        {id_: red.commit for id_, red in reds.items() if red and red.apart},
    )


def _steps_around(tree: CriteriaTree, log: Chronicle, get: Get, inst: str) -> list[AcceptedStep]:
    """The accepted work of an instance, of those below it and of those above it."""
    one = log.state.insts[inst]
    wanted = tree.part(one) | {above.id for above in tree.chain(one)}
    return [step for step in accepted_steps(log, get, agents={}) if step.step.instance in wanted]


def _tally(tree: CriteriaTree, criteria: Sequence[CriterionProof]) -> Tally:
    """Count the criteria. A criterion served by several parts counts once, and is verified if every part verifies
    it.
    """
    shares_of: dict[tuple[str, str, str], list[CriterionProof]] = {}
    for one in criteria:
        origin = tree.origin(tree.state.insts[one.instance], one.id)
        shares_of.setdefault((origin, one.id, one.text), []).append(one)
    standings: list[Standing] = []
    grades: list[Grade] = []
    waived = 0
    for shares in shares_of.values():
        each = {one.standing for one in shares}
        standings.append(each.pop() if len(each) == 1 else "partial")
        if standings[-1] == "verified":
            grades.append(next(grade for grade in GRADES if any(one.grade == grade for one in shares)))
        waived += any(one.waiver for one in shares) and not any(one.is_open for one in shares)
    return Tally(
        criteria=len(standings),
        verified=standings.count("verified"),
        partial=standings.count("partial"),
        none=standings.count("none"),
        proved=grades.count("proved"),
        observed=grades.count("observed"),
        own_word=grades.count("word"),
        waived=waived,
    )


def _instances(log: Chronicle, tree: CriteriaTree, criteria: Sequence[CriterionProof], now: int) -> list[InstanceProof]:
    found: list[InstanceProof] = []
    for inst in sorted(log.state.insts.values(), key=lambda one: one.n):
        began, ended = log.born.get(inst.id, 0), log.gone.get(inst.id, 0)
        own = [one for one in criteria if one.instance == inst.id]  # an audit answers for none
        found.append(
            InstanceProof(
                id=inst.id,
                parent=inst.parent,
                graph=inst.graph,
                title=tree.graph(inst).title,
                outcome=inst.outcome,
                began=moment(began),
                ended=moment(ended),
                elapsed=seconds(began, ended or now),
                criteria=tuple(one.id for one in own),
                given_on=tree.given_on(inst),
                verified=len([one for one in own if one.standing == "verified"]),
            )
        )
    return found


def _remarks(steps: Sequence[AcceptedStep], losses: Sequence[LostStep]) -> list[Waiver]:
    """Return advice against accepted work, then changes made beside the work, accepted or not."""
    found = [
        Waiver(act=step.act, check=one.check.check, report=one.check.report)
        for step, records, _ in steps
        for one in records
        if one.check.advisory and has_refused(one.check)
    ]
    work = [(one.step.act, one.records) for one in steps] + [(one.setback.act, one.records) for one in losses]
    for act, records in work:
        for one in records:
            if one.meanwhile:
                report = "\n".join(f"- {change}" for change in one.meanwhile)
                found.append(Waiver(act=act, check=one.check.check, report=report))
    return found


def _baseline(baseline: Baseline, steps: Sequence[AcceptedStep], losses: Sequence[LostStep], get: Get) -> Baseline:
    """Return the tests before the run; those that turned out unstable during the run are added to it."""
    codes = {one.test: one.code for one in baseline.tests}
    records = [*(one.records for one in steps), *(one.records for one in losses)]
    for ref in dict.fromkeys(record.check.ref for one in records for record in one if record.check.ref):
        for one in mappings(mapping(read_value(get, ref)).get("findings")):
            # A check does not charge such tests to the work; the code is the reason.
            if str(one.get("code", "")).startswith("baseline.") and one.get("test"):
                codes[str(one["test"])] = str(one["code"])
    tests = tuple(OldTest(test, code) for test, code in sorted(codes.items()))
    return msgspec.structs.replace(baseline, tests=tests)
