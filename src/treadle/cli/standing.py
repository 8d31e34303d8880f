"""How a run stands, and the exact commands that move it on."""

import shlex
from collections.abc import Iterator

import msgspec

from treadle.agents.manual import instructions
from treadle.cli.guard import WAITS
from treadle.cli.output import is_terminal
from treadle.engines.client import place_of
from treadle.engines.driving import is_good
from treadle.engines.waiting import Waiting
from treadle.errors import TreadleError
from treadle.ports import Work
from treadle.prompts.question import Question
from treadle.results.exits import read_exits

ENDED_WELL, ENDED_BADLY = 0, 1


class Standing(msgspec.Struct, frozen=True):
    """A run that this process does not drive any more."""

    run: str
    outcome: str
    waiting: Waiting

    @property
    def code(self) -> int:
        """The exit code of a command that has driven it."""
        if not self.outcome:
            return WAITS
        return ENDED_WELL if is_good(self.outcome) else ENDED_BADLY

    def as_json(self) -> dict[str, object]:
        """How it stands, for programs."""
        works = [{"act": it.act, "step": it.step, "prompt": str(it.bundle / "prompt.md"), "lane": str(it.lane)}
                 for it in self.waiting.works]  # fmt: skip
        return {
            "run": self.run,
            "outcome": self.outcome,
            "code": self.code,
            "questions": self.waiting.questions,
            "gos": self.waiting.gos,
            "works": works,
            "paused": self.waiting.paused,
            "agents": self.waiting.agents,
            "due": self.waiting.due,
        }

    def lines(self) -> Iterator[str]:
        """How it stands, for people."""
        if self.outcome:
            yield f"{self.run} has ended with {self.outcome}"
            return
        for question in self.waiting.questions:
            yield from self._question(question)
        for go in self.waiting.gos:
            at = f" --at {shlex.quote(go.inst)}" if len(self.waiting.gos) > 1 else ""
            yield f"{go.step} of {go.inst} waits for your go:"
            yield f"  treadle go {self.run} {shlex.quote(go.step)}{at}"
        for work in self.waiting.works:
            yield from self._work(work)
        for inst in self.waiting.paused:
            yield f"{inst} is paused; `treadle resume {self.run}` goes on"
        if self.waiting.agents or not self.waiting.for_people:
            yield self._others()

    def _question(self, question: Question) -> Iterator[str]:
        ask = f" {shlex.quote(place_of(question.id))}" if len(self.waiting.questions) > 1 else ""
        yield f"{self.run} asks: {question.title}"
        yield ""
        yield from (f"  {line}".rstrip() for line in question.text.strip().splitlines())
        yield ""
        commands = [f"  treadle answer {self.run}{ask} {shlex.quote(choice.name)}" for choice in question.choices]
        width = max(map(len, commands), default=0)
        for command, choice in zip(commands, question.choices, strict=True):
            yield f"{command:<{width}}  {choice.help}".rstrip()
        yield "  (--note TEXT goes to the next agent)"
        if question.default:
            yield f"  Without an answer, {question.default} is taken after {question.default_after} s."

    def _work(self, work: Work) -> Iterator[str]:
        step = f" --step {shlex.quote(work.step)}" if len(self.waiting.works) > 1 else ""
        yield instructions(work)
        try:
            ways = read_exits(work.bundle)
        except TreadleError:
            return
        for name in ways.exits:
            fields = "".join(f" --field {field}=…" for field in ways.fields(name))
            yield f"  treadle done {self.run}{step} --exit {name}{fields}"

    def _others(self) -> str:
        if self.waiting.agents:
            return f"an agent is next ({', '.join(self.waiting.agents)}); `treadle resume {self.run}` starts it"
        if self.waiting.due:
            return f"a time is waited for; `treadle resume {self.run}` waits for it"
        return f"nothing is left to do for {self.run} at the moment; see `treadle status {self.run}`"


def shown(lines: Iterator[str]) -> str:
    """The lines as they are printed; what came from files and agents cannot steer a terminal."""
    text = "\n".join(lines)
    if not is_terminal():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
