"""The runtime's ports to the world, as `typing.Protocol`s, and the data that passes through them.

Everything behind a port may be slow, may fail, and may be called again: commands have stable ids, so each port must be
idempotent, or detect that the work is done already.

`runtime.world.RunWorld` holds the ports of a run, and `engines.surroundings` fills them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from treadle.kernel.commands import ActivityCommand, AskHuman, Notify, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import CheckResult, Event, Outages, Usage
from treadle.kernel.state import State
from treadle.protocol import model
from treadle.protocol.items import Json
from treadle.protocol.model import Perm


class Clock(Protocol):
    """Time (`runtime.world.SystemClock`).

    The wall clock may expire a deadline and never extends one; `elapsed` counts sleep and never goes back.
    """

    def now(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def elapsed(self) -> float:
        """Seconds since some fixed moment, those of a sleeping machine included."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Payloads(Protocol):
    """The content-addressed store (`store.payloads`). A value is durable no later than the next appended event."""

    def put(self, value: Json) -> str:
        """Keep a value; its reference is `sha256:…` of its canonical JSON."""
        ...

    def get(self, ref: str) -> Json:
        """The value behind a reference (`text:…` is its own text); a `PortError` if it is missing or damaged."""
        ...


# Agents.


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's activity, ready to be started: everything a runner may need, and nothing it has to look up."""

    run: str
    act: str
    retry: int
    step: str
    role: str
    mode: str
    attempt: int
    lane: Path
    """Where the agent works: its current folder."""
    home: Path
    """The activity's own folder, outside of the lane; the same path whenever this activity is issued again."""
    prompt: str
    token: str
    model: str = ""
    """The model of the role's tier, as the configuration names it; empty: the agent's own choice."""
    session: str = ""
    """A conversation to continue, or (`fork`) to branch off from."""
    fork: bool = False
    round: int = 0
    """How often the agent was sent on in the same conversation, because it had ended without an answer."""
    used: Usage = Usage()
    """The usage of the rounds before this one."""
    env: dict[str, str] = {}
    """The variables of the agent contract (`TREADLE_…`)."""
    tools_at: str = ""
    """Where its tools are served over HTTP, with the token as bearer; empty: a server has to be started for them."""
    turns: int = 0
    """The maximum of turns of its model, if the agent's program supports a limit; 0: no limit."""
    writes: tuple[str, ...] | None = None
    """Globs of the files it may write in its lane; None: everything. A sandbox, if there is one, and the checks enforce
    it.
    """
    perms: tuple[Perm, ...] | None = None
    """The permissions of its role (Γ₁–Γ₆); None: everything. The agent's program enforces them as far as it can."""

    def may(self, perm: Perm) -> bool:
        """Whether its role may do that."""
        return self.perms is None or perm in self.perms

    @property
    def bundle(self) -> Path:
        return self.home / "bundle"

    @property
    def out(self) -> Path:
        """The one folder besides the lane that the agent may write to; answers arrive here."""
        return self.home / "out"


class CheckProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A check of a claim that begins, counts tests, or has ended."""

    check: str
    number: int
    """Its place among the checks of the claim, from 1."""
    of: int
    state: Literal["running", "passed", "failed", "skipped"]
    advisory: bool = False
    elapsed: float = 0.0
    tests_done: int = 0
    """Finished tests of the suite that the check runs; 0 if it runs none, or its tool does not report them."""
    tests: int = 0
    """Tests of that suite; 0: not known."""


class Progress(msgspec.Struct, frozen=True):
    """A sign of life of an agent or of checks, for the live view and against the nudge."""

    text: str = ""
    usage: Usage | None = None
    """The total usage so far."""
    note: str = ""
    """A note for people, shown at once."""
    check: CheckProgress | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent's program ended. It is no evidence that the work is done."""

    how: Literal["done", "failed", "lost"]
    """Done: it ended by itself. Failed: it could not work (no such program, no login). Lost: it vanished."""
    code: int | None = None
    final: str = ""
    """Its last output, cut to a sensible length; bytes that are no UTF-8 are lone surrogates (`surrogateescape`)."""
    detail: str = ""
    """Details for a person."""
    usage: Usage = Usage()
    session: str = ""
    """The conversation, if it can be continued."""
    outage: Outages | None = None
    """Why its service was unavailable: no fault of the agent, so the activity waits and costs no attempt."""
    wait: int = 0
    """Seconds until the service is available again, if it reports them."""
    refused: tuple[str, ...] = ()
    """The actions that were refused while it worked, and why: an agent without an answer was blocked by them."""


Watch = Callable[[Progress], None]


def watch_nothing(_progress: Progress) -> None:
    """Ignore progress."""


class Session(Protocol):
    """An agent at work, as its `Runner` started or found it."""

    async def wait(self) -> Ended:
        """Until it ends, with everything it started."""
        ...

    async def nudge(self, text: str) -> bool:
        """Remind it, if it can be reached while it works."""
        ...

    async def cancel(self) -> None:
        """End it and everything it started; harmless if it has ended."""
        ...


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """A runner's abilities besides a fresh start; a missing one is replaced by the step's declared degradation."""

    resume: bool = False
    fork: bool = False
    survives: bool = False
    """Its agents outlive this process, and `attach` finds them."""
    person: bool = False
    """Whether its agents are people: they go on when this process ends, and their lanes are not removed under them."""
    mcp: Literal["stdio", "http"] = "stdio"
    """How its agents reach the tools of their step: by a server that they start, or at this process over loopback."""
    tells: Literal["nothing", "tokens", "some prices", "prices"] = "nothing"
    """The usage that it reports: tokens without a price, with a price for known models, or always with a price."""
    holds: tuple[Perm, ...] = ()
    """The permissions that its program itself enforces; the others are only stated in the role's prompt."""


class Runner(Protocol):
    """A kind of agent; `agents.registry.RUNNERS` lists all of them."""

    @property
    def abilities(self) -> Abilities: ...

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start; a `PortError` if that is impossible."""
        ...

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """The session of an earlier process that still works on exactly this activity."""
        ...

    async def harvest(self, work: Work) -> Ended | None:
        """Return how an unwatched activity ended; None if it must be started (again)."""
        ...


# The repository.


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A folder to work in, and the commit its contents were at when it was handed out."""

    path: Path
    base: str


class Workspace(Protocol):
    """Where agents work (`git.lanes.Lanes`). It deletes nothing that an agent wrote: a ref saves it first."""

    async def open(self, state: State, job: RunAgent) -> Lane:
        """Open the lane of an activity: fresh at its head, or with the work of the last attempt if the step keeps it.

        First integrate the accepted work that is still pending (`git.integration.Integration.integrate`).
        A second call for the same activity returns the same lane, and first saves the changes of a lost session in it.
        """
        ...

    async def save(self, run: str, act: str) -> str:
        """Save an activity's changes in its lane under a ref; return the commit, empty if nothing was changed."""
        ...

    async def changed(self, run: str, act: str) -> tuple[str, ...]:
        """The files that an activity has changed in its lane, whether it has answered or not."""
        ...

    async def close(self, run: str) -> None:
        """The run has ended: give its lanes back."""
        ...


# Facts.


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a check or an effect may look at beside its job: the run, the payloads, and the claim."""

    protocol: model.Protocol
    state: State
    payloads: Payloads
    claim: Mapping[str, Json] = {}
    """The fields of the agent's claim; empty for check steps and effects."""
    watch: Watch = watch_nothing
    """Hears of each check as it begins and ends."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the checks of a claim. A check that could not run has not passed."""

    results: tuple[CheckResult, ...]
    fields: dict[str, Json] = {}
    """Computed fields of the exit, by name."""
    report: str = ""
    """The report for the agent: the problems to fix; empty if there are none."""
    fingerprint: str = ""
    """Equal for equal failures with an equal diff."""
    notes: tuple[str, ...] = ()
    """Notes for people, with any verdict."""


class Checks(Protocol):
    """Verifies claims (`evidence.claim_verifier.ClaimVerifier`)."""

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        """Run the checks of a claim, or of a check step, and compute the fields of the exit."""
        ...


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an effect ended: one of its exits, with all its fields."""

    exit: str
    fields: dict[str, Json] = {}
    results: tuple[CheckResult, ...] = ()
    """The checks on the way to it, each with its evidence in the payload store."""


class Effects(Protocol):
    """Performs an effect on the repository, exactly once however often it is called (`git.effects.GitEffects`)."""

    async def perform(self, job: RunEffect, case: Case) -> Outcome: ...


class Notifier(Protocol):
    """Sends notifications to people (`engines.notifications`); a failure stops nothing."""

    async def notify(self, run: str, what: str, text: str) -> None: ...


# Everything that the loop of a run performs.


class Performer(Protocol):
    """Performs commands (`runtime.perform.RunPerformer`; the benchmarks have one that answers at once).

    It never raises: a failed activity is an event as well.
    """

    async def job(self, job: ActivityCommand, state: State) -> Event:
        """Run an activity to its end. When cancelled, stop it and save the agent's work."""
        ...

    async def nudge(self, act: str, count: int) -> None:
        """Remind a silent agent."""
        ...

    async def ask(self, question: AskHuman, state: State) -> None:
        """Announce a question; its answer arrives in the inbox."""
        ...

    async def notify(self, message: Notify) -> None:
        """Notify people, and mark the message as performed."""
        ...

    def stop_driving(self, *, orderly: bool) -> None:
        """Prepare for the cancellation of all jobs: this process stops driving the run, but its jobs stay open.

        If the run rests (`orderly`), agents and people keep working; if it was interrupted, only people do.
        """
        ...
