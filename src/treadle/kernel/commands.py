"""Requests to the world. Their ids are those of activities, asks and timers, so issuing one again is harmless."""

from typing import Literal

import msgspec

from treadle.protocol.model import CheckRef

Inputs = dict[str, tuple[str, ...]]
"""Slot → references to payloads (`sha256:…`) or short texts of the kernel's own (`text:…`)."""


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag=True):
    """Base of all commands."""

    id: str


class Job(Request, frozen=True, kw_only=True):
    """Base of the commands that start an activity."""

    inst: str
    graph: str
    step: str
    visit: int
    attempt: int
    inputs: Inputs = {}
    due: int = 0
    retry: int = 0
    """How often the kernel has issued the activity again, because its runner lost it or an outage suspended it."""


class RunAgent(Job, frozen=True, kw_only=True):
    """Start an agent's session."""

    role: str
    attempts: int
    mode: str = ""
    lane: str = "main"
    tier: int = 0
    session: str = ""
    fork: bool = False
    goes_on: bool = False
    """Whether it continues the conversation and the files that an outage has interrupted."""
    vars: dict[str, int | str | bool] = {}
    by_person: bool = False
    """Whether a person does the work instead of the role's agent (level 0)."""


class RunEffect(Job, frozen=True, kw_only=True):
    """Perform an effect on the repository, such as a merge."""

    effect: str


class RunChecks(Job, frozen=True, kw_only=True):
    """Verify a claim, or run the checks of a check step (then `exit` is empty)."""

    checks: tuple[CheckRef, ...] = ()
    exit: str = ""
    payload_ref: str = ""


class AskHuman(Request, frozen=True, kw_only=True):
    """Put a question to a person."""

    inst: str
    graph: str
    step: str
    choices: tuple[str, ...]
    inputs: Inputs = {}


class SetTimer(Request, frozen=True, kw_only=True):
    """Deliver `TimerFired` at or after a time."""

    due: int


class CancelTimer(Request, frozen=True, kw_only=True):
    """Drop a timer."""


class Nudge(Request, frozen=True, kw_only=True):
    """Remind a silent session that it owes a decision."""

    count: int


class Cancel(Request, frozen=True, kw_only=True):
    """Stop an activity, or withdraw a question; an agent's files stay."""

    why: Literal["timeout", "preempted", "ended", "answered"]


class Notify(Request, frozen=True, kw_only=True):
    """Send people a notification; it changes nothing in the run."""

    inst: str
    what: str
    detail: str = ""


class Done(Request, frozen=True, kw_only=True):
    """The run has ended."""

    outcome: str


Command = RunAgent | RunEffect | RunChecks | AskHuman | SetTimer | CancelTimer | Nudge | Cancel | Notify | Done
ActivityCommand = RunAgent | RunEffect | RunChecks
