"""The evidence of a run as text: the words shared with the page, the lines of a terminal, the body of a commit."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from treadle.evidence.findings import join_names
from treadle.git.commit_message import cut, one_line
from treadle.kernel.instances import ROOT
from treadle.protocol.vocabulary import PROOFS
from treadle.views.activity import price
from treadle.views.evidence import (
    AcceptedActivity,
    Check,
    CriterionProof,
    Evidence,
    Grade,
    ReviewVerdict,
    Setback,
    Standing,
    TestProof,
)
from treadle.views.evidence_criteria import GRADE_WORDS, OWN_WORD, UNMERGED
from treadle.views.outcomes import is_good
from treadle.views.result import excused_lines, stray_line
from treadle.views.status import baseline_counts
from treadle.views.words import count_words, duration, plain

# The words of the evidence, shared by the terminal and the page.

STANDINGS: Final[dict[Standing, str]] = {
    "verified": "verified",
    "partial": "not verified",
    "none": "no evidence",
}
WHOSE_WORD: Final = "only its test runner says so, and the runner shares its process with the code under test"
_NOTE: Final = "- (note) "
_REDS: Final = frozenset({*PROOFS["red"][0], "seen_red", "still_red_on_skeleton"})
_GREENS: Final = frozenset({*PROOFS["green"][0], "coverage_complete", "same_colour", "suite"})


def score(evidence: Evidence) -> str:
    """Format the number of verified criteria."""
    tally = evidence.tally
    if not tally.criteria:
        return "its input names no acceptance criteria"
    so_far = " so far" if evidence.so_far else ""
    verified = f"{tally.verified} of {tally.criteria} criteria verified"
    return f"{verified}{counted_grades(tally.proved, tally.observed, tally.own_word)}{so_far}"


def counted_grades(proved: int, observed: int, own_word: int) -> str:
    """Format how many of the verified criteria have which grade; one grade for all of them needs no number."""
    counts: dict[Grade, int] = {"proved": proved, "observed": observed, "word": own_word}
    found = {grade: count for grade, count in counts.items() if count}
    if len(found) > 1:
        return f" ({', '.join(f'{count} {GRADE_WORDS[grade]}' for grade, count in found.items())})"
    return next((_grade_suffix(grade) for grade in found), "")


def _grade_suffix(grade: Grade) -> str:
    return f" {OWN_WORD}" if grade == "word" else f" ({GRADE_WORDS[grade]})"


def standing(one: CriterionProof) -> str:
    """Format the standing of a criterion, with its grade if it is verified."""
    is_graded = one.standing == "verified" and one.grade
    return f"{STANDINGS[one.standing]}{_grade_suffix(one.grade) if is_graded and one.grade else ''}"


def sign(one: CriterionProof) -> str:
    """The sign before a criterion: its grade if it is verified."""
    return _GRADE_SIGNS[one.grade] if one.standing == "verified" and one.grade else _SIGNS[one.standing]


def test_words(test: TestProof) -> str:
    """Format a test with its grade, and why it is no higher one."""
    why = f" ({cut(one_line(test.together), _LONGEST_REASON)})" if test.together else ""
    return f"{_GRADE_SIGNS[test.grade]} {test.id}{why}" if test.grade else f"{test.id}{why}"


test_words.__test__ = False  # type: ignore[attr-defined]


def subject_words(check: Check) -> str:
    """Format the runs of a check with judge and subject apart; empty if there are none."""
    runs = check.subjects
    if runs is None or not runs.runs:
        return ""
    times = "" if runs.runs == 1 else f" in {runs.runs} runs"
    plainly = f", {count_words(runs.replayed, 'call')} repeated without them" if runs.replayed else ""
    counts = f"{count_words(runs.tests, 'test')}{times}, {count_words(runs.calls, 'call')}, {runs.seconds:.2f} s"
    return f"apart: {counts}{plainly}"


def run_condition(evidence: Evidence) -> str:
    """Whether the run has ended, and how."""
    return f"ended: {evidence.outcome}" if evidence.outcome else f"unfinished ({evidence.status})"


def setback_words(evidence: Evidence, one: CriterionProof) -> str:
    """Sum up the setbacks on the way to a criterion, by kind: `refused twice: TestsPassed (green), TestsPassed`."""
    by_kind: dict[str, list[Setback]] = {}
    for it in evidence.setbacks:
        if it.act in one.setbacks:
            by_kind.setdefault(it.kind, []).append(it)
    parts = []
    for kind, many in by_kind.items():
        times = {1: "once", 2: "twice"}.get(len(many), f"{len(many)} times")
        names = [f"{it.what} ({', '.join(it.why)} failed)" if it.why else it.what for it in many]
        parts.append(f"{kind} {times}: {', '.join(dict.fromkeys(names))}")
    return "; ".join(parts)


def check_ending(check: Check) -> str:
    """Describe how a check's command ended, and how long it ran."""
    if check.gone:
        return "no record"
    took = f"{check.duration:.2f} s" if check.duration >= 0.01 else "at once"
    if not check.command:
        return "not run" if check.skipped else f"checked by Treadle itself, {took}"
    if check.exit is None:
        return f"did not end by itself, {took}"
    remark = ""
    if check.ok and check.exit:  # the run counts, though its command did not succeed
        name = check.check.partition(":")[0]
        others = list(dict.fromkeys(one.test for one in check.findings if one.note and one.test))
        named = f" ({join_names(others)})" if others else ""
        said = f" for tests that do not count here{named}"
        remark = " as expected" if name in _REDS else said if name in _GREENS else ""
    return f"exit {check.exit}{remark}, {took}"


def mark(check: Check) -> str:
    """Whether a check has passed."""
    if check.skipped:
        return "not run"
    return "passed" if check.ok else "advises against it" if check.advisory else "failed"


def check_of_colour(step: AcceptedActivity, colour: str) -> Check | None:
    """Return the first check of an activity with a name that begins with `red` or `green`."""
    return next((one for one in step.checks if one.check.partition(":")[0].startswith(colour)), None)


def left_open(evidence: Evidence) -> dict[str, list[str]]:
    """Return activity → the notes about its new tests, which were no reason to refuse them."""
    notes: dict[str, list[str]] = {}
    for step in evidence.accepted:
        for check in step.checks:
            lines = check.report.splitlines() if check.check.partition(":")[0] in _REDS else []
            if noted := [line.removeprefix(_NOTE) for line in lines if line.startswith(_NOTE)]:
                notes.setdefault(step.act, []).extend(noted)
    return notes


def agents(evidence: Evidence) -> list[str]:
    """The persons and agents that worked, each with its roles."""
    roles: dict[str, list[str]] = {}
    for role, agent in evidence.agents.items():
        roles.setdefault(agent, []).append(role)
    return [f"{agent} ({', '.join(sorted(many))})" for agent, many in roles.items()]


def usage_words(evidence: Evidence) -> str:
    """Format tokens and cost; empty if no agent reported any."""
    used = evidence.usage
    if not (used.tokens_in or used.tokens_out or used.cost):
        return ""
    return f"{used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {price(used.cost, used.unpriced)}"


def branch_holds(evidence: Evidence) -> str:
    """Name the content of the run's branch: `result`, or `accepted` for a run that did not end well."""
    return "result" if is_good(evidence.outcome) else "accepted"


def result_place(evidence: Evidence) -> str:
    """Format the place of the run's result or accepted work."""
    result = evidence.result
    if result is None:
        return ""
    if result.altered and not result.taken:
        return f"{result.commit[:12]}; the branch {result.branch} {stray_line(result)}"
    held_by = f"on the branch {result.branch}" if result.on_branch else f"at {result.branch}"
    place = f"on {result.into}" if result.taken else held_by
    changed = f", verified again on top of {result.verified_on[:12]}" if result.verified_on else ""
    changed += f", with changes that a person has made to {result.replaces[:12]}" if result.replaces else ""
    changed += "".join(f"; {line.strip()}" for line in excused_lines(result))
    return f"{result.commit[:12]} {place}{changed}"


def steps_to(steps: Mapping[str, AcceptedActivity], one: CriterionProof) -> list[ReviewVerdict | AcceptedActivity]:
    """Return the judgements and merges of a criterion, by time."""
    found: list[ReviewVerdict | AcceptedActivity] = [*one.verdicts, *(steps[act] for act in one.merges)]
    return sorted(found, key=lambda it: it.time)


# The lines of a terminal; each has an indent, for wrapping to any width.

_TESTS = 8
"""Tests of a criterion that are named; `--json` has all of them."""
_NOTES = 8
_WRONG = 4
_REPORT = 6
_LONGEST_REASON: Final = 100
_SIGNS: Final = {"verified": "✓", "partial": "✗", "none": "✗"}
_GRADE_SIGNS: Final[dict[Grade, str]] = {"proved": "●", "observed": "◐", "word": "○"}


class TextRow(NamedTuple):
    """A line: its indent, and the indent of its continuation lines."""

    indent: int
    hang: int
    text: str


def rows(evidence: Evidence) -> Iterator[TextRow]:
    """Yield the lines about the run, its criteria, its instances, its setbacks and its decisions."""
    steps = {one.act: one for one in evidence.accepted}
    run = shlex.quote(evidence.run)
    sections: dict[str, Iterable[TextRow]] = {
        "Criteria": (row for one in evidence.criteria for row in _criterion(evidence, steps, one)),
        "Instances": _instances(evidence),
        "Before the run": _before(evidence),
        "Refused, failed and sent back": _setbacks(evidence),
        "Decided by people": _decisions(evidence),
        "Advice that refused nothing": _waivers(evidence),
        "What the tests leave open": _left_open(evidence, run),
    }
    yield from _head(evidence)
    for title, lines in sections.items():
        if listed := list(lines):
            yield from (TextRow(0, 0, ""), TextRow(0, 0, f"── {title} ──"), *listed)
    yield TextRow(0, 0, "")
    yield TextRow(0, 2, f"treadle show {run} ACTIVITY has the raw records; treadle evidence {run} --html FILE a page")


def _head(evidence: Evidence) -> Iterator[TextRow]:
    protocol = f"{evidence.protocol.name} {evidence.protocol.version}" if evidence.protocol else "no protocol yet"
    yield TextRow(0, 2, f"{evidence.run} · {protocol} · {run_condition(evidence)} · {score(evidence)}")
    if evidence.about:
        yield TextRow(2, 2, evidence.about)
    yield TextRow(2, 2, f"began {plain(evidence.began)}, {duration(evidence.elapsed)}, {evidence.events} events")
    if evidence.protocol:
        yield TextRow(2, 2, f"protocol {evidence.protocol.digest}")
    facts = {
        branch_holds(evidence): result_place(evidence),
        "agents": "; ".join(agents(evidence)),
        "used": usage_words(evidence),
    }
    yield from (TextRow(2, 4, f"{name} {words}") for name, words in facts.items() if words)


def _criterion(evidence: Evidence, steps: Mapping[str, AcceptedActivity], one: CriterionProof) -> Iterator[TextRow]:
    yield TextRow(0, 2, f"{sign(one)} {one.id} · {one.instance} · {standing(one)}")
    if one.text:
        yield TextRow(4, 4, one.text)
    if one.own_word:
        yield TextRow(4, 11, f"source {WHOSE_WORD}")
    yield from (TextRow(4, 6, f"missing: {why}") for why in one.missing)
    if one.waiver:
        yield TextRow(4, 11, f"person {one.waiver.who} accepted it: {one.waiver.note}")

    yield from (TextRow(4, 11, f"test   {test_words(test)}") for test in one.tests[:_TESTS])
    if len(one.tests) > _TESTS:
        yield TextRow(11, 11, f"and {len(one.tests) - _TESTS} more")
    if one.unnoticed:
        more = f"; and {len(one.unnoticed) - _WRONG} more" if len(one.unnoticed) > _WRONG else ""
        yield TextRow(4, 11, f"open   all of these pass if {'; '.join(one.unnoticed[:_WRONG])}{more}")

    for colour, act in (("red", one.red), ("green", one.green)):
        if act in steps:
            check = check_of_colour(steps[act], colour)
            commit = steps[act].commit or (check.commit if check else "")
            place = f"{act} {commit[:12]}" if commit else act
            endings = [check_ending(check), subject_words(check)] if check else []
            yield TextRow(4, 11, f"{colour:6} {', '.join(filter(None, [place, *endings]))}")
    for it in steps_to(steps, one):
        if isinstance(it, ReviewVerdict):
            where = f" ({it.act})" if it.act else ""
            yield TextRow(4, 11, f"review {it.exit}{'' if it.good else ' ✗'} by {it.who}{where}")
        else:
            yield TextRow(4, 11, f"merge  {it.act} {it.commit[:12]}")
    if words := setback_words(evidence, one):
        yield TextRow(4, 11, f"before {words}")


def _instances(evidence: Evidence) -> Iterator[TextRow]:
    for one in evidence.instances:
        depth = one.id.count("/") * 2
        parts = [one.id, one.outcome or "unfinished", duration(one.elapsed)]
        if one.criteria:
            parts.append(f"{one.verified} of {len(one.criteria)} criteria verified")
        if one.given_on:
            parts.append(f"handed down: {', '.join(f'{id_} to {child}' for id_, child in one.given_on.items())}")
        yield TextRow(depth, depth + 2, " · ".join(parts))
        for step in evidence.accepted:
            if step.instance == one.id:
                by = f" by {step.by}" if step.by else ""
                proves = f" (proves {step.proves})" if step.proves else ""
                checks = ", ".join(it.check if mark(it) == "passed" else f"{it.check} {mark(it)}" for it in step.checks)
                yield TextRow(depth + 2, depth + 4, f"{step.act} {step.exit}{by}{proves} {step.commit[:12]} {checks}")


def _before(evidence: Evidence) -> Iterator[TextRow]:
    if evidence.baseline is not None:
        yield TextRow(0, 2, f"{baseline_counts(evidence.baseline)} on {evidence.baseline.commit[:12]}")
        yield from (TextRow(2, 4, f"{one.test} [{one.code}]") for one in evidence.baseline.tests)


def _setbacks(evidence: Evidence) -> Iterator[TextRow]:
    for one in evidence.setbacks:
        name = f" ({one.by})" if one.by else ""
        who = f" by {one.who}{name}" if one.who else ""
        why = f" ({', '.join(one.why)} failed)" if one.why else ""
        yield TextRow(0, 2, f"{plain(one.time)} {one.act} {one.kind}: {one.what}{why}{who}")
        yield from (TextRow(4, 6, line) for line in one.report.splitlines()[:_REPORT] if line.strip())


def _decisions(evidence: Evidence) -> Iterator[TextRow]:
    for one in evidence.decisions:
        place = ":".join(part for part in (one.instance, one.step) if part)
        yield TextRow(0, 2, f"{plain(one.time)} {one.who} to {place or 'the run'}: {one.choice}")
        if one.note:
            yield TextRow(4, 4, one.note)


def _waivers(evidence: Evidence) -> Iterator[TextRow]:
    for one in evidence.waivers:
        yield TextRow(0, 2, f"{one.act}: {one.check}")
        yield from (TextRow(4, 6, line) for line in one.report.splitlines()[:_REPORT])


def _left_open(evidence: Evidence, run: str) -> Iterator[TextRow]:
    for act, notes in left_open(evidence).items():
        yield TextRow(0, 2, act)
        yield from (TextRow(4, 6, line) for line in notes[:_NOTES])
        if len(notes) > _NOTES:
            yield TextRow(4, 6, f"and {len(notes) - _NOTES} more: treadle show {run} {act}")


# The body of a delivered commit: criteria, their tests, and where the evidence is.
#
# Specs, agents and repositories write most of these texts. Each becomes one line of printable characters, and only
# the last paragraph contains trailers, so that no text can pretend to be one.

RUN: Final = "Treadle-Run"
CRITERION: Final = "Criterion"
_LONGEST_TEXT: Final = 200
_NAMED_TESTS: Final = 20
"""Tests of a criterion that are named; the evidence has them all."""


def commit_body(evidence: Evidence, inst: str = ROOT) -> str:
    """Format the body of the commit that merges an instance: criteria, tests, evidence and trailers.

    A criterion of the instance or its parts is named once, and is verified if every part verifies it. The merge is
    always missing while its commit is made, so this gap does not count against a criterion.
    """
    shares_of: dict[tuple[str, str], list[CriterionProof]] = {}
    for one in evidence.criteria:
        if one.instance == inst or one.instance.startswith(f"{inst}/"):
            shares_of.setdefault((_word(one.spec or evidence.spec) or evidence.run, _word(one.id)), []).append(one)
    lines, trailers = ["Criteria:"], [f"{RUN}: {evidence.run}"]
    for (spec, id_), shares in shares_of.items():
        standings = {_standing_before_merge(one) for one in shares}
        standing = standings.pop() if len(standings) == 1 else "partial"
        tests = list(dict.fromkeys(test.id for one in shares for test in one.tests))
        words = "not verified" if standing == "none" else standing
        lines.append(f"- {id_} ({words}): {cut(one_line(shares[0].text), _LONGEST_TEXT)}".rstrip(": "))
        lines += [f"    {cut(one_line(test), _LONGEST_TEXT)}" for test in tests[:_NAMED_TESTS]]
        if len(tests) > _NAMED_TESTS:
            lines.append(f"    and {len(tests) - _NAMED_TESTS} more")
        if standing == "verified":
            trailers.append(f"{CRITERION}: {spec}/{id_}")
    parts = ["\n".join(lines)] if shares_of else []
    return (
        "\n\n".join([*parts, f"Evidence: treadle evidence {evidence.run}", "\n".join(dict.fromkeys(trailers))]) + "\n"
    )


def _standing_before_merge(one: CriterionProof) -> str:
    if one.tests and all(code == UNMERGED for code in one.codes):
        return "verified"
    return "accepted by a person" if one.waiver else one.standing


def _word(text: str) -> str:
    """An id without spaces: a trailer's value is one word."""
    return cut("-".join(one_line(text).split()), _LONGEST_TEXT)
