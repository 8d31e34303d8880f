"""The command by which a person who is the agent hands work in."""

import shlex
from collections.abc import Iterable


def done_command(run: str, exit_: str, fields: Iterable[str], optional: Iterable[str], act: str = "") -> str:
    """`treadle done …`; what stands in brackets may be left out, `act` says which of several works is meant."""
    step = f" --step {shlex.quote(act)}" if act else ""
    needed = "".join(f" --field {name}=…" for name in fields)
    more = "".join(f" [--field {name}=…]" for name in optional)
    return f"treadle done {shlex.quote(run)}{step} --exit {exit_}{needed}{more}"
