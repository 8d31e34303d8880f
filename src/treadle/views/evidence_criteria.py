"""Criterion → tests → red → green → commit → verdict → merge, out of what was accepted.

A criterion is verified if nothing of that chain is missing that its protocol has a step for. A test counts only if it
was seen failing for the right reason and, later, passing; a judgement or a merge only if it came after that.

The same question is asked before a merge, to decide whether it may happen. Then the chain ends at the instance that is
merged: its own merge, and what its parent and those above think of it, come later.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from treadle.evidence.criteria import text_hash
from treadle.kernel.state import Instance
from treadle.protocol.model import Graph, Protocol, base_of, tag_of
from treadle.views.evidence import Accepted, Decision, Proved, Standing, TestProof, Verdict
from treadle.views.evidence_log import Record, Said
from treadle.views.evidence_records import Told
from treadle.views.evidence_sightings import Sightings, last
from treadle.views.evidence_steps import Lost, Taken
from treadle.views.evidence_tree import Tree
from treadle.views.evidence_unnoticed import unnoticed
from treadle.views.moment import moment

_JOINS: Final = frozenset({"merge", "fold"})
_SHOWN: Final = 3
UNMERGED: Final = "evidence.not_merged"
"""The code of the one gap that the merge of an instance itself closes."""


class Gap(NamedTuple):
    """Something that keeps a criterion from being verified."""

    code: str
    what: str


class Prover:
    """Puts the chain of each criterion together."""

    def __init__(
        self,
        tree: Tree,
        steps: Sequence[Taken],
        losses: Sequence[Lost],
        record: Record,
        decision: Callable[[Said], Decision],
    ) -> None:
        self._tree, self._steps, self._losses, self._record, self._decision = tree, steps, losses, record, decision
        self._seen = Sightings(steps)
        self._authors: dict[str, set[str]] = {}
        """Where an accepted claim lies → whose it is."""
        for step, _, ref in steps:
            self._authors.setdefault(ref, set()).add(step.instance)

    def proved(self, inst: Instance, criterion: str, merging: str = "") -> Proved:
        """A criterion of an instance and everything that speaks for it; before the merge of `merging`, if that is set.

        `merging` is the instance itself, or one above it.
        """
        chain = self._tree.chain(inst)
        if merging:
            chain = chain[: [one.id for one in chain].index(merging) + 1]
        found = [self._seen.proof(id_) for id_ in self._tests(inst, criterion)]
        tests = tuple(proof for proof, _, _ in found)
        red = last([one for _, one, _ in found if one])
        green = last([one for _, _, one in found if one])
        part = {inst.id, *(one.id for one in self._tree.below(inst))}
        after = self._seen.green_since([one.id for one in tests], part) if green else self._tree.state.seq + 1
        verdicts = sorted(self._verdicts(inst, after), key=lambda one: one.time)
        merges = list(self._merges(inst, after))
        gaps = [
            *_unproved(tests),
            *self._unjudged(chain, after, merging),
            *self._unmerged(chain, merges, merging),
        ]
        missing = gaps if tests else [Gap("evidence.no_test", "no test stands for it")]
        standing: Standing = "none" if not tests else "partial" if missing else "verified"
        text = self._tree.text(inst, criterion)
        return Proved(
            id=criterion,
            spec=self._tree.spec(inst),
            text=text,
            text_hash=text_hash(text),
            instance=inst.id,
            standing=standing,
            missing=tuple(gap.what for gap in missing),
            codes=tuple(gap.code for gap in missing),
            waiver=self._waiver(inst) if missing else None,
            tests=tests,
            red=red.act if red else "",
            green=green.act if green else "",
            commit=green.commit if green else "",
            verdicts=tuple(verdicts),
            merges=tuple(merges),
            setbacks=tuple(dict.fromkeys(self._setbacks(inst, criterion))),
            unnoticed=unnoticed(self._records(inst, criterion), criterion, [one.id for one in tests]),
            own_word=standing == "verified" and any(one.own_word for _, _, one in found if one),
        )

    def _tests(self, inst: Instance, criterion: str) -> list[str]:
        """The tests that stand for it, as the last run says that knows: its own, one of its parts', one above."""
        known = [record.criteria[criterion] for record in self._records(inst, criterion)]
        return list(known[-1]) if known else []

    def _records(self, inst: Instance, criterion: str) -> list[Told]:
        """What accepted work has left about the tests of a criterion, in order, from the nearest that knows any."""
        circles = ([inst], list(self._tree.below(inst)), self._tree.chain(inst)[1:])
        for circle in circles:
            names = {one.id for one in circle}
            steps = [records for step, records, _ in self._steps if step.instance in names]
            known = [
                record
                for records in steps
                for record in records
                if record.criteria.get(criterion) and self._is_about(record, inst, criterion)
            ]
            if known:
                return known
        return []

    def _is_about(self, record: Told, inst: Instance, criterion: str) -> bool:
        """Whether a record speaks of this criterion, and not of one with the same id in another spec."""
        owner = record.owners.get(criterion)
        if owner is None:  # a record of an older version, which keeps short ids alone
            return True
        spec, text = owner
        return spec == self._tree.spec(inst) or (text != "" and text in self._tree.hashes(inst, criterion))

    def _waiver(self, inst: Instance) -> Decision | None:
        """A person's word by which unverified work of the instance, or of one above it, was let pass.

        It holds for the work that the person has seen: what an agent has handed in since needs another word.
        """
        for one in self._tree.chain(inst):
            part = {one.id, *(below.id for below in self._tree.below(one))}
            worked = [step.seq for step, *_ in self._steps if step.instance in part and self._is_work(step)]
            for said in reversed(self._record.said):
                if said.inst == one.id and self._waives(one, said) and said.seq > max(worked, default=0):
                    return self._decision(said)
        return None

    def _is_work(self, step: Accepted) -> bool:
        graph = self._tree.graph(self._tree.state.insts[step.instance])
        return bool(step.commit) and step.step in graph.steps and graph.steps[step.step].kind == "agent"

    def _waives(self, inst: Instance, said: Said) -> bool:
        step = self._tree.graph(inst).steps.get(said.step)
        return said.seq == self._record.vouched or (step is not None and said.choice in step.waives)

    def _verdicts(self, inst: Instance, after: int) -> Iterator[Verdict]:
        for one in self._tree.chain(inst):
            steps = _judging(self._tree.protocol, self._tree.graph(one))
            for step, *_ in self._steps:
                own = one is inst or (_proves(self._tree.protocol, step.exit) == "approval" and step.seq > after)
                if step.instance == one.id and step.step in steps and own:
                    good = step.proves == "approval"
                    yield Verdict(
                        act=step.act, who=step.who, exit=step.exit, good=good, time=step.time, words=step.words
                    )
        yield from self._from_above(inst)

    def _from_above(self, inst: Instance) -> Iterator[Verdict]:
        """What its parent, or a person in its place, has said about it."""
        for name in _verdict_steps(self._tree.protocol, self._tree.graph(inst)):
            exit_ = inst.last.get(name, "")
            slot = inst.slots.get(f"{name}.{exit_}")
            if not exit_ or slot is None:
                continue
            judged = [
                step
                for step, _, ref in self._steps
                if step.instance == inst.parent and ref == slot.ref and step.seq <= slot.seq
            ]
            step = judged[-1] if judged else None
            yield Verdict(
                act=step.act if step else "",
                who=step.who if step else "a person",
                exit=exit_,
                good=_proves(self._tree.protocol, exit_) == "approval",
                time=step.time if step else moment(self._record.times.get(slot.seq, 0)),
                words=step.words if step else "",
            )

    def _unjudged(self, chain: Sequence[Instance], after: int, merging: str) -> Iterator[Gap]:
        inst = chain[0]
        places = {one.id: _judging(self._tree.protocol, self._tree.graph(one)) for one in chain}
        if any(places.values()) and not any(
            step.proves == "approval" and step.step in places.get(step.instance, ()) and step.seq > after
            for step, *_ in self._steps
        ):
            yield Gap("evidence.not_approved", "nobody has approved it since")
        if inst.id == merging or not inst.parent:  # a parent judges what is merged
            return
        for name in _verdict_steps(self._tree.protocol, self._tree.graph(inst)):
            exit_ = inst.last.get(name, "")
            slot = inst.slots.get(f"{name}.{exit_}")
            if slot is None or slot.seq < after:
                yield Gap("evidence.not_judged", "its parent has not judged it")
            elif _proves(self._tree.protocol, exit_) != "approval":
                yield Gap("evidence.rejected", f"its parent's verdict is {exit_}")

    def _merges(self, inst: Instance, after: int) -> Iterator[str]:
        for one in self._tree.chain(inst):
            done = [
                step
                for step, *_ in self._steps
                if step.instance == one.id and step.effect in _JOINS and step.seq > after and self._is_good(step.exit)
            ]
            if done:
                yield done[-1].act
                after = done[-1].seq

    def _unmerged(self, chain: Sequence[Instance], merges: Sequence[str], merging: str) -> Iterator[Gap]:
        joins = [one.id for one in chain if any(step.effect in _JOINS for step in self._tree.graph(one).steps.values())]
        merged = {step.instance for step, *_ in self._steps if step.act in merges}
        if joins and joins[0] not in merged and joins[0] != merging:
            yield Gap(UNMERGED, f"the work of {joins[0]} has not been merged since")

    def _is_good(self, exit_: str) -> bool:
        declared = self._tree.protocol.exits.get(tag_of(exit_))
        return declared is None or declared.severity == "INFO"

    def _setbacks(self, inst: Instance, criterion: str) -> Iterator[str]:
        """Of what came to nothing in its instance, or about it, all that is not plainly about something else."""
        for setback, records, signals in self._losses:
            failing = [one for one in records if not one.check.ok and not one.check.advisory and not one.check.skipped]
            if inst.id in self._concerned(setback.instance, signals) and not (
                failing and all(_is_fine(one, criterion) for one in failing)
            ):
                yield setback.act

    def _concerned(self, instance: str, signals: Sequence[str]) -> set[str]:
        """Whose work something was about: who serves a child's signal has to do with what that child hands in."""
        authors = {one for ref in signals for one in self._authors.get(ref, ())}
        return {one for one in authors if self._tree.state.insts[one].parent == instance} or {instance}


def _is_fine(one: Told, criterion: str) -> bool:
    """Whether a check that failed did so though the criterion's own tests passed."""
    tests = one.criteria.get(criterion, {})
    return bool(tests) and all(verdict == "passed" for verdict in tests.values())


def _unproved(tests: Sequence[TestProof]) -> Iterator[Gap]:
    kinds = (
        ("evidence.never_red", "was never seen failing", [one.id for one in tests if not one.red]),
        (
            "evidence.never_green",
            "was not seen passing after it had failed",
            [one.id for one in tests if one.red and not one.green],
        ),
        (
            "evidence.not_passing",
            "does not pass any more",
            [one.id for one in tests if one.green and one.now != "passed"],
        ),
    )
    for code, what, ids in kinds:
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        if ids:
            yield Gap(code, f"{', '.join(ids[:_SHOWN])}{more} {what}")


def _judging(protocol: Protocol, graph: Graph) -> frozenset[str]:
    """Steps in which agents judge the instance's own work: handlers of signals judge the work of others."""
    handlers = {handler.step for handler in graph.handlers.values()}
    return frozenset(
        name
        for name, step in graph.steps.items()
        if base_of(name) not in handlers and any(_proves(protocol, exit_) == "approval" for exit_ in step.exits)
    )


def _verdict_steps(protocol: Protocol, graph: Graph) -> list[str]:
    """Steps in which an instance waits for its parent to approve."""
    return [
        name
        for name, step in graph.steps.items()
        if step.asks == "parent" and any(_proves(protocol, exit_) == "approval" for exit_ in step.routes)
    ]


def _proves(protocol: Protocol, exit_: str) -> str:
    declared = protocol.exits.get(tag_of(exit_))
    return declared.proves if declared else ""
