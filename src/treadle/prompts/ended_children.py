"""What became of the children of a map, for those who read its result."""

from collections.abc import Callable

from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.protocol.items import Item, Json, Routed

Words = Callable[[Json], Json]
"""What a report says to whoever reads it."""


def ended_children(state: State, inst: Instance, step: str, results: Routed, payloads: Payloads, words: Words) -> Json:
    """Each child with its key, its instance, its outcome, the exit that it left by last, the commit that its
    last work was recorded as, and what was said.
    """
    group = inst.groups.get(step)
    members = group.members if group else {}
    found = [item for item in results if isinstance(item, Item)] if isinstance(results, tuple) else []
    return [_child(state.insts.get(members.get(item.key, "")), item, payloads, words) for item in found]


def _child(child: Instance | None, item: Item, payloads: Payloads, words: Words) -> Json:
    return {
        "key": item.key,
        "instance": child.id if child else "",
        "outcome": child.outcome if child else "",
        "left": _left(child) if child else "",
        "commit": _commit(child, item, payloads) if child else "",
        "said": words(payloads.get(item.ref)) if item.ref else {},
    }


def _left(child: Instance) -> str:
    """`green.TI`, `impl.!gate`: the slot that was written when the child ended; none if somebody ended it."""
    return next((name for name, slot in child.slots.items() if slot.seq == child.result.seq), "")


def _commit(child: Instance, item: Item, payloads: Payloads) -> str:
    """Of work that was refused, what the checks had looked at; else what was accepted last."""
    slots = sorted(child.slots.values(), key=lambda slot: -slot.seq)
    found = [_recorded(ref, payloads) for ref in (item.ref, *(slot.ref for slot in slots)) if ref]
    return next((commit for commit in found if commit), "")


def _recorded(ref: str, payloads: Payloads) -> str:
    value = payloads.get(ref)
    if not isinstance(value, dict):
        return ""
    checks = value.get("checks")
    for check in checks if isinstance(checks, list) else []:
        report = check.get("report") if isinstance(check, dict) else None
        if isinstance(report, str) and report and (found := _recorded(report, payloads)):
            return found
    commit = value.get("commit")
    return commit if isinstance(commit, str) else ""
