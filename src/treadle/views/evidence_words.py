"""How the evidence of a run is put into words, on a terminal and on a page alike."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from treadle.protocol.catalogue import PROOFS
from treadle.views.evidence import Accepted, Check, Evidence, Proved, Setback, Standing, Verdict
from treadle.views.result import is_good
from treadle.views.used import price

STANDINGS: Final[dict[Standing, str]] = {
    "verified": "verified",
    "partial": "not verified",
    "none": "no evidence",
}
OWN_WORD: Final = "by the runner's own word"
"""What is added where nobody else has seen that tests passed."""
WHOSE_WORD: Final = (
    "its test runner says so, which runs in one process with the code under test and which nothing else has watched"
)
_NOTE: Final = "- (note) "
_TIMES: Final = {1: "once", 2: "twice"}
_REDS: Final = frozenset({*PROOFS["red"][0], "still_red_on_skeleton"})
_GREENS: Final = frozenset({*PROOFS["green"][0], "coverage_complete", "same_colour", "suite"})


def score(found: Evidence) -> str:
    """How many criteria are verified."""
    tally = found.tally
    if not tally.criteria:
        return "its input names no acceptance criteria"
    so_far = " so far" if found.so_far else ""
    verified = f"{tally.verified} of {tally.criteria} criteria verified"
    if not tally.own_word:
        return f"{verified}{so_far}"
    own_word = OWN_WORD if tally.own_word == tally.verified else f"({tally.own_word} of them {OWN_WORD})"
    return f"{verified} {own_word}{so_far}"


def standing(one: Proved) -> str:
    """How a criterion stands, and on whose word."""
    return f"{STANDINGS[one.standing]} {OWN_WORD}" if one.own_word else STANDINGS[one.standing]


def how_it_stands(found: Evidence) -> str:
    """Whether the run has ended, and how."""
    return f"ended: {found.outcome}" if found.outcome else f"goes on ({found.status})"


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return _TIMES.get(count, f"{count} times")


def history(setbacks: Iterable[Setback]) -> str:
    """`refused twice: TestsPassed (green), TestsPassed (scope)`; one kind after the other."""
    by_kind: dict[str, list[Setback]] = {}
    for one in setbacks:
        by_kind.setdefault(one.kind, []).append(one)
    return "; ".join(
        f"{kind} {times(len(many))}: {', '.join(dict.fromkeys(map(_named, many)))}" for kind, many in by_kind.items()
    )


def _named(one: Setback) -> str:
    return f"{one.what} ({', '.join(one.why)} failed)" if one.why else one.what


def ended(check: Check) -> str:
    """How a check's command ended, and how long that took."""
    if check.gone:
        return "no record"
    took = f"{check.duration:.2f} s" if check.duration >= 0.01 else "at once"
    if not check.command:
        return "not looked at" if check.skipped else f"looked at by treadle itself, {took}"
    if check.exit is None:
        return f"did not end by itself, {took}"
    return f"exit {check.exit}{_remark(check)}, {took}"


def _remark(check: Check) -> str:
    """Why a run counts though its command did not succeed."""
    name = check.check.partition(":")[0]
    if not check.ok or not check.exit:
        return ""
    return " as it must be" if name in _REDS else " for tests that are not part of this" if name in _GREENS else ""


def mark(check: Check) -> str:
    """Whether a check has passed."""
    if check.skipped:
        return "not looked at"
    return "passed" if check.ok else "advises against it" if check.advisory else "failed"


def is_of_new_tests(check: Check) -> bool:
    """Whether a check was about tests that are to fail."""
    return check.check.partition(":")[0] in _REDS


def notes_of(check: Check) -> list[str]:
    """What a check noted that was no reason to refuse."""
    return [line.removeprefix(_NOTE) for line in check.report.splitlines() if line.startswith(_NOTE)]


def left_open(found: Evidence) -> dict[str, list[str]]:
    """What was noted of new tests when they were accepted, by activity."""
    noted = {
        step.act: [line for one in step.checks if is_of_new_tests(one) for line in notes_of(one)]
        for step in found.accepted
    }
    return {act: notes for act, notes in noted.items() if notes}


def agents(found: Evidence) -> list[str]:
    """The persons and agents that worked, each with its roles."""
    roles: dict[str, list[str]] = {}
    for role, agent in found.agents.items():
        roles.setdefault(agent, []).append(role)
    return [f"{agent} ({', '.join(sorted(many))})" for agent, many in roles.items()]


def consumed(found: Evidence) -> str:
    """Tokens and cost; empty if nobody has said."""
    used = found.usage
    if not (used.tokens_in or used.tokens_out or used.cost):
        return ""
    return f"{used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {price(used.cost, used.unpriced)}"


def held(found: Evidence) -> str:
    """What the branch of a run holds: its result, or what was accepted before it came to another end."""
    return "result" if is_good(found.outcome) else "accepted"


def where(found: Evidence) -> str:
    """Where the result of the run is, or what was accepted of it."""
    result = found.result
    if result is None:
        return ""
    place = f"on {result.into}" if result.taken else f"on the branch {result.branch}"
    return f"{result.commit[:12]} {place}"


def setbacks_of(found: Evidence, one: Proved) -> Sequence[Setback]:
    """What came to nothing on the way to a criterion."""
    return [it for it in found.setbacks if it.act in one.setbacks]


def road(steps: Mapping[str, Accepted], one: Proved) -> list[Verdict | Accepted]:
    """Who has judged it and where it was merged, in the order of time."""
    found: list[Verdict | Accepted] = [*one.verdicts, *(steps[act] for act in one.merges)]
    return sorted(found, key=lambda it: it.time)
