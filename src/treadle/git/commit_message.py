"""What commits say that Treadle makes: whose work it is and what was done, in the words of the spec and the protocol.

Both may be written by agents, so a subject is one line of printable characters, whatever they hold.
"""

from typing import Final

from treadle.git.integration import instance
from treadle.kernel.commands import RunChecks
from treadle.ports import Case
from treadle.protocol.items import Json
from treadle.protocol.model import base_of

_WIDTH: Final = 72
"""Characters of a subject; most tools that show one cut it there."""
_NAME: Final = 40


def work_subject(job: RunChecks, case: Case) -> str:
    """What an agent did at a step: `BUG-7: Totals lose the last item (Make it pass)`."""
    deed = _line(case.protocol.graphs[job.graph].steps[job.step].title) or base_of(job.step)
    title, name = _line(given_to(job.inst, case).get("title")), name_of(job.inst, case)
    if not title:
        return _cut(f"{name}: {deed}", _WIDTH)
    room = _WIDTH - len(f"{name}:  ({deed})")
    return f"{name}: {_cut(title, room)} ({deed})" if room >= _WIDTH // 4 else _cut(f"{name}: {title}", _WIDTH)


def merge_subject(inst: str, case: Case) -> str:
    """What a merge brings: `feat(US-5): Cart`, or `feat(k0): implement` if what it was given has no title."""
    title = _line(given_to(inst, case).get("title")) or "implement"
    return _cut(f"feat({name_of(inst, case)}): {title}", _WIDTH)


def name_of(inst: str, case: Case) -> str:
    """What the work of an instance goes by: its key among its siblings, the id of what it was given, or its run."""
    found = instance(case.state, inst)
    graph = case.protocol.graphs.get(found.graph)
    record = case.protocol.types.get(graph.input[1]) if graph else None
    given = given_to(inst, case).get(record.key if record else "id")
    return _cut(_line(found.key) or _line(given) or case.state.run, _NAME)


def given_to(inst: str, case: Case) -> dict[str, Json]:
    """What an instance was given."""
    ref = instance(case.state, inst).input.ref
    value = case.payloads.get(ref) if ref else {}
    return value if isinstance(value, dict) else {}


def _line(value: Json) -> str:
    text = value if isinstance(value, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
