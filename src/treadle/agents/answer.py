"""Where an agent's answer lies, for the runners: whether it is there, and how one is put there."""

import os
import time
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.tail import open_regular
from treadle.errors import PortError
from treadle.ports import Work
from treadle.protocol.items import Json

ANSWER: Final = "answer.json"
_MAX_ANSWER: Final = 4 << 20


class _Answer(msgspec.Struct):
    """What is looked at here of the file that `treadle emit` and the MCP tool write."""

    act: str
    token: str


def answered(work: Work) -> bool:
    """Whether an answer of exactly this session has arrived; what it is worth, others say."""
    file = open_regular(work.out / ANSWER)
    if file is None:
        return False
    with os.fdopen(file, "rb") as opened:
        data = opened.read(_MAX_ANSWER)
    try:
        found = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return (found.act, found.token) == (work.act, work.token)


def put_answer(work: Work, exit_: dict[str, Json]) -> None:
    """Answer for an agent that is played by Treadle itself; all of it is there, or nothing."""
    body = {
        "format": 1,
        "act": work.act,
        "token": work.token,
        "retry": work.retry,
        "at": time.time_ns() // 1_000_000,
        "via": "emit",
        "answer": {"exit": exit_},
    }
    put_file(work.out, ANSWER, msgspec.json.encode(body))


def put_file(folder: Path, name: str, data: bytes) -> None:
    """Write a file of an activity in one step; a `PortError` if its folder is not a folder of its own."""
    part = folder / f".{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            raise PortError(f"{folder} is a link; an activity's files are written to its own folder only: remove it")
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
        part.replace(folder / name)
    except OSError as error:
        raise PortError(f"{folder / name} cannot be written: {error.strerror}", retryable=True) from None
