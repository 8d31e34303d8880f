"""Where an agent's answer lies, for the runners: whether it is there, and how one is put there."""

import os
import time
from pathlib import Path

from treadle.errors import PortError
from treadle.ports import Work
from treadle.protocol.items import Json
from treadle.results.emit import FILE, FORMAT, Emitted, pack, unpack
from treadle.results.fence import fence_of
from treadle.results.files import look


def answered(work: Work) -> bool:
    """Whether an answer of exactly this session has arrived; what it is worth, others say."""
    data = look(work.out, FILE)
    found = unpack(data) if isinstance(data, bytes) else None
    return isinstance(found, Emitted) and fence_of(work).refuses(found.fence) is None


def put_answer(work: Work, exit_: dict[str, Json]) -> None:
    """Answer for an agent that is played by Treadle itself; all of it is there, or nothing."""
    emitted = Emitted(
        format=FORMAT,
        act=work.act,
        token=work.token,
        retry=work.retry,
        at=time.time_ns() // 1_000_000,
        via="emit",
        answer={"exit": exit_},
    )
    put_file(work.out, FILE, pack(emitted))


def put_file(folder: Path, name: str, data: bytes) -> None:
    """Write a file of an activity in one step; a `PortError` if its folder is not a folder of its own."""
    part = folder / f".{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            raise PortError(
                f"{folder} is a link; an activity's files are written to its own folder only: remove it",
                code="file.link",
            )
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
        part.replace(folder / name)
    except OSError as error:
        raise PortError(
            f"{folder / name} cannot be written: {error.strerror}", retryable=True, code="file.unwritable"
        ) from None
