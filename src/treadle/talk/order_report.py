"""A story's work order (STATE.json) as a message."""

from collections.abc import Iterator

from treadle.talk.intent import Action
from treadle.views.counting import counted
from treadle.views.state import DONE, WorkOrder


def order_report(order: WorkOrder, action: Action) -> str:
    """What a person is told of a story after an action."""
    told = " ".join(_told(order))
    if action == "stop":
        return f'OK. {told} Say "continue {order.project}" to resume.'
    return told if action in ("status", "help") else f"Received. {told}"


def _told(order: WorkOrder) -> Iterator[str]:
    place = " ".join(part for part in (order.story or order.project, order.step) if part)
    tried = f" (attempt {order.attempt} of {order.max_attempts})" if order.attempt > 1 else ""
    if order.blocked_by:
        yield f"{order.story} waits for {', '.join(order.blocked_by)}."
        return
    if order.step == DONE:
        yield f"{order.story} all complete ✓"
    else:
        yield _standing(order, place, tried)
    if order.tests is not None:
        count, passed = order.tests.passed + order.tests.failed, order.tests.passed
        yield f"All tests pass ({passed}/{count})." if passed == count else f"{passed} of {count} tests pass."
    if order.failing_tests:
        more = f" and {len(order.failing_tests) - 3} more" if len(order.failing_tests) > 3 else ""
        yield f"Failing: {', '.join(order.failing_tests[:3])}{more}."
    if order.lint_pass is False:
        yield "The post-check fails."


def _standing(order: WorkOrder, place: str, tried: str) -> str:
    why = f" ({order.reason})" if order.reason else ""
    match order.status:
        case "running":
            return f"{place} is at work{tried}."
        case "pass":
            return f"{place} complete ✓"
        case "failing":
            return f"{place} fails{why}{tried}."
        case "needs_human":
            return f"{place} needs you{why}."
        case "timeout":
            return f"{place} timed out ({counted(order.timeout_min, 'minute')})."
    return f"{place} is next{tried}."
