"""The evidence of a run, criterion by criterion: the document behind `treadle evidence`."""

from typing import Final, Literal

import msgspec

from treadle.views.activity import TokenUsage
from treadle.views.result import Result
from treadle.views.status import Baseline, Condition, ProtocolPin

Standing = Literal["verified", "partial", "none"]
Ruling = Literal["verified", "accepted", "unverified", "empty"]
"""The verdict on a run or a part of it. `verified`: every criterion is. `accepted`: a person has waived those that are
not. `unverified`: some are neither. `empty`: it has no criteria to verify.
"""
Grade = Literal["word", "observed", "proved"]
"""How far a test or a criterion can be believed.

`proved`: it was seen failing and passing with judge and subject in two processes. `observed`: in one process, by a
witness that found nothing wrong. `word`: only the test runner says so.
"""
GRADES: Final[tuple[Grade, ...]] = ("word", "observed", "proved")
"""The lowest first."""
Kind = Literal["refused", "failed", "stopped", "sent back", "not obeyed"]


class CheckFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a check has found."""

    code: str
    """The kind of finding, as docs/codes.md lists it; it stays the same when the sentence changes."""
    what: str
    file: str = ""
    line: int = 0
    test: str = ""
    criterion: str = ""
    expected: str = ""
    note: bool = False
    """It refuses nothing."""


class SubjectRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a check with judge and subject in two processes, and their cost."""

    runs: int = 0
    tests: int = 0
    calls: int = 0
    """The calls that crossed from one process to the other."""
    seconds: float = 0.0
    recorded: int = 0
    """The calls of the tests that can be repeated by value; a sample of them is."""
    replayed: int = 0
    """The calls that were repeated in plain interpreters without the tests."""
    incomparable: int = 0
    """The calls that cannot be repeated, or do not always end in the same way."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The raw record of one check, as kept when the check ran."""

    check: str
    ok: bool
    advisory: bool
    """It informs, and refuses nothing."""
    skipped: bool
    """Whether the check was skipped, because an earlier one had made it pointless."""
    commit: str
    tree: str
    command: tuple[str, ...]
    """Empty if Treadle checked without a command."""
    exit: int | None
    duration: float
    output: str
    report: str
    """The check's report, line by line."""
    findings: tuple[CheckFinding, ...] = ()
    """The same as data; empty in records of versions that had no codes."""
    isolation: str
    """The isolation of the command from the rest of the machine."""
    limits: tuple[str, ...] = ()
    """Caveats that the output of the command does not show."""
    subjects: SubjectRuns | None = None
    """The runs of the check with judge and subject apart; None: there were none."""
    plots: tuple[str, ...]
    """Plots of measurements, as SVG."""
    ref: str
    """Where the record lies."""
    gone: bool = False
    """There is no record any more, or none was kept; nothing can be concluded from it."""


class AcceptedActivity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity with an accepted exit, and the checks that it passed."""

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
    """The orchestrator's own effect, such as `merge`; empty for agents and steps of checks."""
    attempt: int
    seq: int
    """The number of the event that settled it."""
    time: str
    elapsed: float
    commit: str
    words: str
    """The agent's words about it. A claim, not a fact."""
    checks: tuple[Check, ...]


class TestProof(msgspec.Struct, frozen=True, kw_only=True):
    """A test that stands for a criterion, and the runs that it was seen in."""

    __test__ = False

    id: str
    red: str
    """The activity after which it was seen failing for the right reason; empty: never."""
    on_skeleton: bool
    """Whether it was seen failing on the code before the implementation, instead of in that activity."""
    green: str
    """The activity after which it was seen passing, later than that; empty: never."""
    now: str
    """How it ended the last time that accepted work was tested: `passed`, `failed`, …; empty: it was not run."""
    grade: Grade | Literal[""] = ""
    """How far that can be believed; empty: it was not seen failing and passing."""
    together: str = ""
    """Why it shares a process with the code, as decided when it failed; empty: it does not, or nothing was tried."""


class ReviewVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement of the work that a criterion rests on."""

    act: str
    """Empty if a person has judged."""
    who: str
    exit: str
    good: bool
    time: str
    words: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer or order."""

    time: str
    who: str
    instance: str
    step: str
    question: str
    choice: str
    note: str


class CriterionProof(msgspec.Struct, frozen=True, kw_only=True):
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
    """The gaps that keep it from being verified, in words."""
    codes: tuple[str, ...] = ()
    """The stable code of each of these."""
    waiver: Decision | None = None
    """The decision of a person to merge it although it is not verified."""
    tests: tuple[TestProof, ...]
    red: str
    """The activity with the last check that saw its tests fail, before they passed."""
    green: str
    commit: str
    """The commit on which its tests passed."""
    verdicts: tuple[ReviewVerdict, ...]
    merges: tuple[str, ...]
    """The activities that merged it, from its own instance up to the result."""
    setbacks: tuple[str, ...]
    """Activities for it that were refused, failed or sent back."""
    unnoticed: tuple[str, ...] = ()
    """Gaps of its tests: wrong implementations that pass all of them."""
    own_word: bool = False
    """Whether only the test runner, which shares a process with the code under test, saw its tests pass."""
    grade: Grade | Literal[""] = ""
    """The lowest grade of its tests; empty: one of them has none."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither verified nor waived by a person; an open criterion may not be merged."""
        return self.standing != "verified" and self.waiver is None


class Setback(msgspec.Struct, frozen=True, kw_only=True):
    """A setback: a refused claim, a crashed agent, or work that was sent back."""

    kind: Kind
    act: str
    instance: str
    step: str
    who: str
    by: str = ""
    """The person or agent behind the work; empty for effects, checks and messages."""
    attempt: int
    time: str
    what: str
    """The exit that was claimed, or how it failed."""
    why: tuple[str, ...]
    """The checks that refused it."""
    report: str
    checks: tuple[Check, ...]


class Waiver(msgspec.Struct, frozen=True, kw_only=True):
    """A check's remark that refuses nothing: advice, or a change made beside the work."""

    act: str
    check: str
    report: str


class InstanceProof(msgspec.Struct, frozen=True, kw_only=True):
    """An instance: its criteria, its times, and its outcome."""

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
    """The criteria that it answers for itself."""
    given_on: dict[str, str]
    """Criterion → the child that answers for it."""
    verified: int


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria, counted."""

    criteria: int
    verified: int
    partial: int
    none: int
    proved: int = 0
    """The number of criteria verified with judge and subject apart."""
    observed: int = 0
    """The number of criteria verified in one process, by a witness."""
    own_word: int = 0
    """The number of criteria verified by the runner's own word only."""
    waived: int = 0
    """The number of unverified criteria that a person waived."""

    @property
    def ruling(self) -> Ruling:
        """The verdict: the one place where all surfaces have it from."""
        if not self.criteria:
            return "empty"
        if self.verified == self.criteria:
            return "verified"
        return "accepted" if self.verified + self.waived == self.criteria else "unverified"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of a run: `treadle evidence --json`."""

    schema: Literal[1] = 1
    run: str
    name: str
    spec: str
    """The id of the run's input."""
    about: str
    """The title or description in the run's input."""
    protocol: ProtocolPin | None
    status: Condition
    outcome: str
    so_far: bool
    """Whether the run goes on; gaps may still close."""
    began: str
    changed: str
    elapsed: float
    events: int
    agents: dict[str, str]
    """Role → the persons and agents that really worked in it, by the log."""
    usage: TokenUsage
    result: Result | None
    minimum: Grade = "word"
    """The grade that a criterion needs to be verified: `verification.minimum`."""
    verdict: Ruling = "unverified"
    """`verified`: every criterion is; `accepted`: a person accepted the rest; `unverified`; `empty`: no criteria."""
    tally: Tally
    criteria: tuple[CriterionProof, ...]
    instances: tuple[InstanceProof, ...]
    accepted: tuple[AcceptedActivity, ...]
    """In the order in which they were settled."""
    setbacks: tuple[Setback, ...]
    decisions: tuple[Decision, ...]
    waivers: tuple[Waiver, ...]
    baseline: Baseline | None = None
    """How the tests ended before the run, and which of them are known to fail or to be unstable since then."""
