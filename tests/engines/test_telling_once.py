"""Questions are told once, everything else whenever it happens."""

import asyncio
from pathlib import Path

import pytest

from treadle.engines.notifications import OnceNotifier
from treadle.errors import PortError
from treadle.kernel.advance import LIMIT_ASK


class Heard:
    """`ports.Notifier` that may be out of reach."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.is_out = False

    async def notify(self, run: str, what: str, text: str) -> None:  # noqa: ARG002
        if self.is_out:
            raise PortError("nobody hears")
        self.all.append(f"{what} {text}")


def test_a_question_is_notified_once_even_by_the_next_process(tmp_path: Path) -> None:
    heard = Heard()
    for what, text in [("question", "root:review#1.1")] * 2 + [("reminder", "root:review#1.1")] * 2:
        asyncio.run(OnceNotifier(heard, tmp_path / "runs" / "r").notify("r", what, text))
    for text in ("root:review#2.1", LIMIT_ASK, LIMIT_ASK):
        asyncio.run(OnceNotifier(heard, tmp_path / "runs" / "r").notify("r", "question", text))
    assert heard.all == [
        "question root:review#1.1",
        *["reminder root:review#1.1"] * 2,
        "question root:review#2.1",
        *[f"question {LIMIT_ASK}"] * 2,
    ]


def test_a_failed_notification_is_repeated(tmp_path: Path) -> None:
    heard = Heard()
    heard.is_out = True
    with pytest.raises(PortError):
        asyncio.run(OnceNotifier(heard, tmp_path).notify("r", "question", "root:a#1.1"))
    heard.is_out = False
    asyncio.run(OnceNotifier(heard, tmp_path).notify("r", "question", "root:a#1.1"))
    assert heard.all == ["question root:a#1.1"]
