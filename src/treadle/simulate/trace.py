"""Events as short lines that a person can follow."""

from treadle.kernel.events import (
    Checked,
    Event,
    Exited,
    Failed,
    Idle,
    Reopened,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Vouched,
)
from treadle.protocol.items import Item, Routed


def describe(event: Event) -> str:
    """One line: who, what."""
    match event:
        case RunStarted():
            return f"the run starts{_fields(event.input.fields)}"
        case SessionStarted():
            return f"{event.act} has a session"
        case Exited():
            return f"{event.act} exits {event.envelope.key}{_fields(event.envelope.fields)}"
        case Checked():
            failed = " ".join(result.check for result in event.results if not result.ok)
            return f"{event.act} is checked: {failed + ' failed' if failed else 'passed'}{_fields(event.derived)}"
        case Failed():
            return f"{event.act} fails: {event.why}"
        case Unavailable():
            return f"{event.act} is held up: {event.why}"
        case TimerFired():
            return f"timer {event.timer} fires"
        case Idle():
            return f"{event.act} is idle"
        case Replied():
            return f"a person answers {event.ask}: {event.choice}"
        case Signalled():
            return f"a person sends {event.name} {event.step} to {event.inst}".replace("  ", " ")
        case Vouched():
            return "a person accepts the result as it is"
        case Reopened():
            return "a person takes the run up again"
    return f"the run moves to protocol {event.protocol}"


def _fields(fields: dict[str, Routed]) -> str:
    shown = [f"{name}={_value(value)}" for name, value in sorted(fields.items())]
    return f" ({', '.join(shown)})" if shown else ""


def _value(value: Routed) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return "[" + " ".join(part.key if isinstance(part, Item) else part for part in value) + "]"
