"""What a person is asked: the message, the choices with what each means, and what happens if nobody answers."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import AskHuman
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.prompts.clarifications import Clarification, clarifications
from treadle.prompts.foreign import inline, quoted
from treadle.prompts.prompt import template_of
from treadle.prompts.render import finished, render
from treadle.prompts.report import for_person
from treadle.prompts.telling import told
from treadle.prompts.variables import variables
from treadle.protocol.checks.shapes import variable
from treadle.protocol.items import Json
from treadle.protocol.model import CHECK_EXITS, Protocol, Step, tag_of

_FAILED: Final = CHECK_EXITS[1]
_SPENT: Final = {
    "!timeout": "timed out ({time})",
    "!exhausted": "has no attempt left of {attempts}",
    "!crash": "broke",
    "!blocked": "was not allowed to work",
}
_LIMITS: Final = {"cost": "money", "tokens": "tokens", "wall": "time"}
_LIMIT_CHOICES: Final = {"continue": "grant the same amount once more", "abort": "end the run; its branches stay"}

_OUTAGES: Final = {
    "billing": ("An agent's service wants to be paid", "Pay, or name another agent; then let it go on."),
    "login": (
        "An agent's login is refused",
        "Log in with its own program, or set its key where the run is driven (stop there, and `treadle resume`).",
    ),
    "budget": ("A budget is spent", "To let it go on grants the same amount once more."),
}
_OUTAGE_CHOICES: Final = {"continue": "try again, where it stopped", "abort": "end the run; its branches stay"}


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
    clarifications: tuple[Clarification, ...] = ()
    """What it leaves open besides its choices; the note answers them."""

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
        return _outage(command, payloads) if command.id == OUTAGE else _limit(protocol, state, command)
    step = protocol.graphs[command.graph].steps[command.step]
    known = variables(protocol, state, command, payloads, toolchain)
    name = template_of(protocol, step)
    return Question(
        id=command.id,
        title=step.title or f"{command.step} at {command.inst}",
        text=render(protocol.templates, name, known, "person") if name else _plain(protocol, state, command, known),
        choices=tuple(Choice(it, step.choices.get(it, ""), it in step.notes) for it in command.choices),
        default=step.default if step.default_after else "",
        default_after=step.default_after,
        clarifications=clarifications(command, payloads),
    )


def _plain(protocol: Protocol, state: State, command: AskHuman, known: Mapping[str, Json]) -> str:
    """The message of a question that has no template: what was said and found by whoever led to it."""
    step = protocol.graphs[command.graph].steps[command.step]
    asked = f"{inline(command.inst)} cannot go on without a decision ({inline(step.title or command.step)})."
    report = known["gate_report"]
    said = [*_led(protocol, state, command), *_said(protocol, step, known), *([quoted(report)] if report else [])]
    return finished("\n".join([asked, *said]))


def _led(protocol: Protocol, state: State, command: AskHuman) -> Iterator[str]:
    """Which step has no way on, and how much it was given."""
    frames = state.insts[command.inst].frames
    frame = next((it for it in frames if it.step == command.step and it.cause), None)
    step = protocol.graphs[command.graph].steps.get(frame.asker) if frame else None
    words = _SPENT.get(frame.cause) if frame else None
    if frame and step and words:
        given = {"time": _duration(step.timeout), "attempts": step.attempts}
        yield f"{inline(frame.asker)} {words.format(**given)}."


def _duration(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"


def _said(protocol: Protocol, step: Step, known: Mapping[str, Json]) -> Iterator[str]:
    """The words of the exits that the question takes up, as far as they are the last that their steps left by."""
    last = known.get("last")
    for need in step.needs:
        name = variable(need.step)
        slots = known.get(name) if name else None
        value = slots.get(need.exit) if isinstance(slots, dict) else None
        declared = protocol.exits.get(tag_of(need.exit))
        if not isinstance(last, dict) or not _left_by(last.get(name), need.exit):
            continue
        if need.exit == _FAILED and isinstance(value, str):
            yield quoted(value)
        elif declared and isinstance(value, dict):
            words = {one: value[one] for one, field in declared.fields.items() if field.by == "agent" and one in value}
            yield f"{inline(need.step)} says:"
            yield quoted(told([declared], words))


def _left_by(last: Json, exit_: str) -> bool:
    return isinstance(last, str) and tag_of(last) == tag_of(exit_)


def own_words(command: AskHuman) -> tuple[str, Mapping[str, str]]:
    """The title of a question that the run itself asks, and what its choices mean."""
    if command.id == OUTAGE:
        return _OUTAGES.get(command.step, (command.step, ""))[0], _OUTAGE_CHOICES
    return f"The run has used its {_LIMITS.get(command.step, command.step)}", _LIMIT_CHOICES


def _limit(protocol: Protocol, state: State, command: AskHuman) -> Question:
    """The question of the run itself, when it has used what it may."""
    limits, usage = protocol.limits, state.usage
    spent, allowed = {
        "cost": (f" It has cost {usage.cost:.2f} so far.", f"{limits.cost}"),
        "tokens": (f" It has used {usage.tokens_in + usage.tokens_out:,} so far.", f"{limits.tokens:,}"),
    }.get(command.step, ("", f"{limits.wall} s"))
    if usage.unpriced:
        spent += f" The price of {usage.unpriced:,} tokens is not known."
    title, helps = own_words(command)
    return Question(
        id=command.id,
        title=title,
        text=f"Nothing new starts until you decide. The limit is {allowed}{_granted(state.allowances - 1)}.{spent}\n",
        choices=tuple(Choice(choice, helps.get(choice, "")) for choice in command.choices),
    )


def _granted(times: int) -> str:
    """How often a limit was granted again."""
    return f", granted again {'once' if times == 1 else f'{times} times'} so far" if times else ""


def _outage(command: AskHuman, payloads: Payloads) -> Question:
    """The question of the run itself, when an agent's service cannot be used until a person has seen to it."""
    title, helps = own_words(command)
    what = _OUTAGES.get(command.step, ("", ""))[1]
    said = [for_person(payloads.get(ref)) for ref in command.inputs.get("gate_report", ())]
    return Question(
        id=command.id,
        title=title,
        text=finished(
            "\n".join([f"Nothing new starts until you decide; no attempt is lost. {what}", *map(quoted, said)])
        ),
        choices=tuple(Choice(choice, helps.get(choice, "")) for choice in command.choices),
    )
