"""The line from the test process to Treadle: numbered, signed, and written by nobody but this process."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too

Send = Callable[..., None]


def read_order() -> tuple[dict[str, Any], Send]:
    """What is to be done, and the way to tell about it; neither can be asked for a second time."""
    order_file, _, report_file = os.environ.pop("TREADLE_WITNESS").partition(":")
    with os.fdopen(int(order_file), "r") as file:
        order: dict[str, Any] = json.load(file)
    return order, _sender(int(report_file), bytes.fromhex(order.pop("key")))


def _sender(file: int, key: bytes) -> Send:
    os.set_inheritable(file, False)
    mine, number = os.getpid(), 0
    getpid, write, dumps, sign = os.getpid, os.write, json.dumps, hashlib.blake2s

    def send(what: str, **fields: Any) -> None:
        nonlocal number
        if getpid() != mine:
            return
        body = dumps({"what": what, **fields})
        signature = sign(f"{number} {body}".encode(), key=key).hexdigest()
        line = f"{signature} {body}\n".encode()
        number += 1
        while line:
            line = line[write(file, line) :]

    return send
