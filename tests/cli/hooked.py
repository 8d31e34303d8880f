"""An agent that a person has started by hand, and what its program says to the hook."""

import io
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import Outcome, status, treadle


class Agent:
    """An agent that a person has started in a folder, and what its program says when it ends."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, began: float = 0.0) -> None:
        self.folder, self._patch = folder, monkeypatch
        self.record = folder.parents[3] / "record.jsonl"
        moment = datetime.fromtimestamp(began or time.time(), UTC).isoformat().replace("+00:00", "Z")
        self.record.write_text(json.dumps({"timestamp": moment}) + "\n")

    def ends(self, event: str = "Stop", *, again: bool = False, options: tuple[str, ...] = (), **more: Any) -> Outcome:
        told = {
            "session_id": "s-1", "transcript_path": str(self.record), "cwd": str(self.folder),
            "hook_event_name": event, "stop_hook_active": again, **more,
        }  # fmt: skip
        return said(json.dumps(told).encode(), self._patch, *options)

    def writes(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)


def said(data: bytes, patch: pytest.MonkeyPatch, *options: str) -> Outcome:
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return treadle("hook", *options)


def message(outcome: Outcome) -> str:
    """What the person is told."""
    assert outcome.code == 0, outcome
    assert not outcome.err
    return str(json.loads(outcome.out)["systemMessage"]) if outcome.out else ""


def lane(begun: Outcome) -> Path:
    """The folder of the first step of this run that is a person's; the command that began it has printed it."""
    folder = str(status("sweep-1")["yours"][0]["lane"])
    assert folder in begun.out
    return Path(folder)
