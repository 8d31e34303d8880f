"""The questions to a person that a step rules table stands for, and the routes of their answers."""

from collections.abc import Mapping
from typing import Any, Final

from treadle.protocol.rules.table import StepRule

ABORT: Final = "@end:Aborted"
_GIVE_UP: Final = {"abort": "give the story up"}
_GIVEN_UP: Final = {"abort": ABORT}
_AGAIN: Final = "do the step again, with your note"


def review(rule: StepRule, onward: Any, choices: Mapping[str, str], routes: Mapping[str, Any]) -> dict[str, Any]:
    """A row that a person does: approve, or one of the rejections."""
    return {
        **rule.copied,
        "row": rule.name,
        "ask": "human",
        "needs": rule.needs,
        "remind": f"{rule.minutes}m",
        "choices": {"approve": f"go on to {rule.passes.value}", **choices, **_GIVE_UP},
        "routes": {"approve": onward, **routes, **_GIVEN_UP},
    }


def confirmation(rule: StepRule, step: str, choices: Mapping[str, str], routes: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a step may begin."""
    return {
        "title": f"{_title(rule)}: may it begin?",
        "row": rule.name,
        "ask": "human",
        "choices": {"approve": "let it begin", **choices, **_GIVE_UP},
        "routes": {"approve": step, **routes, **_GIVEN_UP},
    }


def sent_back(rule: StepRule, ways: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question about a row that was sent back too often."""
    return {
        "title": f"{_title(rule)}: sent back too often",
        "row": rule.name,
        "ask": "human",
        "choices": {
            **{step: f"back to {step} once more, with your note" for step in ways},
            "retry": f"do {rule.name} again, with your note",
            **_GIVE_UP,
        },
        "routes": {**ways, "retry": rule.name, **_GIVEN_UP},
    }


def stuck() -> dict[str, Any]:
    """Return the question about a step that cannot go on."""
    return {
        "title": "Stuck",
        "ask": "human",
        "needs": ["!*?"],
        "choices": {"retry": _AGAIN, **_GIVE_UP},
        "routes": {"retry": "@back", **_GIVEN_UP},
    }


def skippable(rule: StepRule, onward: Any) -> dict[str, Any]:
    """The same of a row that may be left out (A25)."""
    return {
        **stuck(),
        "row": rule.name,
        "skippable": True,
        "choices": {"retry": _AGAIN, "skip": f"go on to {rule.passes.value} without it", **_GIVE_UP},
        "routes": {"retry": rule.name, "skip": onward, **_GIVEN_UP},
    }


def _title(rule: StepRule) -> str:
    return str(rule.copied["title"].value) if "title" in rule.copied else rule.name
