"""How a run stands, and the exact commands that move it on."""

import shlex
from collections.abc import Iterator

import msgspec

from treadle.agents.activity import activity_of
from treadle.agents.manual import instructions
from treadle.cli.guard import ACCEPTED, UNWELL, WAITS
from treadle.cli.output import is_terminal
from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.engines.waiting import Waiting, works_in_hand
from treadle.errors import TreadleError
from treadle.kernel.state import State
from treadle.ports import Work
from treadle.prompts.question import Question
from treadle.protocol.exit_name import exit_name
from treadle.results.exits import read_exits
from treadle.store.records import Run
from treadle.views.advice import Advice
from treadle.views.advice import told as told_advice
from treadle.views.asking import Choice, commands
from treadle.views.evidence import Evidence
from treadle.views.evidence_words import score
from treadle.views.moment import moment
from treadle.views.rest import Posed, Rest
from treadle.views.result import Result, is_good, told
from treadle.views.status import Startable
from treadle.views.yours import Way, Yours, ways_out


class Standing(msgspec.Struct, frozen=True):
    """A run that this process does not drive any more."""

    run: str
    outcome: str
    waiting: Waiting
    result: Result | None = None
    advice: tuple[Advice, ...] = ()
    """What checks advise of what was accepted, if it has ended."""
    evidence: Evidence | None = None
    """What is proved of it, if it has ended."""

    @property
    def code(self) -> int:
        """The exit code of a command that has driven it."""
        if not self.outcome:
            return WAITS
        return exit_code(self.outcome, self.evidence)

    def as_json(self) -> Rest:
        """How it stands, for programs."""
        return Rest(
            run=self.run,
            outcome=self.outcome,
            code=self.code,
            questions=tuple(map(_posed, self.waiting.questions)),
            starts=tuple(Startable(instance=go.inst, step=go.step, title=go.title) for go in self.waiting.gos),
            yours=tuple(map(yours, self.waiting.works)),
            paused=self.waiting.paused,
            agents=self.waiting.agents,
            due=moment(self.waiting.due),
            result=self.result,
            verdict=self.evidence.verdict if self.evidence else "",
        )

    def lines(self) -> Iterator[str]:
        """How it stands, for people."""
        if self.outcome:
            yield f"{self.run} has ended with {self.outcome}{self._verdict()}"
            yield from told_advice(self.run, self.advice)
            if self.result:
                yield from told(self.run, self.result, good=is_good(self.outcome))
            return
        for question in self.waiting.questions:
            yield from self._question(question)
        for go in self.waiting.gos:
            at = f" --at {shlex.quote(go.inst)}" if len(self.waiting.gos) > 1 else ""
            yield f"{go.step} of {go.inst} waits for your go{f': {go.title}' if go.title else ''}"
            yield f"  treadle go {self.run} {shlex.quote(go.step)}{at} --resume"
        for work in self.waiting.works:
            yield from self._work(work)
        for inst in self.waiting.paused:
            yield f"{inst} is paused; `treadle resume {self.run}` goes on"
        if self.waiting.agents or not self.waiting.for_people:
            yield self._others()

    def _verdict(self) -> str:
        """How many criteria are verified, and what is said of the rest."""
        if self.evidence is None or self.evidence.verdict == "empty":
            return ""
        rest = {"accepted": "; the rest by a person's word", "unverified": "; see `treadle evidence`"}
        return f": {score(self.evidence)}{rest.get(self.evidence.verdict, '')}"

    def _question(self, question: Question) -> Iterator[str]:
        yield f"{self.run} asks: {question.title}"
        yield ""
        yield from (f"  {line}".rstrip() for line in question.text.strip().splitlines())
        yield ""
        alone = len(self.waiting.questions) == 1
        yield from commands(self.run, question.id, _posed(question).choices, alone=alone)
        if question.default:
            yield f"  Without an answer, {question.default} is taken after {question.default_after} s."

    def _work(self, work: Work) -> Iterator[str]:
        yield instructions(work)
        yield from ways_out(self.run, yours(work), alone=len(self.waiting.works) == 1)

    def _others(self) -> str:
        if self.waiting.agents:
            return f"an agent is next ({', '.join(self.waiting.agents)}); `treadle resume {self.run}` starts it"
        if self.waiting.outage:
            return f"an agent is {self.waiting.outage}; `treadle resume {self.run}` tries at once"
        if self.waiting.due:
            return f"a time is waited for; `treadle resume {self.run}` waits for it"
        return f"nothing is left to do for {self.run} at the moment; see `treadle status {self.run}`"


def exit_code(outcome: str, evidence: Evidence | None) -> int:
    """The exit code for a run that has ended: the verdict on its criteria decides, if the end was good."""
    if not is_good(outcome):
        return UNWELL
    verdict = evidence.verdict if evidence else "unverified"
    return {"verified": 0, "empty": 0, "accepted": ACCEPTED}.get(verdict, UNWELL)


def yours(work: Work) -> Yours:
    """A person's work, for programs."""
    return Yours(
        id=work.act,
        instance=activity_of(work).instance,
        step=work.step,
        attempt=work.attempt,
        prompt=str(work.bundle / "prompt.md"),
        lane=str(work.lane),
        exits=_exits(work),
    )


def _exits(work: Work) -> tuple[Way, ...]:
    """How the work can end; nothing if its bundle does not tell."""
    try:
        ways = read_exits(work.bundle)
    except TreadleError:
        return ()
    return tuple(
        Way(exit=exit_name(ways.protocol, it), fields=ways.required(it), optional=ways.optional(it))
        for it in ways.exits
    )


def in_hand(project: Project, run: Run, state: State) -> tuple[Yours, ...]:
    """What people have in hand as agents of a run."""
    if not state.acts:
        return ()
    return tuple(map(yours, works_in_hand(state, pinned(run), project.runs / run.id)))


def _posed(question: Question) -> Posed:
    return Posed(
        id=question.id,
        title=question.title,
        text=question.text,
        choices=tuple(Choice(name=it.name, help=it.help, needs_note=it.needs_note) for it in question.choices),
        default=question.default,
        default_after=question.default_after,
    )


def shown(lines: Iterator[str]) -> str:
    """The lines as they are printed; what came from files and agents cannot steer a terminal."""
    text = "\n".join(lines)
    if not is_terminal():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
