"""Fields of an exit that the orchestrator knows by itself (`by: kernel`): it counts attempts, it knows who works."""

from collections.abc import Callable
from typing import Final, NamedTuple

from treadle.kernel.commands import ActivityCommand
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol


class _Known(NamedTuple):
    protocol: Protocol
    exit: str
    job: ActivityCommand
    state: State
    payloads: Payloads


def own_fields(
    protocol: Protocol, exit_: str, job: ActivityCommand, state: State, payloads: Payloads
) -> dict[str, Json]:
    """The values of an exit's own fields; one that is not in the table stays empty."""
    known = _Known(protocol, exit_, job, state, payloads)
    names = [name for name, field in protocol.exits[exit_].fields.items() if field.by == "kernel"]
    return {name: OWN_FIELDS[name](known) for name in names if name in OWN_FIELDS}


def _attempt(known: _Known) -> Json:
    return known.job.attempt


def _author(known: _Known) -> Json:
    inst = known.state.insts.get(known.job.inst)
    return inst.key if inst and inst.key else known.job.inst


def _status(known: _Known) -> Json:
    return "pass" if known.protocol.exits[known.exit].severity == "INFO" else "failing"


def _report(known: _Known) -> Json:
    refs = known.job.inputs.get("gate_report", ())
    value = known.payloads.get(refs[0]) if refs else ""
    said = value.get("report", "") if isinstance(value, dict) else value
    return said if isinstance(said, str) else ""


def _history(known: _Known) -> Json:
    """What the step has tried and how that ended, oldest first: its own exits that led back to it."""
    inst = known.state.insts.get(known.job.inst)
    if inst is None:
        return []
    own = [refs for slot, refs in inst.history.items() if slot.startswith(f"{known.job.step}.")]
    tried = [known.payloads.get(ref) for refs in own for ref in refs]
    return [
        {
            "approach": str(one.get("strategyFrom") or one.get("approach") or ""),
            "outcome": str(one.get("diagnosis", "")),
        }
        for one in tried
        if isinstance(one, dict)
    ]


OWN_FIELDS: Final[dict[str, Callable[[_Known], Json]]] = {
    "iterations": _attempt,
    "attempts": _attempt,
    "attemptHistory": _history,
    "author": _author,
    "task_id": _author,
    "status": _status,
    "report": _report,
}
