"""Facts from the world. Every event has an id, by which the store drops duplicates, and a time."""

from typing import Literal

import msgspec

from treadle.protocol.items import Item, Routed
from treadle.protocol.model import CheckRef, Severity

Outages = Literal["rate", "quota", "overload", "network", "billing", "login", "budget"]
"""Why an agent's service cannot be used."""


class Envelope(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that the kernel sees of an exit; the payload lies in the content-addressed store."""

    type: str
    variant: str = ""
    fields: dict[str, Routed] = {}
    payload_ref: str = ""
    severity: Severity = "INFO"
    route_hint: str = ""

    @property
    def key(self) -> str:
        return f"{self.type}.{self.variant}" if self.variant else self.type


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The tokens and the cost of an activity."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    cached: int = 0
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int = 0
    """Tokens without a known price; `cost` does not count them."""

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost,
            self.cached + other.cached,
            self.unpriced + other.unpriced,
        )


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result of one check."""

    check: str
    ok: bool
    report_ref: str = ""
    skipped: bool = False
    """The check did not run, because another one had refused; so it has not passed either."""
    arg: str | None = None
    """The check's argument; None in logs that did not keep it, and for the checks of an effect."""

    def is_of(self, check: CheckRef) -> bool:
        """Whether this is a result of the check; without a known argument, it is one of every check of its name."""
        return self.check == check.name and self.arg in (None, check.arg)


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag=True):
    """Base of all events; `ts` is in milliseconds since the epoch."""

    id: str
    ts: int


class RunStarted(Fact, frozen=True, kw_only=True):
    """A run begins, with a protocol, a version of the kernel's rules, and an input."""

    run: str
    protocol: str
    input: Item
    semantics: int = 1
    level: Literal[0, 1, 2] = 2
    """Autonomy: at 0 people are the agents, at 1 every agent step waits for a person's `go`."""


class SessionStarted(Fact, frozen=True, kw_only=True):
    """An agent's conversation has an id that can be resumed."""

    act: str
    session: str
    is_new: bool = False
    """Whether the session is new although it should continue another one: this agent cannot do that."""


class Exited(Fact, frozen=True, kw_only=True):
    """An activity claims to be done."""

    act: str
    envelope: Envelope
    channel: str = ""
    actor: str = ""
    """The person or the agent that did the work; empty for effects, and in logs that did not keep it."""
    usage: Usage = Usage()
    results: tuple[CheckResult, ...] = ()
    """Results of the checks that an effect ran before its exit; for the record only."""


class Checked(Fact, frozen=True, kw_only=True):
    """The checks of a claim, or of a check step, have run."""

    act: str
    results: tuple[CheckResult, ...] = ()
    derived: dict[str, Routed] = {}
    payload_ref: str = ""
    """The payload with its computed fields filled in."""
    fingerprint: str = ""
    """Fingerprint of the failure and the diff; equal fingerprints in one visit mean the same failure again."""


class Failed(Fact, frozen=True, kw_only=True):
    """An activity ended without an exit."""

    act: str
    why: Literal["crash", "invalid", "blocked", "store"]
    detail_ref: str = ""
    usage: Usage = Usage()


class Unavailable(Fact, frozen=True, kw_only=True):
    """An agent could not continue, through no fault of its own: its service is unavailable, or a budget is spent."""

    act: str
    why: Outages
    wait: int = 0
    """Seconds until the service expects to be available again; 0: unknown."""
    grant: str = ""
    """The budget that a person extends by letting the run continue; if not empty, the kernel asks a person."""
    detail_ref: str = ""
    usage: Usage = Usage()


class TimerFired(Fact, frozen=True, kw_only=True):
    """A timer that the kernel has set is due."""

    timer: str
    detail_ref: str = ""
    """Of a deadline: the payload that describes the unfinished work."""


class Idle(Fact, frozen=True, kw_only=True):
    """An activity has been silent for a while."""

    act: str
    idle_s: int


class Replied(Fact, frozen=True, kw_only=True):
    """A person has answered a question."""

    ask: str
    choice: str
    note_ref: str = ""
    actor: str = ""


class Signalled(Fact, frozen=True, kw_only=True):
    """A person or a program sends an instance `go`, `pause`, `resume`, `abort`, `note`, `level`, or a signal."""

    inst: str
    name: str
    step: str = ""
    data_ref: str = ""
    item: str = ""
    """With `go`: the item of a map to redo; with `level`: the new level."""
    actor: str = ""


class Upgraded(Fact, frozen=True, kw_only=True):
    """An operator moves the run to another version of its protocol."""

    protocol: str
    steps: dict[str, str] = {}
    """Renamed or replaced steps: `graph.old` → `new`."""


class Reopened(Fact, frozen=True, kw_only=True):
    """A run that ended well continues at its last merge, because its target branch has moved."""

    actor: str = ""


class Vouched(Fact, frozen=True, kw_only=True):
    """A person vouches for the result of an ended run, although some criteria are not verified."""

    actor: str = ""
    note_ref: str = ""


Event = (
    RunStarted
    | SessionStarted
    | Exited
    | Checked
    | Failed
    | Unavailable
    | TimerFired
    | Idle
    | Replied
    | Signalled
    | Upgraded
    | Reopened
    | Vouched
)
