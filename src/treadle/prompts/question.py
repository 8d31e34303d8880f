"""What a person is asked: the message, the choices with what each means, and what happens if nobody answers."""

from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.kernel.commands import AskHuman
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.prompts.foreign import inline, quoted
from treadle.prompts.prompt import template_of
from treadle.prompts.render import finished, render
from treadle.prompts.variables import variables
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step

_LIMITS: Final = {"cost": "money", "wall": "time"}
_LIMIT_CHOICES: Final = {"continue": "grant the same amount once more", "abort": "end the run; its branches stay"}


class Choice(msgspec.Struct, frozen=True):
    """One way to answer."""

    name: str
    help: str = ""
    needs_note: bool = False
    """It says nothing by itself: the note is the answer."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question, ready to be shown. With every choice a note may be given, with some it must."""

    id: str
    title: str
    text: str
    choices: tuple[Choice, ...]
    default: str = ""
    default_after: int = 0
    """Seconds after which the default is taken; 0: nothing is ever decided by time."""

    def __str__(self) -> str:
        lines = [f"- {choice.name}{': ' + choice.help if choice.help else ''}" for choice in self.choices]
        default = (
            [f"Without an answer, `{self.default}` is taken after {self.default_after} s."] if self.default else []
        )
        return "\n".join([f"# {self.title}", "", self.text, *lines, *default]) + "\n"


def question(
    protocol: Protocol, state: State, command: AskHuman, payloads: Payloads, toolchain: Mapping[str, str]
) -> Question:
    """The question that a command puts to a person."""
    if command.graph not in protocol.graphs:
        return _limit(protocol, state, command)
    step = protocol.graphs[command.graph].steps[command.step]
    known = variables(protocol, state, command, payloads, toolchain)
    name = template_of(protocol, step)
    return Question(
        id=command.id,
        title=step.title or f"{command.step} at {command.inst}",
        text=render(protocol.templates, name, known, "person") if name else _plain(step, command, known),
        choices=tuple(Choice(it, step.choices.get(it, ""), it in step.notes) for it in command.choices),
        default=step.default if step.default_after else "",
        default_after=step.default_after,
    )


def _plain(step: Step, command: AskHuman, known: Mapping[str, Json]) -> str:
    """The message of a question that has no template."""
    asked = f"{inline(command.inst)} cannot go on without a decision ({inline(step.title or command.step)})."
    report = known["gate_report"]
    return finished(f"{asked}\n{quoted(report)}" if report else asked)


def _limit(protocol: Protocol, state: State, command: AskHuman) -> Question:
    """The question of the run itself, when it has used what it may."""
    what = _LIMITS.get(command.step, command.step)
    spent = f" It has cost {state.usage.cost:.2f} so far." if command.step == "cost" else ""
    allowed = protocol.limits.cost if command.step == "cost" else f"{protocol.limits.wall} s"
    return Question(
        id=command.id,
        title=f"The run has used its {what}",
        text=f"Nothing new starts until you decide. Granted {state.allowances} times so far: {allowed}.{spent}\n",
        choices=tuple(Choice(choice, _LIMIT_CHOICES.get(choice, "")) for choice in command.choices),
    )
