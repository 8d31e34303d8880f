"""`treadle hook`, called by an agent's program: look for a run that it concerns, and exit at once if there is none.

No fault here may delay an agent: only the step that it works on can.
"""

import os
import sys
from pathlib import Path
from typing import Final

from treadle.cli.guard import UNWELL, blame, complain, guard
from treadle.errors import TreadleError

_TREADLES_OWN: Final = "TREADLE_ACT"
"""An agent that treadle has started answers by itself."""


def main(*, legacy: bool = False) -> int:
    """Answer a call and return the exit code; 2 only if the agent must continue."""
    return guard(lambda: _run(legacy=legacy))


def _run(*, legacy: bool) -> None:
    try:
        code = _answer(legacy=legacy)
    except TreadleError as error:
        complain(blame(error))
        code = UNWELL
    if code:
        raise SystemExit(code)


def _answer(*, legacy: bool) -> int:
    if os.environ.get(_TREADLES_OWN):
        return 0
    if sys.stdin is None or sys.stdin.isatty():
        raise TreadleError(
            "agents' programs call this command when they stop; `treadle hook install` sets that up", code="hook.call"
        )
    from treadle.hooks.call import LARGEST, read_call
    from treadle.results.intake import Faulty

    call = read_call(sys.stdin.buffer.read(LARGEST + 1))
    if isinstance(call, Faulty):
        raise TreadleError(call.problems[0], code="hook.call")
    from treadle.config.project import owner_of

    cwd = Path(os.path.realpath(call.cwd or "."))
    project = owner_of(cwd) if cwd.is_dir() else None
    if project is None or not project.store.exists():
        return 0
    from treadle.cli.hook_reply import reply_to

    reply = reply_to(call, project, legacy=legacy)
    if reply.out:
        print(reply.out)
    if reply.err:
        print(reply.err, file=sys.stderr)
    return reply.code
