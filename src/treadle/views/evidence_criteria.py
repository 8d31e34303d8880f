"""Criterion → tests → red → green → commit → judgement → merge, from accepted work only.

A criterion is verified if its chain has every link that the protocol has a step for. A test counts only if it was seen
failing for the right reason and, later, passing; a judgement or a merge counts only after that.

The same question decides before a merge whether the merge may happen. Then the chain ends at the instance being merged:
its own merge, and the judgements of its parent and of those above, come later.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from treadle.evidence.criteria import criteria_in, never_failed, spec_id, text_hash, texts_in, without_own_test
from treadle.kernel.state import Instance, Slot, State
from treadle.protocol.model import Graph, Protocol, Spawn, base_of, tag_of
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import GRADES, CriterionProof, Decision, Grade, ReviewVerdict, Standing, TestProof
from treadle.views.evidence_records import (
    AcceptedStep,
    CheckRecord,
    Get,
    LostStep,
    Sightings,
    decision_of,
    has_refused,
    last_sighting,
    mappings,
    read_payload,
    text,
)
from treadle.views.words import moment


def working_graphs(protocol: Protocol) -> frozenset[str]:
    """Return the graphs that prove something by tests, and the graphs that start them; all graphs if there are none.

    The others only design, plan or judge.
    """
    found: set[str] = set()
    starts: dict[str, set[str]] = {}
    for name, graph in protocol.graphs.items():
        steps = graph.steps.values()
        exits = (protocol.exits.get(tag_of(exit_)) for step in steps for exit_ in step.exits)
        if any(exit_.proves in ("red", "green") for exit_ in exits if exit_):
            found.add(name)
        routes = (route for step in steps for rows in step.routes.values() for route in rows)
        spawned = {action.graph for route in routes for action in route.do if isinstance(action, Spawn)}
        starts[name] = spawned | {step.graph for step in steps if step.kind == "map"}
    while more := {name for name in starts if name not in found and starts[name] & found}:
        found |= more
    return frozenset(found or protocol.graphs)


class CriteriaTree:
    """The instances of a run, and which of them answers for which criterion."""

    def __init__(self, protocol: Protocol, state: State, get: Get) -> None:
        self.protocol, self.state = protocol, state
        self._inputs = {one.id: read_payload(get, one.input.ref) for one in state.insts.values()}
        self.ids = {
            one.id: tuple(criteria_in(protocol, self.graph(one).input[1], self._inputs[one.id]))
            for one in state.insts.values()
        }
        self._working = working_graphs(protocol)

    def graph(self, inst: Instance) -> Graph:
        return self.protocol.graphs[inst.graph]

    def chain(self, inst: Instance) -> list[Instance]:
        """An instance, its parent, and so on up to the root."""
        found = [inst]
        while found[-1].parent in self.state.insts:
            found.append(self.state.insts[found[-1].parent])
        return found

    def children(self, inst: Instance) -> list[Instance]:
        """Return the current children of an instance, without those that a new plan dismissed."""
        members = [id_ for group in inst.groups.values() for id_ in group.members.values()]
        found = [self.state.insts[id_] for id_ in members if id_ in self.state.insts]
        return sorted(found, key=lambda one: one.n)

    def below(self, inst: Instance) -> Iterator[Instance]:
        """Everything that works for an instance, however deep."""
        for child in self.children(inst):
            yield child
            yield from self.below(child)

    def part(self, inst: Instance) -> set[str]:
        """The ids of an instance and of everything below it."""
        return {inst.id, *(one.id for one in self.below(inst))}

    def given_on(self, inst: Instance) -> dict[str, str]:
        """Return criterion → the instances below that answer for it; children without criteria are searched in turn."""
        return {id_: ", ".join(one.id for one in many) for id_, many in self._given_to(inst).items()}

    def _given_to(self, inst: Instance) -> dict[str, list[Instance]]:
        own, found = set(self.ids[inst.id]), dict[str, list[Instance]]()
        for one in self._takers(inst):
            for id_ in self.ids[one.id]:
                if id_ in own:
                    found.setdefault(id_, []).append(one)
        return found

    def _takers(self, inst: Instance) -> Iterator[Instance]:
        for child in self.children(inst):
            if child.graph in self._working:
                yield from [child] if self.ids[child.id] else self._takers(child)

    @cached_property
    def answers(self) -> list[tuple[str, str]]:
        """Pairs of instance and criterion that it answers for, in input order.

        Instances that design, plan or judge answer only for criteria that no instance builds.
        """
        if any(graph.only for graph in self.protocol.graphs.values()):
            return []  # a step that is done alone builds on what others have left, and verifies no criterion
        roots = [one for one in sorted(self.state.insts.values(), key=lambda one: one.n) if not one.parent]
        found = [
            (answerer, id_)
            for root in roots
            for one in (root, *self.below(root))
            for id_ in self.ids[one.id]
            for answerer in self._answerers(one, id_)
        ]
        built = {id_ for one, id_ in found if one.graph in self._working}
        return list(
            dict.fromkeys((one.id, id_) for one, id_ in found if one.graph in self._working or id_ not in built)
        )

    def _answerers(self, inst: Instance, criterion: str) -> Iterator[Instance]:
        """Yield the lowest instances that answer for a criterion; several, if several parts serve it."""
        below = self._given_to(inst).get(criterion, [])
        for one in below:
            yield from self._answerers(one, criterion)
        if not below:
            yield inst

    def origin(self, inst: Instance, criterion: str) -> str:
        """Return the topmost instance with the criterion, or the parent that made parts for it: one origin, one
        criterion.
        """
        known = [one.id for one in self.chain(inst)[1:] if criterion in self.ids[one.id]]
        return known[-1] if known else inst.parent

    def text(self, inst: Instance, criterion: str) -> str:
        """Return a criterion's text, as the highest instance spells it: a part may know only its id, or word it
        differently.
        """
        found = ""
        for one in self.chain(inst):
            if found and criterion not in self.ids[one.id]:
                break
            found = self._own_text(one, criterion) or found
        others = (own for one in self.state.insts.values() if (own := self._own_text(one, criterion)))
        return found or next(others, "")

    def _own_text(self, inst: Instance, criterion: str) -> str:
        """Return a criterion's text as the input of an instance spells it; empty if it does not."""
        given = self._inputs[inst.id]
        for value in given.values():
            for item in mappings(value):
                if item.get("id") == criterion and text(item.get("text")):
                    return text(item["text"])
        spelt = texts_in(self.protocol, self.graph(inst).input[1], given)
        return next((words for id_, words in spelt if id_ == criterion), "")

    def spec(self, inst: Instance) -> str:
        """The id of the spec, story, module or cycle that an instance works on."""
        return spec_id(self._inputs[inst.id])

    def home(self, inst: Instance) -> str:
        """The id of the spec that an instance's criteria belong to.

        It is that of the instance, if it spells them out. A part of a plan, such as a cycle, names them by id, or is
        one itself: its number says nothing outside the run, so they belong to the input of the run.
        """
        declared = self.protocol.types.get(self.graph(inst).input[1])
        is_part = declared is not None and bool(declared.criterion_by)
        return self.spec(self.chain(inst)[-1] if is_part else inst) if self._inputs[inst.id] else ""

    def hashes(self, inst: Instance, criterion: str) -> set[str]:
        """The hashes of a criterion's text, as the instance, those above it and those below it spell it out."""
        return {
            text_hash(words)
            for one in (*self.chain(inst), *self.below(inst))
            if criterion in self.ids[one.id] and (words := self._own_text(one, criterion))
        }


_JOINS: Final = frozenset({"merge", "fold"})
_SHOWN: Final = 3
MINIMUM: Final = "verification.minimum"
"""The setting that says which grade a criterion needs."""
OWN_WORD: Final = "by the runner's own word"
"""Marks tests with no other witness than the test runner."""
GRADE_WORDS: Final[dict[Grade, str]] = {"word": OWN_WORD, "observed": "observed", "proved": "proved"}
UNMERGED: Final = "evidence.not_merged"
"""The code of the one gap that the merge of an instance itself closes."""


class Gap(NamedTuple):
    """Something that keeps a criterion from being verified."""

    code: str
    what: str


class Prover:
    """Puts the chain of each criterion together, from the accepted steps and setbacks of a run."""

    def __init__(
        self,
        tree: CriteriaTree,
        log: Chronicle,
        get: Get,
        steps: Sequence[AcceptedStep],
        losses: Sequence[LostStep] = (),
        minimum: Grade = "word",
    ) -> None:
        self._tree, self._log, self._get, self._steps, self._losses = tree, log, get, steps, losses
        self._seen, self._minimum = Sightings(steps), minimum
        self._authors: dict[str, set[str]] = {}
        """Reference of an accepted claim → the instances that made it."""
        for step, _, ref in steps:
            self._authors.setdefault(ref, set()).add(step.instance)

    def prove(self, inst: Instance, criterion: str, merging: str = "") -> CriterionProof:
        """A criterion of an instance and everything that speaks for it; before the merge of `merging`, if that is set.

        `merging` is the instance itself, or one above it.
        """
        chain = self._tree.chain(inst)
        if merging:
            chain = chain[: [one.id for one in chain].index(merging) + 1]
        records = self._records(inst, criterion)
        ids = _latest_tests(records, criterion)
        found = [self._seen.proof(id_) for id_ in ids]
        tests = tuple(proof for proof, _, _ in found)
        red = last_sighting([one for _, one, _ in found if one])
        green = last_sighting([one for _, _, one in found if one])

        # Judgements and merges count only after the tests passed; if they never did, none counts.
        after = self._seen.green_since(ids, self._tree.part(inst)) if green else self._tree.state.seq + 1
        merges = list(self._merges(inst, after))
        if tests:
            gaps = [
                *_test_gaps(tests, is_held=self._is_held(inst, criterion)),
                *self._grade_gap(tests),
                *self._shared_test_gap(inst, criterion),
                *self._judgement_gaps(chain, after, merging),
                *self._merge_gap(chain, merges, merging),
            ]
        else:
            gaps = [Gap("evidence.no_test", "no test stands for it")]
        standing: Standing = "none" if not tests else "partial" if gaps else "verified"
        words = self._tree.text(inst, criterion)
        return CriterionProof(
            id=criterion,
            spec=self._tree.home(inst),
            text=words,
            text_hash=text_hash(words),
            instance=inst.id,
            standing=standing,
            missing=tuple(gap.what for gap in gaps),
            codes=tuple(gap.code for gap in gaps),
            waiver=self._waiver(inst) if gaps else None,
            tests=tests,
            red=red.act if red else "",
            green=green.act if green else "",
            commit=green.commit if green else "",
            verdicts=tuple(sorted(self._judgements(inst, after), key=lambda one: one.time)),
            merges=tuple(merges),
            setbacks=tuple(dict.fromkeys(self._setbacks(inst, criterion))),
            unnoticed=_unnoticed(records, criterion, ids),
            own_word=standing == "verified" and any(one.own_word for _, _, one in found if one),
            grade=lowest_grade(tests),
        )

    def _records(self, inst: Instance, criterion: str) -> list[CheckRecord]:
        """Return the records about a criterion's tests, in order: of its instance, else of its parts, else from
        above.
        """

        def is_about(record: CheckRecord) -> bool:
            """Whether a record speaks of this criterion, and not of one with the same id in another spec."""
            owner = record.owners.get(criterion)
            if owner is None:  # a record of an older version, which keeps short ids alone
                return True
            spec, hash_ = owner
            return spec == self._tree.spec(inst) or (hash_ != "" and hash_ in self._tree.hashes(inst, criterion))

        for circle in ([inst], list(self._tree.below(inst)), self._tree.chain(inst)[1:]):
            names = {one.id for one in circle}
            found = [
                record
                for step, records, _ in self._steps
                if step.instance in names
                for record in records
                if record.criteria.get(criterion) and is_about(record)
            ]
            if found:
                return found
        return []

    def _is_held(self, inst: Instance, criterion: str) -> bool:
        """Whether the author of the tests has stated that the criterion only keeps old behaviour (`holds:`)."""
        parts = {inst.id, *(one.id for one in self._tree.below(inst))}
        said = [
            {one.criterion for one in record.check.findings if one.code == "red.old_tests"}
            for step, records, _ in self._steps
            if step.instance in parts
            for record in records
            if record.check.check in _READ_BY
        ]
        return bool(said) and criterion in said[-1]

    def _shared_test_gap(self, inst: Instance, criterion: str) -> Iterator[Gap]:
        """Whether the criterion has no test that is not needed for another criterion of the same instance.

        A test around others stands for those in it, but only if they were seen failing: one that always passes would
        lend it a proof that it does not have.
        """
        records = {id_: self._records(inst, id_) for one, id_ in self._tree.answers if one == inst.id}
        tests = {id_: _latest_tests(some, id_) for id_, some in records.items()}
        inside = {test: held for some in records.values() if some for test, held in some[-1].inside.items()}
        inside = {test: tuple(id_ for id_ in held if id_ in self._seen.red) for test, held in inside.items()}
        if test := without_own_test(tests, inside).get(criterion):
            yield Gap("evidence.shared_test", f"it has no test of its own: {test} stands for another criterion, too")

    def _grade_gap(self, tests: Sequence[TestProof]) -> Iterator[Gap]:
        """Whether the criterion has a lower grade than the settings ask for; reasons without a grade are other gaps."""
        grade = lowest_grade(tests)
        if grade and GRADES.index(grade) < GRADES.index(self._minimum):
            low = next(one for one in tests if one.grade == grade)
            why = f" ({low.together})" if low.together else ""
            yield Gap("evidence.grade", f"{low.id} is {GRADE_WORDS[grade]}{why}, and `{MINIMUM}` asks for more")

    def _waiver(self, inst: Instance) -> Decision | None:
        """Return a person's decision to let unverified work of the instance, or of one above it, pass.

        It covers only the work that the person saw: later work of an agent needs another decision.
        """
        for one in self._tree.chain(inst):
            steps, part = self._tree.graph(one).steps, self._tree.part(one)
            last_work = 0
            for step, *_ in self._steps:
                if step.instance in part and step.commit:
                    own = self._tree.graph(self._tree.state.insts[step.instance]).steps.get(step.step)
                    last_work = max(last_work, step.seq) if own and own.kind == "agent" else last_work
            for statement in reversed(self._log.statements):
                asked = steps.get(statement.step)
                waives = statement.seq == self._log.vouched or (asked and statement.choice in asked.waives)
                if statement.inst == one.id and waives and statement.seq > last_work:
                    return decision_of(self._log, statement, self._get)
        return None

    def _judgements(self, inst: Instance, after: int) -> Iterator[ReviewVerdict]:
        """Yield the judgements of agents on the instance, later approvals of those above, and the parent's verdict."""
        for one in self._tree.chain(inst):
            judging = self._judging_steps(one)
            for step, *_ in self._steps:
                approves = self._proves(step.exit) == "approval"
                if (
                    step.instance == one.id
                    and step.step in judging
                    and (one is inst or (approves and step.seq > after))
                ):
                    good = step.proves == "approval"
                    yield ReviewVerdict(
                        act=step.act, who=step.who, exit=step.exit, good=good, time=step.time, words=step.words
                    )
        for exit_, slot in self._parent_verdicts(inst):
            if slot is None:
                continue
            # The parent's claim lies where the slot points to; a person who decides in its place has made none.
            judged = [
                step
                for step, _, ref in self._steps
                if step.instance == inst.parent and ref == slot.ref and step.seq <= slot.seq
            ]
            by = judged[-1] if judged else None
            yield ReviewVerdict(
                act=by.act if by else "",
                who=by.who if by else "a person",
                exit=exit_,
                good=self._proves(exit_) == "approval",
                time=by.time if by else moment(self._log.times.get(slot.seq, 0)),
                words=by.words if by else "",
            )

    def _judgement_gaps(self, chain: Sequence[Instance], after: int, merging: str) -> Iterator[Gap]:
        inst = chain[0]
        places = {one.id: self._judging_steps(one) for one in chain}
        if any(places.values()) and not any(
            step.proves == "approval" and step.step in places.get(step.instance, ()) and step.seq > after
            for step, *_ in self._steps
        ):
            yield Gap("evidence.not_approved", "no approval since then")
        if inst.id == merging or not inst.parent:  # a parent judges what is merged
            return
        for exit_, slot in self._parent_verdicts(inst):
            if slot is None or slot.seq < after:
                yield Gap("evidence.not_judged", "its parent has not judged it")
            elif self._proves(exit_) != "approval":
                yield Gap("evidence.rejected", f"its parent's verdict is {exit_}")

    def _judging_steps(self, inst: Instance) -> frozenset[str]:
        """Steps in which agents judge the instance's own work: handlers of signals judge the work of others."""
        graph = self._tree.graph(inst)
        handlers = {handler.step for handler in graph.handlers.values()}
        return frozenset(
            name
            for name, step in graph.steps.items()
            if base_of(name) not in handlers and any(self._proves(exit_) == "approval" for exit_ in step.exits)
        )

    def _parent_verdicts(self, inst: Instance) -> Iterator[tuple[str, Slot | None]]:
        """Yield the parent's last answer at each step that waits for its approval; no slot: there is none yet."""
        for name, step in self._tree.graph(inst).steps.items():
            if step.asks == "parent" and any(self._proves(exit_) == "approval" for exit_ in step.routes):
                exit_ = inst.last.get(name, "")
                yield exit_, inst.slots.get(f"{name}.{exit_}") if exit_ else None

    def _proves(self, exit_: str) -> str:
        declared = self._tree.protocol.exits.get(tag_of(exit_))
        return declared.proves if declared else ""

    def _merges(self, inst: Instance, after: int) -> Iterator[str]:
        """Yield the merges of the instance and of those above it, each later than the one before."""
        for one in self._tree.chain(inst):
            done = []
            for step, *_ in self._steps:
                exit_ = self._tree.protocol.exits.get(tag_of(step.exit))
                is_good = exit_ is None or exit_.severity == "INFO"
                if step.instance == one.id and step.effect in _JOINS and step.seq > after and is_good:
                    done.append(step)
            if done:
                yield done[-1].act
                after = done[-1].seq

    def _merge_gap(self, chain: Sequence[Instance], merges: Sequence[str], merging: str) -> Iterator[Gap]:
        joins = [one.id for one in chain if any(step.effect in _JOINS for step in self._tree.graph(one).steps.values())]
        merged = {step.instance for step, *_ in self._steps if step.act in merges}
        if joins and joins[0] not in merged and joins[0] != merging:
            yield Gap(UNMERGED, f"the work of {joins[0]} has not been merged since")

    def _setbacks(self, inst: Instance, criterion: str) -> Iterator[str]:
        """Yield the setbacks of the instance or its work, except those plainly about other criteria."""
        for setback, records, signals in self._losses:
            # A handler of signals judges the work of the children that sent it; any other step its own instance.
            authors = {one for ref in signals for one in self._authors.get(ref, ())}
            children = {one for one in authors if self._tree.state.insts[one].parent == setback.instance}
            if inst.id not in (children or {setback.instance}):
                continue
            failing = [one for one in records if has_refused(one.check) and not one.check.advisory]
            endings = [one.criteria.get(criterion, {}).values() for one in failing]
            passed_all = [bool(ends) and all(ending == "passed" for ending in ends) for ends in endings]
            if not (failing and all(passed_all)):
                yield setback.act


def lowest_grade(tests: Sequence[TestProof]) -> Grade | Literal[""]:
    """Return the grade of a criterion by its tests; empty if one of them was not seen failing, then passing."""
    grades = [one.grade for one in tests]
    return next((one for one in GRADES if one in grades), "") if grades and all(grades) else ""


def _latest_tests(records: Sequence[CheckRecord], criterion: str) -> list[str]:
    """Return the tests of a criterion from its latest record."""
    return list(records[-1].criteria[criterion]) if records else []


def _unnoticed(records: Iterable[CheckRecord], criterion: str, tests: Sequence[str]) -> tuple[str, ...]:
    """Return the wrong implementations that pass every test of a criterion, from the last check that tried the current
    tests; later tests may notice more.
    """
    last: tuple[frozenset[str], tuple[str, ...]] = frozenset(), ()
    for one in records:
        tried = frozenset(one.criteria.get(criterion, {}))
        wrong = (one.unnoticed or {}).get(criterion, ())
        if wrong or (one.unnoticed is not None and tried and tried <= one.red):
            last = tried, wrong
    return last[1] if last[0].issuperset(tests) else ()


_READ_BY = frozenset({"red", "red_one"})
"""Checks that read the statements of the tests' author."""
_HELD = (
    "passed before the run: the author of the tests states that the criterion only keeps what was there (`holds:`), "
    "and a person decides whether that is so"
)


def _test_gaps(tests: Sequence[TestProof], *, is_held: bool) -> Iterator[Gap]:
    failed = {one.id for one in tests if one.red}
    never_green = [one.id for one in tests if one.red and not one.green]
    broken = [one.id for one in tests if one.green and one.now != "passed"]
    never = ("evidence.holds", _HELD) if is_held else ("evidence.never_red", "was never seen failing")
    for code, what, ids in (
        (*never, never_failed([one.id for one in tests], failed)),
        ("evidence.never_green", "was not seen passing after it had failed", never_green),
        ("evidence.not_passing", "does not pass any more", broken),
    ):
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        if ids:
            yield Gap(code, f"{', '.join(ids[:_SHOWN])}{more} {what}")
