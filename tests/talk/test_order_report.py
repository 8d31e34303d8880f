"""A work order as a message."""

from typing import Any

import pytest

from treadle.talk.intent import Action
from treadle.talk.order_report import order_report
from treadle.views.measured import Tests
from treadle.views.state import WorkOrder


def order(**fields: Any) -> WorkOrder:
    known: dict[str, Any] = {
        "project": "cart-app", "story": "US-005", "step": "impl", "attempt": 1, "max_attempts": 5,
        "status": "running", "timeout_min": 10,
    }  # fmt: skip
    return WorkOrder(**{**known, **fields})


@pytest.mark.parametrize(
    ("action", "stands", "said"),
    [
        ("continue", order(attempt=3), "Received. US-005 impl is at work (attempt 3 of 5)."),
        (
            "status",
            order(status="pass", tests=Tests(passed=44)),
            "US-005 impl complete ✓ All tests pass (44/44).",
        ),
        (
            "status",
            order(status="failing", reason="nfr_missing", tests=Tests(passed=42, failed=2), failing_tests=("a", "b")),
            "US-005 impl fails (nfr_missing). 42 of 44 tests pass. Failing: a, b.",
        ),
        ("status", order(status="failing", lint_pass=False), "US-005 impl fails. The post-check fails."),
        ("status", order(step="review", status="needs_human"), "US-005 review needs you."),
        ("status", order(status="timeout"), "US-005 impl timed out (10 minutes)."),
        ("status", order(status="timeout", timeout_min=1), "US-005 impl timed out (1 minute)."),
        ("status", order(status="pending", step="bdd"), "US-005 bdd is next."),
        ("status", order(status="pending", blocked_by=("US-003",)), "US-005 waits for US-003."),
        ("stop", order(step="done", status="pass"), 'OK. US-005 all complete ✓ Say "continue cart-app" to resume.'),
    ],
)
def test_every_status_has_its_words(action: Action, stands: WorkOrder, said: str) -> None:
    assert order_report(stands, action) == said
