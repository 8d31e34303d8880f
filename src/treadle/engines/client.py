"""What people may do to a run while somebody drives it, or nobody: each is an event in the run's inbox.

Everything is held against the run as it stands before it is posted, so that a mistake is told, not recorded.
"""

import getpass
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from treadle.config.agents import parse_agent
from treadle.config.project import Project
from treadle.engines.errands import sent
from treadle.engines.pinned import MANUAL, Level, pinned
from treadle.engines.starting import can_start
from treadle.engines.surroundings import toolchain_texts
from treadle.engines.waiting import Waiting, waiting_for
from treadle.errors import TreadleError
from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Replied, Signalled
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.people import STATUS_QUERY
from treadle.kernel.state import State
from treadle.ports import Work
from treadle.prompts.question import Question
from treadle.protocol.findings import suggest
from treadle.protocol.model import base_of
from treadle.protocol.signals import from_outside
from treadle.runtime.clock import SystemClock
from treadle.store.history import History
from treadle.store.sqlite import Store
from treadle.views.asking import place_of


class Client:
    """The runs of a project, as people and programs speak to them; `actor` is somebody who speaks from elsewhere."""

    def __init__(self, project: Project, store: Store, actor: str = "") -> None:
        self._project, self._store, self._actor = project, store, actor
        self._clock = SystemClock()

    def late(self, state: State) -> frozenset[str]:
        """The activities of a run whose time is up."""
        now = self._clock.now()
        return frozenset(id_ for id_ in state.acts if 0 < state.timers.get(id_, 0) <= now)

    def waiting(self, run: str, history: History | None = None) -> Waiting:
        """What a run waits for."""
        history = history or self._store.load(run)
        settings = pinned(self._store.run(run))
        texts = toolchain_texts(settings.config.toolchain, self._project.root)
        folder = self._project.runs / run
        return waiting_for(history.protocol, history.state, settings, folder, self._store.payloads, texts)

    def answer(self, run: str, choice: str, *, ask: str = "", note: str = "") -> Question:
        """Answer a question that is open; `ask` says which. Without a choice, an error lists those there are."""
        self._unended(run)
        questions = self.waiting(run).questions
        if questions and not choice:
            raise TreadleError(f"say which answer: {_open(run, questions)}", code="answer.missing")
        question = _meant(run, questions, ask, choice)
        chosen = _chosen(run, question, choice)
        _noted(run, question, chosen, note)
        note_ref = self._store.payloads.put(note) if note else ""
        reply = Replied(
            id=_fresh(question.id),
            ts=self._clock.now(),
            ask=question.id,
            choice=chosen,
            note_ref=note_ref,
            actor=self._actor or login_name(),
        )
        self._store.post(run, reply)
        return question

    def go(self, run: str, step: str = "", *words: str, at: str = "") -> str:
        """Let a step go that waits for it, or (a command of the graph) send an instance there; the step's name."""
        history = self._unended(run)
        within = [self._instance(run, at)] if at else _live(history)
        gos = [go for go in self.waiting(run, history).gos if go.inst in within]
        commands = [(inst, name) for inst in within for name in _commands(history, inst)]
        found = [(go.inst, go.step) for go in gos if step in ("", go.step)] or [it for it in commands if it[1] == step]
        if not found:
            raise TreadleError(
                _no_go(run, step, [*(go.step for go in gos), *(name for _, name in commands)]), code="go.unknown"
            )
        if len(found) > 1:
            places = ", ".join(f"{name} at {inst}" for inst, name in found)
            hint = f"say which: `treadle go {run} STEP --at INSTANCE`"
            raise TreadleError(f"several steps of {run} could go: {places}; {hint}", code="go.ambiguous")
        inst, name = found[0]
        here = history.state.insts[inst]
        graph = history.protocol.graphs[here.graph]
        if name not in graph.commands:
            if words:
                raise TreadleError(f"{name} is a step and takes no words: `treadle go {run} {name}`", code="go.words")
            self._signal(run, inst, "go", step=name)
            return name
        goal = sent(run, graph, here, name, words)
        self._signal(run, inst, "go", step=name if isinstance(graph.commands[name], str) else goal.step, item=goal.item)
        return f"{name} ({goal})"

    def pause(self, run: str, *, at: str = ROOT) -> None:
        """Nothing new starts below an instance; what runs may end."""
        self._signal(run, self._instance(run, at), "pause")

    def resume(self, run: str) -> tuple[str, ...]:
        """Take every pause back, also that of an outage, which is to be tried again; where there was one."""
        waiting = self.waiting(run)
        timed = waiting.outage and all(question.id != OUTAGE for question in waiting.questions)
        found = tuple(dict.fromkeys([*waiting.paused, *([ROOT] if timed else [])]))
        for inst in found:
            self._signal(run, inst, "resume")
        return found

    def note(self, run: str, text: str, *, at: str = ROOT) -> None:
        """Say something to whoever works in an instance next; it stays until work that has heard it is accepted."""
        self._unended(run)
        if not text.strip():
            raise TreadleError("a note without a word says nothing", code="usage.missing")
        self._signal(run, self._instance(run, at), "note", data_ref=self._store.payloads.put(text))

    def level(self, run: str, level: Level) -> None:
        """From now on people are the agents (0), every agent waits for a go (1), or all goes by itself (2).

        Whoever is at work stays so: a program until it ends, a person until the work is handed in.
        """
        self._unended(run)
        settings = pinned(self._store.run(run))
        if level and all(parse_agent(agent).kind == MANUAL for agent in settings.agents.values()):
            raise TreadleError(
                f"{run} was started with people as its agents, and knows no others; only level 0 is left",
                code="level.refused",
            )
        if level:
            can_start(self._project, settings)
        self._signal(run, ROOT, "level", item=str(level))

    def abort(self, run: str, *, at: str = ROOT) -> None:
        """End a run, or a part of it."""
        self._signal(run, self._instance(run, at), "abort")

    def send(self, run: str, signal: str, text: str = "", *, at: str = ROOT) -> None:
        """Send an instance one of the signals that somebody outside may send it, with a text where it takes one."""
        history = self._unended(run)
        inst = self._instance(run, at)
        known = {STATUS_QUERY: "may"} | from_outside(history.protocol, history.state.insts[inst].graph)
        if signal not in known:
            raise TreadleError(
                f"{at} of {run} takes no signal '{signal}' from outside; {_near(signal, known)}", code="signal.unknown"
            )
        if text.strip() and known[signal] == "none":
            raise TreadleError(
                f"{signal} comes without a text: the protocol itself says what is told with it", code="signal.text"
            )
        if not text.strip() and known[signal] == "must":
            raise TreadleError(
                f"{signal} says nothing without a text: `treadle send {run} {signal} TEXT`", code="signal.text"
            )
        self._signal(run, inst, signal, data_ref=self._store.payloads.put(text) if text.strip() else "")

    def work(self, run: str = "", act: str = "", folder: Path | None = None) -> Work:
        """What a person has in hand as an agent: the one there is, the one that is meant, or that of a folder."""
        runs = [run] if run else [it.id for it in self._store.runs() if not it.outcome and it.seq]
        works = [work for each in runs for work in self.waiting(each).works]
        meant = [work for work in works if not act or act in ways_to_name(work.act)]
        here = [work for work in meant if folder and folder.is_relative_to(work.lane)]
        if len(here or meant) == 1:
            return (here or meant)[0]
        if not works:
            raise TreadleError(
                f"nothing {f'of {run} ' if run else ''}is in a person's hands; see `treadle status`", code="work.none"
            )
        listed = "; ".join(f"`treadle done {work.run} --step {shortest_name(work, works)}`" for work in works)
        said = f"no {act} is" if act and not meant else "several things are"
        raise TreadleError(f"{said} in a person's hands: {listed}", code="work.ambiguous")

    def _unended(self, run: str) -> History:
        if outcome := self._store.run(run).outcome:
            raise TreadleError(f"{run} has ended with {outcome}; nothing can change it any more", code="run.ended")
        return self._store.load(run)

    def _instance(self, run: str, at: str) -> str:
        live = _live(self._unended(run)) or [ROOT]
        if at not in live:
            raise TreadleError(f"{run} has no instance '{at}' at work; {_near(at, live)}", code="run.no_instance")
        return at

    def _signal(self, run: str, inst: str, name: str, step: str = "", data_ref: str = "", item: str = "") -> None:
        id_ = _fresh(f"{inst}!{name}")
        now = self._clock.now()
        event = Signalled(
            id=id_, ts=now, inst=inst, name=name, step=step, data_ref=data_ref, item=item, actor=self._actor
        )
        self._store.post(run, event)


def ways_to_name(act: str) -> tuple[str, ...]:
    """What a person may call an activity: by all of it, its place, its step, or its part of a team."""
    place = act.partition("#")[0]
    inst, _, step = place.rpartition(":")
    part = inst.rpartition("/")[2]
    return act, place, step, f"{part}:{step}", part


def shortest_name(work: Work, among: Sequence[Work]) -> str:
    """The shortest name that only this one has."""
    others = [name for other in among if other.act != work.act for name in ways_to_name(other.act)]
    return min((name for name in ways_to_name(work.act) if name not in others), key=len, default=work.act)


def _meant(run: str, questions: tuple[Question, ...], ask: str, choice: str) -> Question:
    if not questions:
        raise TreadleError(f"{run} asks nothing at the moment; see `treadle status {run}`", code="answer.no_question")
    found = [question for question in questions if not ask or ask in _ways_to_say(question.id)]
    if not found:
        raise TreadleError(f"{run} has no open question '{ask}'; {_open(run, questions)}", code="answer.no_question")
    if len(found) > 1:
        found = [question for question in found if choice in _names(question)] or found
    if len(found) > 1:
        raise TreadleError(
            f"{run} has several open questions, say which: {_open(run, tuple(found))}", code="answer.ambiguous"
        )
    return found[0]


def _ways_to_say(ask: str) -> tuple[str, ...]:
    """`root:stuck@tests#2.1` is also `root:stuck@tests`, `root:stuck`, `stuck@tests` and `stuck`, if no other is."""
    place = place_of(ask)
    inst, _, step = place.rpartition(":")
    return ask, place, f"{inst}:{base_of(step)}", step, base_of(step)


def _chosen(run: str, question: Question, choice: str) -> str:
    names = _names(question)
    if choice in names:
        return choice
    raise TreadleError(
        f"'{choice}' is no answer to {question.id} of {run}; {_near(choice, names)}", code="answer.unknown"
    )


def _noted(run: str, question: Question, choice: str, note: str) -> None:
    needed = next(it.needs_note for it in question.choices if it.name == choice)
    if needed and not note.strip():
        command = f"treadle answer {run} {place_of(question.id)} {choice} --note TEXT"
        raise TreadleError(
            f"{choice} says nothing without a note, for the note is the answer: `{command}`", code="answer.no_note"
        )


def _names(question: Question) -> list[str]:
    return [choice.name for choice in question.choices]


def _open(run: str, questions: Iterable[Question]) -> str:
    return "; ".join(f"`treadle answer {run} {place_of(one.id)} {'|'.join(_names(one))}`" for one in questions)


def _live(history: History) -> list[str]:
    """The instances that have not ended, in the order they were created."""
    return [inst.id for inst in sorted(history.state.insts.values(), key=lambda inst: inst.n) if inst.live]


def _commands(history: History, inst: str) -> list[str]:
    return list(history.protocol.graphs[history.state.insts[inst].graph].commands)


def _no_go(run: str, step: str, known: list[str]) -> str:
    if not known:
        return f"no step of {run} waits for a go; see `treadle status {run}`"
    named = f" '{step}'" if step else ""
    return f"no step{named} of {run} waits for a go; {_near(step, dict.fromkeys(known))}"


def _near(word: str, known: Iterable[str]) -> str:
    known = list(known)
    hint = suggest(word, known)
    there = f"there are {', '.join(known)}" if known else "there are none"
    return f"{hint} {there}" if hint else there


def _fresh(id_: str) -> str:
    """Another id whenever it is said again: two answers are two events, of which the first counts."""
    return f"{id_}:{secrets.token_hex(4)}"


def login_name() -> str:
    """The name of the person at this terminal; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
