"""Messages of the commits that Treadle makes: the name of the work from the spec, and the title of the step.

Agents may have written both, so a subject is always one line of printable characters.
"""

import re
from collections.abc import Collection
from typing import Final

from treadle.git.integration import get_instance
from treadle.kernel.commands import RunChecks
from treadle.ports import Case
from treadle.protocol.artifacts import place_of
from treadle.protocol.checks.permissions import is_document
from treadle.protocol.items import Json
from treadle.protocol.model import Step, base_of
from treadle.protocol.paths import is_test

_WIDTH: Final = 72
"""The width of a subject; most tools cut it there."""
_NAME: Final = 40
_LEAST: Final = 12
"""The width below which a cut title is useless."""
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s+[^\sa-z]|\s*$)|\n\s*\n")


def work_subject(job: RunChecks, case: Case) -> str:
    """Return the subject for an agent's work at a step: `BUG-7: Totals lose the last item (Make it pass)`."""
    deed = one_line(case.protocol.graphs[job.graph].steps[job.step].title) or base_of(job.step)
    title, name = one_line(instance_inputs(job.inst, case).get("title")), name_of(job.inst, case)
    if not title:
        return cut(f"{name}: {deed}", _WIDTH)
    room = _WIDTH - len(f"{name}:  ({deed})")
    return f"{name}: {cut(title, room)} ({deed})" if room >= _WIDTH // 4 else cut(f"{name}: {title}", _WIDTH)


def merge_subject(inst: str, case: Case, paths: Collection[str] = ()) -> str:
    """Return the subject of a merge that changes `paths`: `feat(US-5): Cart`, or `feat(k0): implement` without a title.

    If one step alone did the work, its title follows: `docs(US-5): Cart (BDD scenarios)`. The result of a run without a
    title uses the first sentence of its description.
    """
    title, step = _title(inst, case), _sole_step(inst, case)
    head = f"{_kind(paths, step)}({name_of(inst, case)}):"
    deed = one_line(step.title) if step else ""
    if not (title and deed):
        return cut(f"{head} {title or deed or 'implement'}", _WIDTH)
    room = _WIDTH - len(f"{head}  ({deed})")
    return f"{head} {cut(title, room)} ({deed})" if room >= _LEAST else cut(f"{head} {deed}", _WIDTH)


def is_delivered(inst: str, case: Case) -> bool:
    """Whether the user gets this merge's commit: it is the root's, or the root keeps the commits of its parts."""
    parent = get_instance(case.state, inst).parent
    if not parent:
        return True
    above = case.state.insts.get(parent)
    graph = case.protocol.graphs.get(above.graph) if above and not above.parent else None
    return graph is not None and any(step.keep_commits for step in graph.steps.values())


def _title(inst: str, case: Case) -> str:
    inputs = instance_inputs(inst, case)
    if title := one_line(inputs.get("title")):
        return title
    description = inputs.get("description")
    if get_instance(case.state, inst).parent or not isinstance(description, str):
        return ""
    return one_line(_SENTENCE_END.split(description.strip(), maxsplit=1)[0])


def _sole_step(inst: str, case: Case) -> Step | None:
    """Return the one agent step that does all the work of the instance, if there is one."""
    graph = case.protocol.graphs.get(get_instance(case.state, inst).graph)
    if graph is None:
        return None
    agents = [step for step in graph.steps.values() if step.kind == "agent"]
    return graph.steps[graph.only.step] if graph.only else agents[0] if len(agents) == 1 else None


def _kind(paths: Collection[str], step: Step | None) -> str:
    """Return the type of a change for its subject; a step that may write only tests and stubs makes a `test`."""
    if paths and all(is_document(path) and not is_test(path) for path in paths):
        return "docs"
    gates = [ref.name for refs in step.gates.values() for ref in refs] if step else []
    is_of_tests = "scope_tests" in gates or all(is_document(path) or is_test(path) for path in paths)
    return "test" if paths and is_of_tests else "feat"


def name_of(inst: str, case: Case) -> str:
    """Return the short name of an instance's work: its key among its siblings, the id in its input, or its run."""
    found = get_instance(case.state, inst)
    graph = case.protocol.graphs.get(found.graph)
    record = case.protocol.types.get(graph.input[1]) if graph else None
    id_ = instance_inputs(inst, case).get(record.key if record else "id")
    return cut(one_line(found.key) or one_line(id_) or case.state.run, _NAME)


def papers_of(case: Case) -> tuple[str, ...]:
    """Return the files of all instances that the run's result does not carry."""
    papers = [one for one in case.protocol.artifacts.values() if not one.delivered]
    places = [place_of(one, instance_inputs(inst, case)) for one in papers for inst in case.state.insts]
    return tuple(sorted({place for place in places if place}))


def instance_inputs(inst: str, case: Case) -> dict[str, Json]:
    """Return the input of an instance."""
    ref = get_instance(case.state, inst).input.ref
    value = case.payloads.get(ref) if ref else {}
    return value if isinstance(value, dict) else {}


def one_line(value: Json) -> str:
    """Return a text as one line of printable characters; empty for any other value."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def cut(text: str, room: int) -> str:
    """Shorten a text to at most `room` characters."""
    return text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
