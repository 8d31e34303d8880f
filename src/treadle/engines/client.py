"""Commands from people to a run, with or without a driver; each posts an event to the run's inbox.

Every command is validated with the current state before it is posted, so a mistake is reported and not recorded.
"""

import getpass
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from treadle.config.agents import parse_agent
from treadle.config.project import Project
from treadle.engines.run_settings import MANUAL, Level, settings_of
from treadle.engines.start import can_start
from treadle.engines.waits import works_in_hand
from treadle.errors import TreadleError
from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Replied, Signalled
from treadle.kernel.instances import ROOT, map_keys
from treadle.kernel.people import STATUS_QUERY, why_refused
from treadle.kernel.state import Instance
from treadle.ports import Work
from treadle.protocol.findings import suggest
from treadle.protocol.model import Errand, Graph, base_of, outside_signals
from treadle.runtime.world import SystemClock
from treadle.store.history import History
from treadle.store.sqlite import Store
from treadle.views.questions import Asked, place_of
from treadle.views.run_status import status_at

# Resolving the words of a command in the current state of a run: to a step, and perhaps an item of its map.


class CommandTarget(NamedTuple):
    """The step, and perhaps the item, that a command sends an instance to."""

    step: str
    item: str = ""

    def __str__(self) -> str:
        return f"{self.step} for {self.item}" if self.item else self.step


def resolve_target(run: str, graph: Graph, inst: Instance, command: str, words: Sequence[str]) -> CommandTarget:
    """Resolve a command and its words to a step; an error lists the alternatives or the missing word."""
    goal = graph.commands[command]
    example = f"treadle go {run} {command}"
    if isinstance(goal, str):
        if words:
            raise TreadleError(f"{command} takes no words: `{example}`", code="go.words")
        target = CommandTarget(goal)
    else:
        target = _resolve_errand(example, graph, inst, goal, words)
    is_there = any(frame.step == target.step for frame in inst.frames) and not target.item
    if not is_there and (why := why_refused(graph, inst, target.step, target.item)):
        raise TreadleError(f"{inst.id} of {run} cannot do {command} now: {why}", code="go.refused")
    return target


def _resolve_errand(
    example: str, graph: Graph, inst: Instance, errands: tuple[Errand, ...], words: Sequence[str]
) -> CommandTarget:
    """Resolve the words after a command: the errand, and its item if it has one."""
    errand = errands[0]
    if words:
        matching = [one for one in errands if _normalise(words[0]) in map(_normalise, (one.word, *one.also))]
        if not matching:
            spellings = [spelling for one in errands for spelling in (one.word, *one.also)]
            ways = " or ".join(f"`{example} {it.word}{f' {it.item.upper()}' if it.item else ''}`" for it in errands)
            hint = suggest(words[0], spellings)
            raise TreadleError(
                f"'{words[0]}' is unknown here; {f'{hint} ' if hint else ''}say {ways}", code="go.unknown"
            )
        errand = matching[0]
    example = f"{example} {errand.word}"
    if len(words) > (2 if errand.item else 1):
        raise TreadleError(
            f"there are too many words: `{example}{f' {errand.item.upper()}' if errand.item else ''}`", code="go.words"
        )
    if not errand.item:
        return CommandTarget(errand.to[0])
    known = {key: step for step in reversed(errand.to) for key in map_keys(inst, step, graph.steps[step])}
    if len(words) < 2:
        raise TreadleError(
            f"say which {errand.item}: `{example} {errand.item.upper()}`; {_suggest('', known)}", code="go.words"
        )
    if words[1] not in known:
        raise TreadleError(f"no {errand.item} '{words[1]}' exists; {_suggest(words[1], known)}", code="go.unknown")
    return CommandTarget(known[words[1]], words[1])


def _normalise(word: str) -> str:
    """Normalise a word: Λ₁, Λ1 and λ1 are the same."""
    return unicodedata.normalize("NFKC", word).casefold()


class Client:
    """The commands that people and programs send to a project's runs; `actor` names a person outside this terminal."""

    def __init__(self, project: Project, store: Store, actor: str = "") -> None:
        self._project, self._store, self._actor = project, store, actor
        self._clock = SystemClock()

    def answer(self, run: str, choice: str, *, ask: str = "", note: str = "") -> Asked:
        """Answer an open question; `ask` selects it. Without a choice, an error lists the choices."""
        history = self._load_unended(run)
        questions = status_at(history.protocol, history.state).questions
        if questions and not choice:
            raise TreadleError(f"choose an answer: {_list_questions(run, questions)}", code="answer.missing")
        question = _select_question(run, questions, ask, choice)
        chosen = next((it for it in question.choices if it.name == choice), None)
        if chosen is None:
            raise TreadleError(
                f"'{choice}' is not an answer to {question.id} of {run}; {_suggest(choice, _choice_names(question))}",
                code="answer.unknown",
            )
        if chosen.needs_note and not note.strip():
            command = f"treadle answer {run} {place_of(question.id)} {choice} --note TEXT"
            raise TreadleError(f"{choice} needs a note, which is the answer: `{command}`", code="answer.no_note")
        note_ref = self._store.payloads.put(note) if note else ""
        reply = Replied(
            id=_unique_id(question.id),
            ts=self._clock.now(),
            ask=question.id,
            choice=choice,
            note_ref=note_ref,
            actor=self._actor or login_name(),
        )
        self._store.post(run, reply)
        return question

    def go(self, run: str, step: str = "", *words: str, at: str = "") -> str:
        """Start a step that waits for a go, or send an instance to a step by a graph command; return its name."""
        history = self._load_unended(run)
        within = [self._instance(run, at)] if at else _live_instances(history)
        gos = [go for go in status_at(history.protocol, history.state).starts if go.instance in within]
        graphs = {inst: history.protocol.graphs[history.state.insts[inst].graph] for inst in within}
        commands = [(inst, name) for inst in within for name in graphs[inst].commands]
        starts = [(go.instance, go.step) for go in gos if step in ("", go.step)]
        starts = starts or [it for it in commands if it[1] == step]
        if not starts:
            known = dict.fromkeys([*(go.step for go in gos), *(name for _, name in commands)])
            if not known:
                raise TreadleError(
                    f"no step of {run} waits for `treadle go`; see `treadle status {run}`", code="go.unknown"
                )
            named = f" '{step}'" if step else ""
            raise TreadleError(
                f"no step{named} of {run} waits for `treadle go`; {_suggest(step, known)}", code="go.unknown"
            )
        if len(starts) > 1:
            places = ", ".join(f"{name} at {inst}" for inst, name in starts)
            hint = f"say which: `treadle go {run} STEP --at INSTANCE`"
            raise TreadleError(f"several steps of {run} can start: {places}; {hint}", code="go.ambiguous")
        inst, name = starts[0]
        here, graph = history.state.insts[inst], graphs[inst]
        if name not in graph.commands:
            if words:
                raise TreadleError(f"{name} is a step and takes no words: `treadle go {run} {name}`", code="go.words")
            self._signal(run, inst, "go", step=name)
            return name
        goal = resolve_target(run, graph, here, name, words)
        self._signal(run, inst, "go", step=name if isinstance(graph.commands[name], str) else goal.step, item=goal.item)
        return f"{name} ({goal})"

    def pause(self, run: str, *, at: str = ROOT) -> None:
        """Pause an instance: nothing new starts below it, running activities may end."""
        self._signal(run, self._instance(run, at), "pause")

    def resume(self, run: str) -> tuple[str, ...]:
        """Resume all paused instances, and retry after an outage; return the instances that were paused."""
        history = self._store.load(run)
        now = status_at(history.protocol, history.state)
        # An outage that asks a person ends with the answer.
        timed = now.outage and all(question.id != OUTAGE for question in now.questions)
        instances = tuple(dict.fromkeys([*now.paused, *([ROOT] if timed else [])]))
        for inst in instances:
            self._signal(run, inst, "resume")
        return instances

    def note(self, run: str, text: str, *, at: str = ROOT) -> None:
        """Leave a note for the next agents of an instance; it stays until work done with it is accepted."""
        self._load_unended(run)
        if not text.strip():
            raise TreadleError("the note is empty; give it a text", code="usage.missing")
        self._signal(run, self._instance(run, at), "note", data_ref=self._store.payloads.put(text))

    def level(self, run: str, level: Level) -> None:
        """Switch a run to people as agents (0), a go before every agent (1), or fully automatic (2).

        Running activities keep their agents: a program until it ends, a person until the work is handed in.
        """
        self._load_unended(run)
        settings = settings_of(self._store.run(run))
        if level and all(parse_agent(agent).kind == MANUAL for agent in settings.agents.values()):
            raise TreadleError(
                f"{run} has only people as its agents, so it stays at level 0",
                code="level.refused",
            )
        if level:
            can_start(self._project, settings)
        self._signal(run, ROOT, "level", item=str(level))

    def abort(self, run: str, *, at: str = ROOT) -> None:
        """End a run, or a part of it."""
        self._signal(run, self._instance(run, at), "abort")

    def send(self, run: str, signal: str, text: str = "", *, at: str = ROOT) -> None:
        """Send an instance one of the signals that its protocol takes from outside, with a text if it has one."""
        history = self._load_unended(run)
        inst = self._instance(run, at)
        known = {STATUS_QUERY: "may"} | outside_signals(history.protocol, history.state.insts[inst].graph)
        if signal not in known:
            raise TreadleError(
                f"{at} of {run} does not take the signal '{signal}' from a person; {_suggest(signal, known)}",
                code="signal.unknown",
            )
        if text.strip() and known[signal] == "none":
            raise TreadleError(f"{signal} takes no text; the protocol defines its content", code="signal.text")
        if not text.strip() and known[signal] == "must":
            raise TreadleError(f"{signal} needs a text: `treadle send {run} {signal} TEXT`", code="signal.text")
        self._signal(run, inst, signal, data_ref=self._store.payloads.put(text) if text.strip() else "")

    def work(self, run: str = "", act: str = "", folder: Path | None = None) -> Work:
        """Return a person's open work as an agent: the only one, the named one, or the one of a folder."""
        runs = [run] if run else [it.id for it in self._store.runs() if not it.outcome and it.seq]
        works = [
            work
            for each in runs
            for work in works_in_hand(
                self._store.load(each).state, settings_of(self._store.run(each)), self._project.runs / each
            )
        ]
        matching = [work for work in works if not act or act in ways_to_name(work.act)]
        here = [work for work in matching if folder and folder.is_relative_to(work.lane)]
        if len(here or matching) == 1:
            return (here or matching)[0]
        if not works:
            named = f" of {run}" if run else ""
            raise TreadleError(
                f"no step{named} waits for your work; see `treadle status`. After an interrupted `treadle done`, "
                f"`treadle resume{f' {run}' if run else ''}` continues",
                code="work.none",
            )
        listed = "; ".join(f"`treadle done {work.run} --step {shortest_name(work, works)}`" for work in works)
        what = f"{act} does not wait for your work" if act and not matching else "several steps wait for your work"
        raise TreadleError(f"{what}; choose one: {listed}", code="work.ambiguous")

    def _load_unended(self, run: str) -> History:
        if outcome := self._store.run(run).outcome:
            raise TreadleError(f"{run} has ended with {outcome} and can no longer change", code="run.ended")
        return self._store.load(run)

    def _instance(self, run: str, at: str) -> str:
        live = _live_instances(self._load_unended(run)) or [ROOT]
        if at not in live:
            raise TreadleError(f"{run} has no instance '{at}' at work; {_suggest(at, live)}", code="run.no_instance")
        return at

    def _signal(self, run: str, inst: str, name: str, step: str = "", data_ref: str = "", item: str = "") -> None:
        id_ = _unique_id(f"{inst}!{name}")
        now = self._clock.now()
        event = Signalled(
            id=id_, ts=now, inst=inst, name=name, step=step, data_ref=data_ref, item=item, actor=self._actor
        )
        self._store.post(run, event)


def ways_to_name(act: str) -> tuple[str, ...]:
    """Return the valid names of an activity: its id, its place, its step, or its part of a team."""
    place = act.partition("#")[0]
    inst, _, step = place.rpartition(":")
    part = inst.rpartition("/")[2]
    return act, place, step, f"{part}:{step}", part


def shortest_name(work: Work, among: Sequence[Work]) -> str:
    """Return the shortest name that is unique to this work."""
    others = [name for other in among if other.act != work.act for name in ways_to_name(other.act)]
    return min((name for name in ways_to_name(work.act) if name not in others), key=len, default=work.act)


def _select_question(run: str, questions: tuple[Asked, ...], ask: str, choice: str) -> Asked:
    if not questions:
        raise TreadleError(f"{run} has no open question; see `treadle status {run}`", code="answer.no_question")
    matching = [question for question in questions if not ask or ask in _names_of_question(question.id)]
    if not matching:
        raise TreadleError(
            f"{run} has no open question '{ask}'; answer with {_list_questions(run, questions)}",
            code="answer.no_question",
        )
    if len(matching) > 1:
        matching = [question for question in matching if choice in _choice_names(question)] or matching
    if len(matching) > 1:
        raise TreadleError(
            f"{run} has several open questions; name one: {_list_questions(run, tuple(matching))}",
            code="answer.ambiguous",
        )
    return matching[0]


def _names_of_question(ask: str) -> tuple[str, ...]:
    """Return a question's names: `root:stuck@tests#2.1`, `root:stuck@tests`, `root:stuck`, `stuck@tests`, `stuck`."""
    place = place_of(ask)
    inst, _, step = place.rpartition(":")
    return ask, place, f"{inst}:{base_of(step)}", step, base_of(step)


def _choice_names(question: Asked) -> list[str]:
    return [choice.name for choice in question.choices]


def _list_questions(run: str, questions: Iterable[Asked]) -> str:
    return "; ".join(f"`treadle answer {run} {place_of(one.id)} {'|'.join(_choice_names(one))}`" for one in questions)


def _live_instances(history: History) -> list[str]:
    """Return the live instances in the order of their creation."""
    return [inst.id for inst in sorted(history.state.insts.values(), key=lambda inst: inst.n) if inst.live]


def _suggest(word: str, known: Iterable[str]) -> str:
    known = list(known)
    hint = suggest(word, known)
    there = f"choose from {', '.join(known)}" if known else "none exists"
    return f"{hint} {there}" if hint else there


def _unique_id(id_: str) -> str:
    """Append a random suffix: two answers are two events, and the first one counts."""
    return f"{id_}:{secrets.token_hex(4)}"


def login_name() -> str:
    """Return the login name of the person at this terminal; empty if unknown."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
