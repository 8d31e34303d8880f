"""Running activities, from start to exit.

An exit is a claim: the checks verify it, then the kernel accepts it or turns it into a system exit (R2, R3, R17). Usage
counts towards the limits of the run (R19). The agent's service may have an outage (R21), and a deadline may pass (R16).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from treadle.kernel.advance import LIMIT_ASK, OUTAGE, is_out
from treadle.kernel.commands import ActivityCommand, AskHuman, Cancel, Inputs, Nudge, RunAgent, RunChecks
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Exited,
    Failed,
    Idle,
    SessionStarted,
    TimerFired,
    Unavailable,
    Usage,
)
from treadle.kernel.instances import ROOT, spawn_refusal
from treadle.kernel.mailbox import preempt, reply
from treadle.kernel.routing import choose, follow, leave
from treadle.kernel.state import Activity, Ask, Frame, Instance, Outage, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.model import CheckRef, system_keys, tag_of

# Limits on a run's cost, tokens and time (R19). Beyond one of them the kernel asks a person, and starts nothing while
# the question is open.


def add_usage(t: Turn, usage: Usage) -> None:
    """Add up the usage; beyond a limit, ask a person before anything else starts (R19)."""
    if usage == Usage():
        return
    t.usage = t.usage.plus(usage)
    limits, tokens = t.protocol.limits, t.usage.tokens_in + t.usage.tokens_out
    if limits.cost and t.usage.cost >= limits.cost * t.allowances:
        open_limit(t, "cost")
    elif limits.tokens and tokens >= limits.tokens * t.allowances:
        open_limit(t, "tokens")


def open_limit(t: Turn, what: str) -> None:
    if LIMIT_ASK not in t.asks:
        _ask_whether_to_continue(t, LIMIT_ASK, what, {})


def _ask_whether_to_continue(t: Turn, id_: str, what: str, inputs: Inputs) -> None:
    """Ask a person a question of the kernel's own: about a limit (R19), or about an outage (R21)."""
    question = AskHuman(id=id_, inst=ROOT, graph="", step=what, choices=("continue", "abort"), inputs=inputs)
    t.put_ask(id_, Ask(ROOT, what, question))
    t.commands.append(question)


def session_started(t: Turn, e: SessionStarted) -> bool:
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    t.edit(act.command.inst).threads[act.command.step] = e.session
    t.put_activity(msgspec.structs.replace(act, session=e.session))
    return True


def exited(t: Turn, e: Exited) -> bool:
    """R2: receive a claim, and verify it if there is anything to check or to compute."""
    act = t.activity(e.act, "running")
    if act is None:
        return False
    add_usage(t, e.usage)
    # The service works again, so the next outage begins with the shortest wait. While an outage lasts, agents that it
    # has not met still answer; they must not reset the count.
    if isinstance(act.command, RunAgent) and not is_out(t):
        t.outage = None
    command = act.command
    known = t.protocol.routing_keys[command.graph][command.step]
    if e.envelope.key not in known:
        fail(t, act, "!invalid", e.envelope.payload_ref)
        return True
    t.cancel_timer(e.act)
    # None: nothing to verify. Empty: no checks, but Treadle computes a field of the exit.
    checks = t.protocol.checks_of_exit[command.graph][command.step].get(e.envelope.key)
    if checks is None:
        _accept(t, act, e.envelope)
    else:
        act = msgspec.structs.replace(act, phase="verifying", claim=e.envelope, checks=checks)
        t.put_activity(act)
        t.commands.append(open_job(act))
    return True


def checked(t: Turn, e: Checked) -> bool:
    """R3: accept a claim if all its checks ran and passed; a failed or missing check refuses it."""
    act = t.activity(e.act, "verifying")
    if act is None:
        return False
    inst = t.edit(act.command.inst)
    if e.fingerprint:
        seen = (*inst.failures.get(act.command.step, ("", 0))[0].splitlines(), e.fingerprint)
        inst.failures[act.command.step] = ("\n".join(seen), seen.count(e.fingerprint))

    bad = failed_checks(act.checks, e.results)
    # A skipped check refuses the claim too, but never chooses the row `!gate.<check>`.
    skipped = [result for result in e.results if result.skipped]
    refusing = [check.name for check in bad if not any(result.is_of(check) for result in skipped)]

    if act.claim is None:
        # A check step has no claim; it leaves by `Passed` or `Failed`.
        key = _key_of_failed_check(t, act, "Failed", refusing) if bad else "Passed"
        _accept(t, act, Envelope(key, payload_ref=e.payload_ref))
    elif bad:
        reports = [result.report_ref for result in e.results if result.is_of(bad[0])]
        fail(t, act, _key_of_failed_check(t, act, "!gate", refusing), e.payload_ref or (reports[-1] if reports else ""))
    else:
        fields = {**act.claim.fields, **e.derived}
        ref = e.payload_ref or act.claim.payload_ref
        _accept(t, act, msgspec.structs.replace(act.claim, fields=fields, payload_ref=ref))
    return True


def failed_checks(checks: Sequence[CheckRef], results: Sequence[CheckResult]) -> list[CheckRef]:
    """Return the checks that refuse a claim; advisory ones never do.

    A check has passed if it has a good result and no bad one; a check without a result has failed. This is the one rule
    of acceptance: the verifier of claims and the runtime ask it before the kernel does.
    """

    def has_passed(check: CheckRef) -> bool:
        own = [result.ok for result in results if result.is_of(check)]
        return bool(own) and all(own)

    return [check for check in checks if not check.advisory and not has_passed(check)]


def _key_of_failed_check(t: Turn, act: Activity, tag: str, failed: list[str]) -> str:
    """Return `<tag>.<check>`, such as `!gate.red`, for the first failed check with a row of its own; else the tag."""
    graph = t.protocol.graphs[act.command.graph]
    routes = graph.steps[act.command.step].routes
    return next((key for name in failed if (key := f"{tag}.{name}") in routes or key in graph.system), tag)


def _accept(t: Turn, act: Activity, envelope: Envelope) -> None:
    """Accept an exit: end its activity, and record and route the exit.

    The next step starts in the same turn, unless it has to wait: `_position` edits the instance, and `settle`
    (`reduce`) advances every instance that was edited.
    """
    inst, frame = _position(t, act)
    slot = Slot(envelope.payload_ref, envelope.fields, t.seq)
    # Choose the row before recording anything: a spawn beyond the limits turns the exit into `!gate`, and a refused
    # exit must have no slot.
    route = choose(t, inst, frame, envelope.key, slot)
    if refused := spawn_refusal(t, inst, route, slot):
        fail(t, act, "!gate", f"text:{refused}")
        return
    t.end_activity(act)
    frame.status, frame.id = "queued", ""
    # Accepted work that saw a person's note has served it; a note that came meanwhile stays.
    if act.command.inputs.get("human_note") == (frame.note_ref,) and route.to != frame.step:
        frame.note_ref = ""
    follow(t, inst, frame, envelope.key, slot, route)


def fail(t: Turn, act: Activity, key: str, ref: str) -> None:
    """Leave by a system exit; `!crash` replaces one that this kind of step cannot have, as that is a bug in Treadle."""
    inst, frame = _position(t, act)
    if tag_of(key) not in system_keys(t.step(inst, frame)):
        key = "!crash"
    t.end_activity(act)
    frame.status, frame.id = "queued", ""
    leave(t, inst, frame, key, Slot(ref, {}, t.seq))


def _position(t: Turn, act: Activity) -> tuple[Instance, Frame]:
    inst = t.edit(act.command.inst)
    return inst, next(frame for frame in inst.frames if frame.id == act.command.id)


def failed(t: Turn, e: Failed) -> bool:
    """R17: issue an activity again that its runner lost, a few times; other failures are system exits."""
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    add_usage(t, e.usage)
    if e.why == "crash" and act.losses < t.protocol.limits.infra_retries:
        command = msgspec.structs.replace(act.command, retry=act.command.retry + 1)
        act = msgspec.structs.replace(act, command=command, losses=act.losses + 1)
        t.put_activity(act)
        t.commands.append(open_job(act))
    else:
        fail(t, act, f"!{e.why}", e.detail_ref)
    return True


def open_job(act: Activity) -> ActivityCommand:
    """Return the open command of an activity: its own, or the checks of its claim."""
    job = act.command
    if act.phase == "running" or act.claim is None:
        return job
    return RunChecks(
        id=job.id,
        inst=job.inst,
        graph=job.graph,
        step=job.step,
        visit=job.visit,
        attempt=job.attempt,
        inputs=job.inputs,
        retry=job.retry,
        checks=act.checks,
        exit=act.claim.key,
        payload_ref=act.claim.payload_ref,
    )


# Outages of an agent's service (R21): the run waits for a time or for a person, and no attempt is charged.
#
# The activities that met the outage are suspended (phase `held`) with their attempt, pools and conversation, and
# issued again when it is over. Meanwhile nothing else starts, as it would meet the same outage. Running activities
# continue.

FIRST_WAIT: Final = 30
LONGEST_WAIT: Final = 3600
_FOR_PEOPLE: Final = ("billing", "login")


def unavailable(t: Turn, e: Unavailable) -> bool:
    """Suspend an activity at no cost to it, until the time that its service names or until a person has fixed the
    problem.
    """
    act = t.activity(e.act, "running")
    if act is None:
        return False
    add_usage(t, e.usage)
    t.cancel_timer(e.act)
    command = msgspec.structs.replace(act.command, retry=act.command.retry + 1)
    t.put_activity(msgspec.structs.replace(act, command=command, phase="held", grant=e.grant))
    known = t.outage.count if t.outage else 0
    count = known if is_out(t) else known + 1  # agents side by side meet one outage
    t.outage = Outage(e.why, e.detail_ref, count)

    if e.why in _FOR_PEOPLE or e.grant:
        t.cancel_timer(OUTAGE)  # waiting alone would not end it
        if OUTAGE not in t.asks:
            _ask_whether_to_continue(t, OUTAGE, e.why, {"gate_report": (e.detail_ref,)} if e.detail_ref else {})
    elif OUTAGE not in t.asks:
        # Doubled from one outage to the next, unless the service names a time. Of several, the latest time counts.
        seconds = e.wait or min(FIRST_WAIT << min(count - 1, 10), LONGEST_WAIT)
        if t.timers.get(OUTAGE, 0) < t.now + seconds * 1000:
            t.set_timer(OUTAGE, seconds)
            t.notify(ROOT, "outage", f"an agent is held up ({e.why})")
    return True


def go_on(t: Turn) -> None:
    """End the outage: suspended activities start again, unless something else stops them.

    Without an outage this changes nothing, so `resume` may always call it.
    """
    t.cancel_timer(OUTAGE)
    t.end_ask(OUTAGE)
    granted = [act for _, act in sorted(t.acts.items()) if act.grant]
    for grant in sorted({act.grant for act in granted}):
        t.grants = t.grants.set(grant, t.grants.get(grant, 0) + 1)
    for act in granted:
        t.put_activity(msgspec.structs.replace(act, grant=""))
    t.touch_everyone()


# Time enters as events: deadlines, reminders, default answers, grace periods, silence (R16).

DEADLINE: Final = "the deadline has passed"


def timer_fired(t: Turn, e: TimerFired) -> bool:
    """R16: apply a deadline, a reminder, a default answer, the end of a grace period, or the run's time limit."""
    if e.timer not in t.timers:
        return False
    t.timers = t.timers.delete(e.timer)
    id_, _, what = e.timer.rpartition("!")
    if act := t.activity(e.timer, "running", "verifying"):
        t.commands.append(Cancel(id=e.timer, why="timeout"))
        fail(t, act, "!timeout", e.detail_ref or f"text:{DEADLINE}")
    elif e.timer == OUTAGE:
        go_on(t)
    elif what == "wall":
        open_limit(t, "wall")
    elif what.startswith("preempt:"):
        preempt(t, t.edit(id_), what.removeprefix("preempt:"))
    else:
        ask = t.asks[id_]
        inst = t.edit(ask.inst)
        step = t.graph(inst).steps[ask.step]
        if what == "default":
            reply(t, id_, step.default, Slot("text:decided by time", {}, t.seq))
        else:
            t.notify(inst.id, "reminder", id_)
            t.set_timer(f"{id_}!remind", step.remind)
    return True


def idle(t: Turn, e: Idle) -> bool:
    """R16: remind a silent agent, as often as its step allows."""
    act = t.activity(e.act, "running")
    if act is None:
        return False
    step = t.protocol.graphs[act.command.graph].steps[act.command.step]
    if act.nudges >= step.nudges:
        return False
    t.put_activity(msgspec.structs.replace(act, nudges=act.nudges + 1))
    t.commands.append(Nudge(id=e.act, count=act.nudges + 1))
    return True
