"""A question to a person: the message, the choices with their meaning, and the default without an answer."""

from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import AskHuman
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.prompts.agent_prompt import template_of
from treadle.prompts.foreign import inline, quoted
from treadle.prompts.outcomes import exit_text, for_person
from treadle.prompts.templates import render, tidy_text
from treadle.prompts.variables import variables
from treadle.protocol.checks.shapes import variable_name
from treadle.protocol.items import Json
from treadle.protocol.model import CHECK_EXITS, Protocol, find_step, tag_of

# Open points of a question besides its choices: unclear requirements, each with a suggestion.

FIELD = "clarifications"
"""The field of an exit that lists them."""


class Clarification(msgspec.Struct, frozen=True):
    """Something that only a person knows."""

    question: str
    suggestion: str = ""
    """The answer that counts unless a person gives another one."""


def clarifications(command: AskHuman, payloads: Payloads) -> tuple[Clarification, ...]:
    """Return the clarifications that the steps before a question left open."""
    refs = [ref for slot, some in command.inputs.items() if slot != "in" for ref in some if ref.startswith("sha256:")]
    found: list[Clarification] = []
    for payload in map(payloads.get, refs):
        listed = payload.get(FIELD) if isinstance(payload, dict) else None
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and one.get("question"):
                asked, suggested = (one.get(key) for key in ("question", "suggestion"))
                words = [it.strip() if isinstance(it, str) else "" for it in (asked, suggested)]
                found.append(Clarification(*words))
    return tuple(dict.fromkeys(found))


_FAILED: Final = CHECK_EXITS[1]
_SPENT: Final = {
    "!timeout": "timed out ({time})",
    "!exhausted": "has no attempt left of {attempts}",
    "!crash": "crashed",
    "!blocked": "was not allowed to work",
}
_LIMITS: Final = {"cost": "money", "tokens": "tokens", "wall": "time"}
_LIMIT_CHOICES: Final = {"continue": "grant the same amount once more", "abort": "end the run; its branches stay"}

_OUTAGES: Final = {
    "billing": ("An agent's service wants payment", "Pay, or name another agent; then let it continue."),
    "login": (
        "An agent's login is refused",
        "Log in with its own program, or set its key where you start runs (stop the run, then `treadle resume`).",
    ),
    "budget": ("A budget is spent", "`continue` grants the same amount once more."),
}
_OUTAGE_CHOICES: Final = {"continue": "continue where the agent stopped", "abort": "end the run; its branches stay"}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One way to answer."""

    name: str
    help: str
    needs_note: bool
    """Whether the note itself is the answer."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question, ready to be shown. Every choice allows a note; some require one."""

    id: str
    title: str
    text: str = ""
    choices: tuple[Choice, ...]
    default: str = ""
    default_after: int = 0
    """Seconds until the default counts; 0: the question never times out."""

    def __str__(self) -> str:
        lines = [f"- {choice.name}{': ' + choice.help if choice.help else ''}" for choice in self.choices]
        default = [f"Without an answer, `{self.default}` counts after {self.default_after} s."] if self.default else []
        return "\n".join([f"# {self.title}", "", self.text, *lines, *default]) + "\n"


def question(
    protocol: Protocol, state: State, command: AskHuman, payloads: Payloads, toolchain: Mapping[str, str]
) -> Question:
    """Build the question that a command asks a person."""
    if command.graph in protocol.graphs:
        known = variables(protocol, state, command, payloads, toolchain)
        name = template_of(protocol, protocol.graphs[command.graph].steps[command.step])
        text = render(protocol.templates, name, known, "person") if name else _plain(protocol, state, command, known)
    else:
        text = _outage(command, payloads) if command.id == OUTAGE else _limit(protocol, state, command)
    return msgspec.structs.replace(question_without_text(protocol, command), text=text)


def question_without_text(protocol: Protocol | None, command: AskHuman) -> Question:
    """Return the title, the choices and the default of a question, which need no payloads."""
    step = find_step(protocol, command.graph, command.step)
    title, helps = (step.title, step.choices) if step else own_words(command) if not command.graph else ("", {})
    notes = step.notes if step else ()
    return Question(
        id=command.id,
        title=title or f"{command.step} at {command.inst}",
        choices=tuple(Choice(name=it, help=helps.get(it, ""), needs_note=it in notes) for it in command.choices),
        default=step.default if step and step.default_after else "",
        default_after=step.default_after if step else 0,
    )


def _plain(protocol: Protocol, state: State, command: AskHuman, known: Mapping[str, Json]) -> str:
    """Format a question without a template: the words and findings of the steps that led to it."""
    steps = protocol.graphs[command.graph].steps
    step = steps[command.step]
    parts = [f"{inline(command.inst)} cannot continue without a decision ({inline(step.title or command.step)})."]

    # The step that cannot continue, with its spent timeout or attempts.
    frames = state.insts[command.inst].frames
    frame = next((it for it in frames if it.step == command.step and it.cause), None)
    asker, words = (steps.get(frame.asker), _SPENT.get(frame.cause)) if frame else (None, None)
    if frame and asker and words:
        time = f"{asker.timeout // 60} min" if asker.timeout % 60 == 0 else f"{asker.timeout} s"
        parts.append(f"{inline(frame.asker)} {words.format(time=time, attempts=asker.attempts)}.")

    # The exits that the question needs, if each is the last exit of its step.
    last = known.get("last")
    for need in step.needs:
        name = variable_name(need.step)
        left = last.get(name) if isinstance(last, dict) else None
        if not isinstance(left, str) or tag_of(left) != tag_of(need.exit):
            continue
        slots = known.get(name) if name else None
        value = slots.get(need.exit) if isinstance(slots, dict) else None
        declared = protocol.exits.get(tag_of(need.exit))
        if need.exit == _FAILED and isinstance(value, str):
            parts.append(quoted(value))
        elif declared and isinstance(value, dict):
            own = {one: value[one] for one, field in declared.fields.items() if field.by == "agent" and one in value}
            parts += [f"{inline(need.step)} says:", quoted(exit_text([declared], own))]

    if report := known["gate_report"]:
        parts.append(quoted(report))
    return tidy_text("\n".join(parts))


def own_words(command: AskHuman) -> tuple[str, Mapping[str, str]]:
    """Return the title of a question that the run itself asks, and the meaning of its choices."""
    if command.id == OUTAGE:
        return _OUTAGES.get(command.step, (command.step, ""))[0], _OUTAGE_CHOICES
    return f"The run has used its {_LIMITS.get(command.step, command.step)}", _LIMIT_CHOICES


def _limit(protocol: Protocol, state: State, command: AskHuman) -> str:
    """Format the run's own question when a budget is spent."""
    limits, usage = protocol.limits, state.usage
    spent, allowed = {
        "cost": (f" It has cost {usage.cost:.2f} so far.", f"{limits.cost}"),
        "tokens": (f" It has used {usage.tokens_in + usage.tokens_out:,} so far.", f"{limits.tokens:,}"),
    }.get(command.step, ("", f"{limits.wall} s"))
    if usage.unpriced:
        spent += f" The price of {usage.unpriced:,} tokens is not known."
    times = state.allowances - 1
    granted = f", granted again {'once' if times == 1 else f'{times} times'} so far" if times else ""
    return f"Nothing new starts until you decide. The limit is {allowed}{granted}.{spent}\n"


def _outage(command: AskHuman, payloads: Payloads) -> str:
    """Format the run's own question about a service that stays unusable until a person acts."""
    what = _OUTAGES.get(command.step, ("", ""))[1]
    reports = [quoted(for_person(payloads.get(ref))) for ref in command.inputs.get("gate_report", ())]
    first = f"Nothing new starts until you decide; no attempt is lost. {what}"
    return tidy_text("\n".join([first, *reports]))
