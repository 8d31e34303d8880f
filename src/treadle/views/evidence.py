"""What is proved of a run, criterion by criterion: the document behind `treadle evidence`."""

from typing import Literal

import msgspec

from treadle.views.baseline import Baseline
from treadle.views.result import Result
from treadle.views.status import Condition, Pinned
from treadle.views.used import Used

Standing = Literal["verified", "partial", "none"]
Ruling = Literal["verified", "accepted", "unverified", "empty"]
"""The verdict on a run or a part of it. `verified`: every criterion is. `accepted`: those that are not were let pass by
a person's word. `unverified`: some are neither. `empty`: it has no criteria to verify."""
Kind = Literal["refused", "failed", "stopped", "sent back", "not obeyed"]


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a check has found."""

    code: str
    """The kind of finding, as docs/codes.md lists it; it stays the same when the sentence changes."""
    what: str
    file: str = ""
    line: int = 0
    test: str = ""
    expected: str = ""
    note: bool = False
    """It refuses nothing."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What one check has left: the raw record, as it was kept when the check ran."""

    check: str
    ok: bool
    advisory: bool
    """It informs, and refuses nothing."""
    skipped: bool
    """It was not looked at, because an earlier check had left nothing to say."""
    commit: str
    tree: str
    command: tuple[str, ...]
    """Empty: no command was run, treadle itself has looked."""
    exit: int | None
    duration: float
    output: str
    report: str
    """What it has to say, a line each."""
    findings: tuple[CheckFinding, ...] = ()
    """The same as data; empty in records of versions that had no codes."""
    isolation: str
    """What kept the command apart from the rest of the machine."""
    limits: tuple[str, ...] = ()
    """What the command's own words do not show."""
    plots: tuple[str, ...]
    """Pictures of what was measured, as SVG."""
    ref: str
    """Where the record lies."""
    gone: bool = False
    """There is no record any more, or none was kept; nothing can be concluded from it."""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """An activity whose exit was accepted, with the checks that it had passed."""

    act: str
    instance: str
    step: str
    title: str
    who: str
    by: str = ""
    """The person or agent that did it, by the log; empty for effects and checks."""
    exit: str
    proves: str
    """`plan`, `red`, `green`, `approval`, `contract`; empty: nothing by itself."""
    effect: str
    """What the orchestrator itself did, such as `merge`; empty for agents and steps of checks."""
    attempt: int
    seq: int
    """The number of the event that settled it."""
    time: str
    elapsed: float
    commit: str
    words: str
    """What the agent said about it. A claim, not a fact."""
    checks: tuple[Check, ...]


class TestProof(msgspec.Struct, frozen=True, kw_only=True):
    """A test that stands for a criterion, and the runs that it was seen in."""

    __test__ = False

    id: str
    red: str
    """The activity after which it was seen failing for the right reason; empty: never."""
    on_skeleton: bool
    """It was seen failing not there, but on the code as it was before the implementation."""
    green: str
    """The activity after which it was seen passing, later than that; empty: never."""
    now: str
    """How it ended the last time that accepted work was tested: `passed`, `failed`, …; empty: it was not run."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's judgement of the work that a criterion rests on."""

    act: str
    """Empty if a person has judged."""
    who: str
    exit: str
    good: bool
    time: str
    words: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has answered or ordered."""

    time: str
    who: str
    instance: str
    step: str
    question: str
    choice: str
    note: str


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """An acceptance criterion and everything that speaks for it."""

    id: str
    spec: str = ""
    """The id of the spec that it belongs to: two specs that both have an `AC-1` have two criteria."""
    text: str
    text_hash: str = ""
    instance: str
    """The instance that answers for it."""
    standing: Standing
    """`verified`: nothing is missing. `partial`: something is. `none`: no test speaks for it."""
    missing: tuple[str, ...]
    """What keeps it from being verified, in words."""
    codes: tuple[str, ...] = ()
    """The stable code of each of these."""
    waiver: Decision | None = None
    """The person's word by which it was merged though it is not verified."""
    tests: tuple[TestProof, ...]
    red: str
    """The activity whose check has seen its tests fail last, before they passed."""
    green: str
    commit: str
    """The commit on which its tests passed."""
    verdicts: tuple[Verdict, ...]
    merges: tuple[str, ...]
    """The activities that merged it, from its own instance up to the result."""
    setbacks: tuple[str, ...]
    """Activities that concern it and that came to nothing."""
    unnoticed: tuple[str, ...] = ()
    """What its tests leave open: wrong implementations that all of them pass with."""
    own_word: bool = False
    """That its tests passed is known from the test runner alone, which shares its process with the code under test."""


class Setback(msgspec.Struct, frozen=True, kw_only=True):
    """Something that did not hold: a claim that was refused, an agent that broke, work that was sent back."""

    kind: Kind
    act: str
    instance: str
    step: str
    who: str
    by: str = ""
    """The person or agent whose work it was; empty for effects, checks and messages."""
    attempt: int
    time: str
    what: str
    """The exit that was claimed, or how it failed."""
    why: tuple[str, ...]
    """The checks that refused it."""
    report: str
    checks: tuple[Check, ...]


class Waiver(msgspec.Struct, frozen=True, kw_only=True):
    """What a check has to say without refusing the work: it only advises, or something changed beside the work."""

    act: str
    check: str
    report: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An instance: what it answers for, and how it ended."""

    id: str
    parent: str
    graph: str
    title: str
    outcome: str
    """Empty while it goes on."""
    began: str
    ended: str
    elapsed: float
    criteria: tuple[str, ...]
    """Those that it answers for itself."""
    given_on: dict[str, str]
    """Criterion → the child that answers for it."""
    verified: int


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria, counted."""

    criteria: int
    verified: int
    partial: int
    none: int
    own_word: int = 0
    """Of those that are verified, how many by the runner's own word."""
    waived: int = 0
    """Of those that are not, how many a person has let pass."""

    @property
    def ruling(self) -> Ruling:
        """The verdict: the one place where all surfaces have it from."""
        if not self.criteria:
            return "empty"
        if self.verified == self.criteria:
            return "verified"
        return "accepted" if self.verified + self.waived == self.criteria else "unverified"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is proved of a run: `treadle evidence --json`."""

    schema: Literal[1] = 1
    run: str
    name: str
    spec: str
    """The id of what it was given."""
    about: str
    """What that says about itself."""
    protocol: Pinned | None
    status: Condition
    outcome: str
    so_far: bool
    """The run goes on; what is missing may still come."""
    began: str
    changed: str
    elapsed: float
    events: int
    agents: dict[str, str]
    """Role → the persons and agents that really worked in it, by the log."""
    usage: Used
    result: Result | None
    verdict: Ruling = "unverified"
    """`verified`: every criterion is; `accepted`: by a person's word; `unverified`; `empty`: it has no criteria."""
    tally: Tally
    criteria: tuple[Proved, ...]
    instances: tuple[Part, ...]
    accepted: tuple[Accepted, ...]
    """In the order in which they were settled."""
    setbacks: tuple[Setback, ...]
    decisions: tuple[Decision, ...]
    waivers: tuple[Waiver, ...]
    baseline: Baseline | None = None
    """How the tests ended before the run, and which of them are known to fail or to be unstable since then."""
