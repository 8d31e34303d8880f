"""Planted fresh starts that are the old start again."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, needs, put, said, to
from treadle.protocol.model import Action, Protocol, ResetThread, Thread, Tier


def _lost(*do: Action) -> Protocol:
    """A fixer who continues the conversation of who reproduced the bug, and starts over when lost."""
    protocol = change(
        bugfix(),
        "graphs.main.steps.fix",
        needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?"),
        thread=Thread(kind="resume", step="repro"),
    )
    return put(protocol, "graphs.main.steps.fix.routes", "Stuck.Lost", to("fix", *do, fresh=True, charge="rounds"))


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(
            (),
            [
                (
                    "17 main.fix: Stuck.Lost starts afresh with everything as it was (add `do: [{tier: 1}]` or a "
                    "`reset_thread`)"
                )
            ],
            id="as_before",
        ),
        pytest.param(
            (ResetThread(),),
            [
                (
                    "17 main.fix: Stuck.Lost starts afresh, but goes on with the conversation of 'repro' (add "
                    "`reset_thread: repro`)"
                )
            ],
            id="in_a_conversation_that_is_continued",
        ),
        pytest.param((ResetThread(), ResetThread(step="repro")), [], id="with_both_conversations_forgotten"),
        pytest.param((Tier(),), [], id="with_a_stronger_model"),
    ],
)
def test_a_fresh_start(do: tuple[Action, ...], expected: list[str]) -> None:
    assert said(_lost(*do), 17) == expected


def test_one_attempt_is_not_tried_again() -> None:
    rows = {"Passed": to("@end:Done"), "Failed": to("suite")}
    suite = change(batch(), "graphs.main.steps.suite", routes=rows)
    suite = change(suite, "graphs.main.steps.halt", needs=needs("cycles.SomeFailed?", "!*?"))
    assert said(suite) == ["17 main.suite: Failed tries again, but there is only one attempt (allow more `attempts`)"]
    assert said(change(suite, "graphs.main.steps.suite", attempts=3)) == []
