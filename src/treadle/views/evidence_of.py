"""The evidence of a run, put together: a function of its log and the payloads."""

from collections.abc import Iterator, Sequence

import msgspec

from treadle.kernel.lifecycle import ROOT
from treadle.protocol.model import Protocol, base_of
from treadle.store.records import Stray
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Decision, Evidence, Part, Proved, Standing, Tally, Waiver
from treadle.views.evidence_criteria import Prover
from treadle.views.evidence_log import Record, Said
from treadle.views.evidence_records import Find, anything, payload, text
from treadle.views.evidence_steps import Lost, Taken, lost, taken, workers
from treadle.views.evidence_tree import Tree
from treadle.views.moment import moment, seconds
from treadle.views.result import Result
from treadle.views.status import Pinned, condition
from treadle.views.used import used


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run besides its log."""

    run: str
    name: str
    agents: dict[str, str]
    """Role → its agent, as the run was started; only what the log does not say is taken from it."""
    strays: tuple[Stray, ...] = ()
    result: Result | None = None


def evidence(chronicle: Chronicle, record: Record, find: Find, beside: Beside, now: int) -> Evidence:
    """What is proved of a run, and what is not."""
    state, protocol = chronicle.state, chronicle.protocol
    steps = taken(chronicle, record, find, now, beside.agents)
    losses = lost(chronicle, find, beside.strays, beside.agents)
    tree = Tree(protocol, state, find) if protocol else None
    prover = _prover(tree, steps, losses, record, chronicle, find) if tree else None
    criteria = [prover.proved(state.insts[it], id_) for it, id_ in tree.answers()] if prover and tree else []
    end = state.now if state.outcome else now
    root = payload(find, state.insts[ROOT].input.ref) if ROOT in state.insts else {}
    tally = _tally(tree, criteria) if tree else _tally_of([])
    return Evidence(
        run=beside.run,
        name=beside.name,
        spec=next((text(root.get(key)) for key in ("id", "name", "project", "title") if text(root.get(key))), ""),
        about=next((text(root.get(key)) for key in ("title", "description", "about") if text(root.get(key))), ""),
        protocol=Pinned(name=protocol.name, version=protocol.version, digest=state.protocol) if protocol else None,
        status=condition(protocol, state),
        outcome=state.outcome,
        so_far=not state.outcome,
        began=moment(state.started),
        changed=moment(state.now),
        elapsed=seconds(state.started, end),
        events=state.seq,
        agents=workers(chronicle, beside.agents),
        usage=used(state.usage),
        result=beside.result,
        verdict=tally.ruling,
        tally=tally,
        criteria=tuple(criteria),
        instances=tuple(_parts(chronicle, tree, criteria, end)) if tree else (),
        accepted=tuple(one.step for one in steps),
        setbacks=tuple(one.setback for one in losses),
        decisions=tuple(_decision(protocol, chronicle, find, one) for one in record.said),
        waivers=(*_waivers(steps), *_meanwhile(steps, losses)),
    )


def unverified(chronicle: Chronicle, record: Record, find: Find, merging: str) -> list[Proved]:
    """The criteria that an instance and those below it answer for, and that may not be merged yet.

    They are neither verified nor let pass by a person.
    """
    if chronicle.protocol is None:
        return []
    tree = Tree(chronicle.protocol, chronicle.state, find)
    inst = chronicle.state.insts[merging]
    part = {merging, *(one.id for one in tree.below(inst))}
    wanted = part | {one.id for one in tree.chain(inst)}
    steps = [one for one in taken(chronicle, record, find, chronicle.state.now) if one.step.instance in wanted]
    prover = _prover(tree, steps, (), record, chronicle, find)
    proved = [prover.proved(chronicle.state.insts[it], id_, merging) for it, id_ in tree.answers() if it in part]
    return [one for one in proved if one.standing != "verified" and one.waiver is None]


def _prover(
    tree: Tree, steps: Sequence[Taken], losses: Sequence[Lost], record: Record, chronicle: Chronicle, find: Find
) -> Prover:
    return Prover(tree, steps, losses, record, lambda said: _decision(chronicle.protocol, chronicle, find, said))


def _tally(tree: Tree, criteria: Sequence[Proved]) -> Tally:
    """A criterion that several parts serve counts once: it is verified if all of them say so."""
    shares: dict[tuple[str, str, str], list[Proved]] = {}
    for one in criteria:
        origin = tree.origin(tree.state.insts[one.instance], one.id)
        shares.setdefault((origin, one.id, one.text), []).append(one)
    return _tally_of(list(shares.values()))


def _tally_of(criteria: Sequence[Sequence[Proved]]) -> Tally:
    found = [_standing({one.standing for one in shares}) for shares in criteria]
    own_word = [any(one.own_word for one in shares) for shares in criteria]
    return Tally(
        criteria=len(found),
        verified=found.count("verified"),
        partial=found.count("partial"),
        none=found.count("none"),
        own_word=[*zip(found, own_word, strict=True)].count(("verified", True)),
        waived=len([shares for shares in criteria if _is_waived(shares)]),
    )


def _is_waived(shares: Sequence[Proved]) -> bool:
    """Whether a criterion is not verified, and a person has let every such share of it pass."""
    open_ = [one for one in shares if one.standing != "verified"]
    return bool(open_) and all(one.waiver for one in open_)


def _standing(shares: set[Standing]) -> Standing:
    return next(iter(shares)) if len(shares) == 1 else "partial"


def _parts(chronicle: Chronicle, tree: Tree, criteria: Sequence[Proved], now: int) -> Iterator[Part]:
    for inst in sorted(chronicle.state.insts.values(), key=lambda one: one.n):
        began, ended = chronicle.born.get(inst.id, 0), chronicle.gone.get(inst.id, 0)
        yield Part(
            id=inst.id,
            parent=inst.parent,
            graph=inst.graph,
            title=tree.graph(inst).title,
            outcome=inst.outcome,
            began=moment(began),
            ended=moment(ended),
            elapsed=seconds(began, ended or now),
            criteria=tuple(tree.kept(inst)),
            given_on=tree.given_on(inst),
            verified=len([one for one in criteria if one.instance == inst.id and one.standing == "verified"]),
        )


def _decision(protocol: Protocol | None, chronicle: Chronicle, find: Find, one: Said) -> Decision:
    inst = chronicle.state.insts.get(one.inst)
    graph = protocol.graphs.get(inst.graph) if protocol and inst else None
    step = graph.steps.get(one.step) if graph else None
    note = anything(find, one.note_ref)
    return Decision(
        time=moment(one.ts),
        who=one.who or "a person",
        instance=one.inst,
        step=base_of(one.step),
        question=(step.title or one.step) if step and one.ask else "",
        choice=one.choice,
        note=note if isinstance(note, str) else "",
    )


def _waivers(steps: Sequence[Taken]) -> Iterator[Waiver]:
    for step, records, _ in steps:
        for one in records:
            if one.check.advisory and not one.check.ok:
                yield Waiver(act=step.act, check=one.check.check, report=one.check.report)


def _meanwhile(steps: Sequence[Taken], losses: Sequence[Lost]) -> Iterator[Waiver]:
    """What was changed beside the work while somebody worked, whatever came of the work itself."""
    deeds = [(one.step.act, one.told) for one in steps] + [(one.setback.act, one.told) for one in losses]
    for act, records in deeds:
        for one in records:
            if one.meanwhile:
                yield Waiver(act=act, check=one.check.check, report="\n".join(f"- {it}" for it in one.meanwhile))
