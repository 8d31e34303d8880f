"""What commits say that Treadle makes: whose work it is and what was done, in the words of the spec and the protocol.

Both may be written by agents, so a subject is one line of printable characters, whatever they hold.
"""

from collections.abc import Collection
from typing import Final

from treadle.git.integration import instance
from treadle.kernel.commands import RunChecks
from treadle.ports import Case
from treadle.protocol.checks.permissions import is_document
from treadle.protocol.items import Json
from treadle.protocol.model import Step, base_of
from treadle.protocol.test_paths import is_test

_WIDTH: Final = 72
"""Characters of a subject; most tools that show one cut it there."""
_NAME: Final = 40
_LEAST: Final = 12
"""Characters of a title below which it says nothing."""


def work_subject(job: RunChecks, case: Case) -> str:
    """What an agent did at a step: `BUG-7: Totals lose the last item (Make it pass)`."""
    deed = _line(case.protocol.graphs[job.graph].steps[job.step].title) or base_of(job.step)
    title, name = _line(given_to(job.inst, case).get("title")), name_of(job.inst, case)
    if not title:
        return _cut(f"{name}: {deed}", _WIDTH)
    room = _WIDTH - len(f"{name}:  ({deed})")
    return f"{name}: {_cut(title, room)} ({deed})" if room >= _WIDTH // 4 else _cut(f"{name}: {title}", _WIDTH)


def merge_subject(inst: str, case: Case, paths: Collection[str] = ()) -> str:
    """What a merge brings, in these files: `feat(US-5): Cart`, or `feat(k0): implement` without a title.

    Of a step that was done alone, or is all that there is to do: `docs(US-5): Cart (BDD scenarios)`.
    """
    title, step = _line(given_to(inst, case).get("title")), _sole_step(inst, case)
    head = f"{_kind(paths, step)}({name_of(inst, case)}):"
    deed = _line(step.title) if step else ""
    if not (title and deed):
        return _cut(f"{head} {title or deed or 'implement'}", _WIDTH)
    room = _WIDTH - len(f"{head}  ({deed})")
    return f"{head} {_cut(title, room)} ({deed})" if room >= _LEAST else _cut(f"{head} {deed}", _WIDTH)


def _sole_step(inst: str, case: Case) -> Step | None:
    """The step whose work is all that the instance brings, if there is one."""
    graph = case.protocol.graphs.get(instance(case.state, inst).graph)
    if graph is None:
        return None
    agents = [step for step in graph.steps.values() if step.kind == "agent"]
    return graph.steps[graph.only.step] if graph.only else agents[0] if len(agents) == 1 else None


def _kind(paths: Collection[str], step: Step | None) -> str:
    """What a change is, as many projects begin their subjects; who may write tests and stubs only brings tests."""
    if paths and all(is_document(path) and not is_test(path) for path in paths):
        return "docs"
    gates = [ref.name for refs in step.gates.values() for ref in refs] if step else []
    is_of_tests = "scope_tests" in gates or all(is_document(path) or is_test(path) for path in paths)
    return "test" if paths and is_of_tests else "feat"


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
