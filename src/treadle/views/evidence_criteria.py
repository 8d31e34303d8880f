"""Criterion → tests → red → green → commit → verdict → merge, out of what was accepted.

A criterion is verified if nothing of that chain is missing that its protocol has a step for. A test counts only if it
was seen failing for the right reason and, later, passing; a judgement or a merge only if it came after that.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from treadle.kernel.state import Instance
from treadle.protocol.model import Graph, Protocol, base_of, tag_of
from treadle.views.evidence import Proved, Standing, TestProof, Verdict
from treadle.views.evidence_log import Record
from treadle.views.evidence_records import Told
from treadle.views.evidence_sightings import Sightings, last
from treadle.views.evidence_steps import Lost, Taken
from treadle.views.evidence_tree import Tree
from treadle.views.evidence_unnoticed import unnoticed
from treadle.views.moment import moment

_JOINS: Final = frozenset({"merge", "fold"})
_SHOWN: Final = 3
UNMERGED: Final = "has not been merged since"


class Prover:
    """Puts the chain of each criterion together."""

    def __init__(self, tree: Tree, steps: Sequence[Taken], losses: Sequence[Lost], record: Record) -> None:
        self._tree, self._steps, self._losses, self._record = tree, steps, losses, record
        self._seen = Sightings(steps)
        self._authors: dict[str, set[str]] = {}
        """Where an accepted claim lies → whose it is."""
        for step, _, ref in steps:
            self._authors.setdefault(ref, set()).add(step.instance)

    def proved(self, inst: Instance, criterion: str) -> Proved:
        """A criterion of an instance and everything that speaks for it."""
        found = [self._seen.proof(id_) for id_ in self._tests(inst, criterion)]
        tests = tuple(proof for proof, _, _ in found)
        red = last([one for _, one, _ in found if one])
        green = last([one for _, _, one in found if one])
        after = green.seq if green else self._tree.state.seq + 1
        verdicts = sorted(self._verdicts(inst, after), key=lambda one: one.time)
        merges = list(self._merges(inst, after))
        missing = [*_unproved(tests), *self._unjudged(inst, after), *self._unmerged(inst, merges)] if tests else []
        standing: Standing = "none" if not tests else "partial" if missing else "verified"
        return Proved(
            id=criterion,
            text=self._tree.text(inst, criterion),
            instance=inst.id,
            standing=standing,
            missing=tuple(missing) if tests else ("no test stands for it",),
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
            known = [record for records in steps for record in records if record.criteria.get(criterion)]
            if known:
                return known
        return []

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

    def _unjudged(self, inst: Instance, after: int) -> Iterator[str]:
        chain = self._tree.chain(inst)
        places = {one.id: _judging(self._tree.protocol, self._tree.graph(one)) for one in chain}
        if any(places.values()) and not any(
            step.proves == "approval" and step.step in places.get(step.instance, ()) and step.seq > after
            for step, *_ in self._steps
        ):
            yield "nobody has approved it since"
        for name in _verdict_steps(self._tree.protocol, self._tree.graph(inst)) if inst.parent else ():
            exit_ = inst.last.get(name, "")
            slot = inst.slots.get(f"{name}.{exit_}")
            if slot is None or slot.seq < after:
                yield "its parent has not judged it"
            elif _proves(self._tree.protocol, exit_) != "approval":
                yield f"its parent's verdict is {exit_}"

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

    def _unmerged(self, inst: Instance, merges: Sequence[str]) -> Iterator[str]:
        joins = [
            one.id
            for one in self._tree.chain(inst)
            if any(step.effect in _JOINS for step in self._tree.graph(one).steps.values())
        ]
        merged = {step.instance for step, *_ in self._steps if step.act in merges}
        if joins and joins[0] not in merged:
            yield f"the work of {joins[0]} {UNMERGED}"

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


def _unproved(tests: Sequence[TestProof]) -> Iterator[str]:
    told = (
        ("was never seen failing", [one.id for one in tests if not one.red]),
        ("was not seen passing after it had failed", [one.id for one in tests if one.red and not one.green]),
        ("does not pass any more", [one.id for one in tests if one.green and one.now != "passed"]),
    )
    for what, ids in told:
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        if ids:
            yield f"{', '.join(ids[:_SHOWN])}{more} {what}"


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
