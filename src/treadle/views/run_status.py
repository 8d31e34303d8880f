"""The status of a run as all surfaces show it: `status`, `runs`, the live view, `say`, notifications and STATE.json.

`RunStatus` is the one model. `Status`, `RunLine` and `Rest` are its documents for programs; the functions at the end
print it for people. They yield raw lines, which may contain text of agents: the caller escapes control characters.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.prompts.question import Choice
from treadle.protocol.drawing.table import step_worker
from treadle.protocol.model import Protocol, find_step
from treadle.store.records import Run
from treadle.views.activity import TokenUsage, price, usage_of, who_of, worker_of
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence, Ruling, Tally
from treadle.views.evidence_text import counted_grades, score, standing
from treadle.views.outcomes import is_good
from treadle.views.questions import Yours, describe_question, question_lines, work_lines
from treadle.views.result import Result, advice_lines, result_lines
from treadle.views.status import (
    Ceilings,
    Condition,
    OpenActivity,
    Startable,
    Status,
    StatusInputs,
    Timer,
    condition,
    protocol_pin,
    startable_steps,
)
from treadle.views.tree import OUTAGE_WORDS, RANK, Branch, InstanceLine, Mood, Whom, forest, outage, tree
from treadle.views.words import count_words, duration, moment, plain, seconds


class RunStatus(Status, frozen=True, kw_only=True):
    """A run at a moment, with everything that a surface shows of it."""

    lines: tuple[InstanceLine, ...] = ()
    """Its tree of instances, line by line."""
    paused: tuple[str, ...] = ()
    """Instances that are paused."""
    agents: tuple[str, ...] = ()
    """Activities of programs, running or about to start."""
    due: str = ""
    """When the next timer decides something."""
    default_after: Mapping[str, int] = {}
    """Question → seconds until its default counts."""
    evidence: Evidence | None = None
    """Once it has ended."""

    @property
    def document(self) -> Status:
        """The document for programs."""
        return Status(**_shared(self, Status))


def _shared(source: msgspec.Struct, document: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the fields that a document takes over from its source as they are."""
    return {name: getattr(source, name) for name in document.__struct_fields__ if hasattr(source, name)}


def run_status(
    chronicle: Chronicle,
    inputs: StatusInputs,
    now: int,
    *,
    agents: tuple[str, ...] = (),
    due: int = 0,
    evidence: Evidence | None = None,
) -> RunStatus:
    """Build the status of a run at a moment; besides people, it waits for `agents` and `due`."""
    state, protocol = chronicle.state, chronicle.protocol
    end = state.now if state.outcome else max(now, state.now)
    yours = {work.id for work in inputs.yours}
    limits = protocol.limits if protocol else None
    lines = tree(protocol, state, yours) if protocol else []
    asked = [ask.command for _, ask in sorted(state.asks.items()) if ask.command is not None]
    return RunStatus(
        **_shared(inputs, RunStatus),
        protocol=protocol_pin(protocol, state),
        level=state.level,
        status=condition(protocol, state, yours),
        outcome=state.outcome,
        events=state.seq,
        began=moment(state.started),
        changed=moment(state.now),
        elapsed=seconds(state.started, end),
        instances=forest(chronicle, protocol, end, lines) if protocol else (),
        activities=tuple(_open_activity(chronicle, id_, end, yours) for id_ in sorted(state.acts)),
        questions=tuple(describe_question(chronicle, it.id, inputs.wordings.get(it.id, ""), end) for it in asked),
        starts=startable_steps(protocol, state) if protocol else (),
        timers=tuple(Timer(id=id_, due=moment(due)) for id_, due in sorted(state.timers.items()) if id_ not in yours),
        outage=outage(state, inputs.outage_message),
        usage=usage_of(state.usage),
        limits=Ceilings(
            cost=limits.cost * state.allowances,
            tokens=limits.tokens * state.allowances,
            wall=limits.wall,
            granted=state.allowances,
            instances=limits.instances,
            created=state.created,
            agents=limits.agents,
        )
        if limits
        else None,
        lines=tuple(lines),
        paused=tuple(it.id for it in sorted(state.insts.values(), key=lambda it: it.n) if it.live and it.paused),
        agents=agents,
        due=moment(due),
        default_after={
            it.id: protocol.graphs[it.graph].steps[it.step].default_after for it in asked if protocol and it.graph
        },
        evidence=evidence,
    )


def status_at(protocol: Protocol, state: State, now: int = 0, yours: tuple[Yours, ...] = ()) -> RunStatus:
    """Build the status of a run from its state alone, where reading the log would cost too much.

    It lacks the times and the facts from outside; only activities have their beginning.
    """
    return run_status(Chronicle.at(protocol, state), StatusInputs(run=state.run, yours=yours), now)


def _open_activity(chronicle: Chronicle, id_: str, now: int, yours: Collection[str]) -> OpenActivity:
    deed, state, protocol = chronicle.deeds[id_], chronicle.state, chronicle.protocol
    job, act = deed.command, state.acts[id_]
    role = f"{job.role}:{job.mode}" if isinstance(job, RunAgent) and job.mode else ""
    step = find_step(protocol, job.graph, job.step)
    due = 0 if job.id in yours else state.timers.get(job.id, 0)
    return OpenActivity(
        id=job.id,
        instance=job.inst,
        step=job.step,
        who=role or (step_worker(step) if step else ""),
        phase=act.phase,
        claim=act.claim.key if act.claim else "",
        attempt=job.attempt,
        retry=job.retry,
        nudges=act.nudges,
        began=moment(deed.began),
        elapsed=seconds(deed.began, now),
        due=moment(due),
        overdue=0 < due <= now,
    )


# The documents for programs.


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A run, without its history."""

    run: str
    name: str
    protocol: str
    status: Condition
    outcome: str
    driver: str
    """The driver; empty if none runs."""
    events: int
    activities: int
    questions: int
    began: str
    changed: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All runs, the latest first: `treadle runs --json`."""

    schema: Literal[1] = 1
    runs: tuple[RunEntry, ...]


def list_run(run: Run, protocol: str, driver: str, status: Condition) -> RunEntry:
    """Return a run with the data of its record and its status."""
    return RunEntry(
        run=run.id,
        name=run.name,
        protocol=protocol,
        status=status,
        outcome=run.outcome,
        driver=driver,
        events=run.seq,
        activities=run.acts,
        questions=run.asks,
        began=moment(run.created),
        changed=moment(run.changed),
    )


class RunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The position of an instance of a run."""

    instance: str
    step: str
    attempt: int
    attempts: int
    """How often the step may be tried."""
    status: Mood
    waits_for: Whom
    who: str
    """The role at work; empty if none is."""
    by: str
    """The person or agent at work."""
    text: str
    """Its work or the thing it waits for, in a few words."""
    elapsed: float


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in one line: its places, its usage, its verdict."""

    run: str
    name: str
    spec: str
    protocol: str
    status: Condition
    outcome: str
    driver: str
    """The process that drives it; empty: none does."""
    began: str
    changed: str
    elapsed: float
    places: tuple[RunPlace, ...] = ()
    """Where its instances stand, those first that a person should see first; none once it has ended."""
    usage: TokenUsage | None = None
    verdict: Ruling | None = None
    verified: int = 0
    proved: int = 0
    """Verified criteria of the grade `proved`."""
    observed: int = 0
    """Verified criteria of the grade `observed`."""
    own_word: int = 0
    """Verified criteria of the grade `word`."""
    waived: int = 0
    """Criteria that are not verified, and that a person let pass."""
    criteria: int = 0
    delivered: bool | None = None
    """Whether your branch has the result; null if there is none, or none yet."""
    result: Result | None = None
    problem: str = ""
    """Why the run cannot be read; then the fields above come from its record only."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a project with where they stand: `treadle status --json` without a run."""

    schema: Literal[1] = 1
    runs: tuple[RunLine, ...]
    """Every run that goes on and the latest that have ended, the latest first."""
    folded: int
    """Runs that have ended and are not among them; `treadle runs --json` lists all."""


COLUMNS: Final = ("Run", "Spec", "Protocol", "Step", "Attempt", "Who", "Time", "Cost", "Result")


def run_line(now: RunStatus, chronicle: Chronicle, proved: Evidence, agents: Mapping[str, str]) -> RunLine:
    """Build the line of a readable run; `agents` maps roles to the agents that the run was started with."""
    places = [place for branch in now.instances for place in _places(branch, chronicle, agents)]
    shared = _shared(now, RunLine) | {"protocol": now.protocol.name if now.protocol else ""}
    return RunLine(
        **shared,
        spec=proved.spec,
        places=tuple(sorted(places, key=lambda it: RANK[it.status])),
        verdict=proved.verdict,
        verified=proved.tally.verified,
        proved=proved.tally.proved,
        observed=proved.tally.observed,
        own_word=proved.tally.own_word,
        waived=proved.tally.waived,
        criteria=proved.tally.criteria,
        delivered=now.result.taken if now.result else None,
    )


def _places(branch: Branch, chronicle: Chronicle, agents: Mapping[str, str]) -> Iterator[RunPlace]:
    for at in branch.positions[:1]:
        deed = chronicle.deeds.get(at.id)
        who, by = (who_of(deed.command), worker_of(deed, agents)) if deed else ("", "")
        yield RunPlace(**_shared(at, RunPlace), instance=branch.id, who=who, by=by)
    for child in branch.children:
        yield from _places(child, chronicle, agents)


def run_row(run: RunLine) -> tuple[str, ...]:
    """Format a run as the cells of `COLUMNS`."""
    first = run.places[0] if run.places else None
    more = f" (+{len(run.places) - 1})" if len(run.places) > 1 else ""
    at = f"{first.step} of {first.instance}{more}" if first else ""
    usage = run.usage
    used = price(usage.cost, usage.unpriced) if usage and (usage.tokens_in or usage.tokens_out or usage.cost) else ""
    attempt = f"{first.attempt} of {first.attempts}" if first and first.attempts > 1 else ""
    return run.run, run.spec, run.protocol, at, attempt, _who(run, first), duration(run.elapsed), used, _result(run)


def _who(run: RunLine, first: RunPlace | None) -> str:
    """Name the worker of the foremost place, or the thing it waits for."""
    if run.outcome or run.problem:
        return ""
    idle = "" if run.driver or run.status in ("asks", "paused") else "; no driver"
    if first is None:
        return f"{run.status}{idle}"
    if first.status == "works" and first.by:
        return f"{first.by} works as {first.who}, {duration(first.elapsed)}{idle}"
    return f"{first.text}{idle}"


def _result(run: RunLine) -> str:
    if run.problem:
        return run.problem
    grades = counted_grades(run.proved, run.observed, run.own_word)
    shown = f"{run.verified} of {run.criteria} verified{grades}" if run.criteria else ""
    shown += f" and {run.waived} accepted by a person" if run.waived else ""
    delivered = {True: "delivered", False: "not delivered", None: ""}[run.delivered]
    return ", ".join(filter(None, (run.outcome, shown, delivered)))


# A run at rest, after its driver stopped: the output of commands that drive runs, for programs.


class RestQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question with everything that a person reads of it."""

    id: str
    title: str
    text: str
    choices: tuple[Choice, ...]
    default: str
    """The choice that counts without an answer; empty: none does."""
    default_after: int
    """Seconds after which that happens."""


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended, or that only a person, an agent or time can move: `treadle run --json`."""

    schema: Literal[1] = 1
    run: str
    outcome: str
    """How it ended; empty: it has not."""
    code: int
    """The exit code of the command, if this is the only run that it drives."""
    questions: tuple[RestQuestion, ...]
    starts: tuple[Startable, ...]
    yours: tuple[Yours, ...]
    """Activities with a person as the agent."""
    paused: tuple[str, ...]
    """Instances that were paused."""
    agents: tuple[str, ...]
    """Activities that programs are to do."""
    due: str
    """When the next timer decides something."""
    result: Result | None
    """None until the run has ended, and if it has changed nothing."""
    verdict: Ruling | Literal[""] = ""
    """Whether its criteria are verified; empty: it has not ended."""
    tally: Tally | None = None
    """Its criteria, counted by standing and by grade; None: it has not ended."""


def rest_document(now: RunStatus, code: int) -> Rest:
    """Build the document of a run that this process does not drive any more; `code` is the exit code."""
    questions = tuple(
        RestQuestion(**_shared(it, RestQuestion), default_after=now.default_after.get(it.id, 0)) for it in now.questions
    )
    shared = _shared(now, Rest) | {"questions": questions}
    proved = now.evidence
    verdict: Ruling | Literal[""] = proved.verdict if proved else ""
    return Rest(**shared, code=code, verdict=verdict, tally=proved.tally if proved else None)


# The lines for people.

_MOST_CRITERIA: Final = 12
"""Unverified criteria that are named; `treadle evidence` has all."""


def status_lines(now: RunStatus) -> Iterator[str]:
    """Format a run as `treadle status RUN` prints it: its tree, its next steps, and its usage."""
    yield heading(now)
    for branch in now.instances:
        yield from _branch_lines(branch, 1)
    yield from next_steps(now)


def heading(now: RunStatus) -> str:
    """Format a run in one line."""
    condition = f"ended: {now.outcome}" if now.outcome else now.status
    protocol = now.protocol.name if now.protocol else "no protocol yet"
    return f"{now.run} · {protocol} · {condition} · {count_words(now.events, 'event')} · {duration(now.elapsed)}"


def summary_line(now: RunStatus) -> str:
    """Format an unfinished run in one line, with the command that shows its questions."""
    asks = f"; `treadle status {shlex.quote(now.run)}` shows what you can do" if now.status == "asks" else ""
    return f"{heading(now)}{asks}; {_driver_line(now)}"


def _branch_lines(branch: Branch, depth: int) -> Iterator[str]:
    space = "  " * depth
    if not branch.positions:
        yield f"{space}{branch.name}: {branch.text or branch.status} ({duration(branch.elapsed)})"
    for place, at in enumerate(branch.positions):
        name = branch.name if place == 0 else "┊"
        signal = f" on {at.signal}" if at.signal else ""
        since = f" ({duration(at.elapsed)})" if at.id else ""
        yield f"{space}{name}: {at.step}{signal} · {at.text}{since}"
    for child in branch.children:
        yield from _branch_lines(child, depth + 1)


def next_steps(now: RunStatus) -> Iterator[str]:
    """Format everything below the tree: requests to people with their commands, the result, the usage, the driver."""
    run = shlex.quote(now.run)
    yield from _question_lines(now)
    if now.outage and now.outage.until:
        words = f" ({now.outage.said})" if now.outage.said else ""
        yield f"an agent is held up: {OUTAGE_WORDS[now.outage.why]}{words}; no attempt is lost"
        yield f"  it continues by itself at {plain(now.outage.until)}; to try at once: treadle resume {run}"
    yield from _request_lines(now)
    if tally := tally_line(now):
        yield tally
    yield from _unverified_lines(now)
    yield from _result_lines(now)

    used, limits = now.usage, now.limits
    if used.tokens_in or used.tokens_out or used.cost:
        cached = f" ({used.cached:,} from the cache)" if used.cached else ""
        tokens = f" of {limits.tokens:,}" if limits and limits.tokens else ""
        cost = f"{price(used.cost, used.unpriced)}" + (f" of {limits.cost:.2f}" if limits and limits.cost else "")
        yield f"used: {used.tokens_in:,} tokens in{cached}, {used.tokens_out:,} out{tokens}, cost {cost}"
    yield from (f"a notification failed: {why}" for why in now.untold)
    yield from now.edited
    if now.strays:
        count = count_words(now.strays, "answer or message", "answers or messages")
        yield f"{count} ignored; `treadle evidence {run}` lists them"
    if not now.outcome:
        yield _driver_line(now)


def rest_lines(now: RunStatus) -> Iterator[str]:
    """Format a run as a command prints it that has moved it: its end, or whole questions and everything that moves it
    on.
    """
    run = shlex.quote(now.run)
    if now.outcome:
        tally = tally_line(now)
        yield f"{now.run} has ended with {now.outcome}{f': {tally}' if tally else ''}"
        yield from _unverified_lines(now)
        yield from _result_lines(now)
        return
    yield from _question_lines(now, whole=True)
    yield from _request_lines(now)
    yield from (f"{inst} is paused; `treadle resume {run}` continues" for inst in now.paused)
    if now.agents:
        yield f"an agent is next ({', '.join(now.agents)}); `treadle resume {run}` starts it"
    elif now.questions or now.starts or now.yours or now.paused:
        return
    elif now.outage and now.outage.until:
        why = f"{OUTAGE_WORDS[now.outage.why]}; continues at {plain(now.outage.until)}"
        yield f"an agent is held up, {why}; `treadle resume {run}` tries at once"
    elif now.due:
        yield f"the run waits for a deadline; `treadle resume {run}` waits for it"
    else:
        yield f"{now.run} has nothing to do at the moment; see `treadle status {run}`"


def _question_lines(now: RunStatus, *, whole: bool = False) -> Iterator[str]:
    for asked in now.questions:
        yield from question_lines(now.run, asked, alone=len(now.questions) == 1, whole=whole)


def _request_lines(now: RunStatus) -> Iterator[str]:
    """Format the steps that wait for a go and the work of people, with their commands; without a driver `go` needs
    `--resume`.
    """
    for start in now.starts:
        words = ["treadle", "go", now.run, start.step, *(["--at", start.instance] if len(now.starts) > 1 else [])]
        yield f"{start.step} of {start.instance} waits for your go{f': {start.title}' if start.title else ''}"
        yield f"  {shlex.join(words if now.driver else [*words, '--resume'])}"
    for work in now.yours:
        yield from work_lines(now.run, work, alone=len(now.yours) == 1)


def tally_line(now: RunStatus) -> str:
    """Format how many criteria of an ended run are verified, and how the rest stand; empty if it has none."""
    if now.evidence is None or now.evidence.verdict == "empty":
        return ""
    rest = {
        "accepted": "; a person accepted the rest",
        "unverified": f"; see `treadle evidence {shlex.quote(now.run)}`",
    }
    return f"{score(now.evidence)}{rest.get(now.evidence.verdict, '')}"


def _unverified_lines(now: RunStatus) -> Iterator[str]:
    """Name the criteria of an ended run that are not verified, each with its first gap."""
    shares = [one for one in now.evidence.criteria if one.standing != "verified"] if now.evidence else []
    # A criterion that several instances share is named once, by the first share with a gap.
    first = list({(one.spec, one.id): one for one in reversed(shares)}.values())[::-1]
    for one in first[:_MOST_CRITERIA]:
        name = f"{one.spec}/{one.id}" if one.spec else one.id
        why = "; a person accepted it" if one.waiver else f": {one.missing[0]}" if one.missing else ""
        yield f"  {name} {standing(one)}{why}"
    if len(first) > _MOST_CRITERIA:
        yield f"  and {count_words(len(first) - _MOST_CRITERIA, 'more criterion', 'more criteria')}"


def _result_lines(now: RunStatus) -> Iterator[str]:
    yield from advice_lines(now.run, now.advice)
    if now.result:
        yield from result_lines(now.run, now.result, good=is_good(now.outcome))


def _driver_line(now: RunStatus) -> str:
    """Name the driver of a run, or the command that resumes it."""
    resume = f"`treadle resume {shlex.quote(now.run)}`"
    if now.driver:
        return f"driven by {now.driver}"
    if now.status == "paused":
        return f"paused; {resume} ends the pause and continues"
    if now.status == "asks":
        return f"no process drives this run; {resume} continues after your answer"
    late = "".join(f", and {it.id} timed out at {plain(it.due)}" for it in now.activities if it.overdue)
    return f"no process drives this run{late}; {resume} continues"
