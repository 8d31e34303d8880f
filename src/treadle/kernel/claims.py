"""An exit is a claim: taken, verified, and then accepted, or turned into a system exit (R2, R3, R17)."""

import msgspec

from treadle.kernel.advance import is_out
from treadle.kernel.commands import ActivityCommand, RunAgent, RunChecks
from treadle.kernel.events import Checked, CheckResult, Envelope, Exited, Failed, SessionStarted
from treadle.kernel.limits import use
from treadle.kernel.routing import choose, follow, leave, spawn_refused
from treadle.kernel.state import Activity, Frame, Instance, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.model import system_keys, tag_of


def session_started(t: Turn, e: SessionStarted) -> bool:
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    t.edit(act.command.inst).threads[act.command.step] = e.session
    t.put_activity(msgspec.structs.replace(act, session=e.session))
    return True


def exited(t: Turn, e: Exited) -> bool:
    """R2: take a claim; verify it if there is anything to check or to compute."""
    act = t.activity(e.act, "running")
    if act is None:
        return False
    use(t, e.usage)
    if isinstance(act.command, RunAgent) and not is_out(t):
        t.outage = None
    command = act.command
    known = t.protocol.routing_keys[command.graph][command.step]
    if e.envelope.key not in known:
        fail(t, act, "!invalid", e.envelope.payload_ref)
        return True
    t.cancel_timer(e.act)
    checks = t.protocol.duties[command.graph][command.step].get(e.envelope.key)
    if checks is None:
        _accept(t, act, e.envelope)
    else:
        act = msgspec.structs.replace(act, phase="verifying", claim=e.envelope, checks=checks)
        t.put_activity(act)
        t.commands.append(open_job(act))
    return True


def checked(t: Turn, e: Checked) -> bool:
    """R3: accept what the checks bear out; anything that did not run or did not pass refuses."""
    act = t.activity(e.act, "verifying")
    if act is None:
        return False
    inst = t.edit(act.command.inst)
    if e.fingerprint:
        seen = (*inst.failures.get(act.command.step, ("", 0))[0].splitlines(), e.fingerprint)
        inst.failures[act.command.step] = ("\n".join(seen), seen.count(e.fingerprint))
    failed = _failed_checks(act, e.results)
    skipped = {result.check for result in e.results if result.skipped}
    refusing = [name for name in failed if name not in skipped]
    if act.claim is None:
        key = _refined(t, act, "Failed", refusing) if failed else "Passed"
        _accept(t, act, Envelope(key, payload_ref=e.payload_ref))
    elif failed:
        reports = {result.check: result.report_ref for result in e.results}
        fail(t, act, _refined(t, act, "!gate", refusing), e.payload_ref or reports.get(failed[0], ""))
    else:
        fields = {**act.claim.fields, **e.derived}
        ref = e.payload_ref or act.claim.payload_ref
        _accept(t, act, msgspec.structs.replace(act.claim, fields=fields, payload_ref=ref))
    return True


def _failed_checks(act: Activity, results: tuple[CheckResult, ...]) -> list[str]:
    passed = {result.check for result in results if result.ok} - {result.check for result in results if not result.ok}
    return [check.name for check in act.checks if not check.advisory and check.name not in passed]


def _refined(t: Turn, act: Activity, tag: str, failed: list[str]) -> str:
    """`!gate.<check>` for the first failed check that has a row of its own."""
    graph = t.protocol.graphs[act.command.graph]
    routes = graph.steps[act.command.step].routes
    return next((key for name in failed if (key := f"{tag}.{name}") in routes or key in graph.system), tag)


def _accept(t: Turn, act: Activity, envelope: Envelope) -> None:
    inst, frame = _position(t, act)
    slot = Slot(envelope.payload_ref, envelope.fields, t.seq)
    route = choose(t, inst, frame, envelope.key, slot)
    refused = spawn_refused(t, inst, route, slot)
    if refused:
        fail(t, act, "!gate", f"text:{refused}")
        return
    t.end_activity(act)
    frame.status, frame.id = "queued", ""
    if act.command.inputs.get("human_note") == (frame.note_ref,) and route.to != frame.step:
        frame.note_ref = ""
    follow(t, inst, frame, envelope.key, slot, route)


def fail(t: Turn, act: Activity, key: str, ref: str) -> None:
    """Leave by a system exit; one that the table of this kind of step does not have is a fault of ours: `!crash`."""
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
    """R17: an activity that its runner lost is issued again a few times; other failures are system exits."""
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    use(t, e.usage)
    if e.why == "crash" and act.losses < t.protocol.limits.infra_retries:
        command = msgspec.structs.replace(act.command, retry=act.command.retry + 1)
        act = msgspec.structs.replace(act, command=command, losses=act.losses + 1)
        t.put_activity(act)
        t.commands.append(open_job(act))
    else:
        fail(t, act, f"!{e.why}", e.detail_ref)
    return True


def open_job(act: Activity) -> ActivityCommand:
    """The command that an activity is waiting for."""
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
