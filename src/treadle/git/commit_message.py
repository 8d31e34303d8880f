"""What commits say that Treadle makes: whose work it is and what was done, in the words of the spec and the protocol.

Both may be written by agents, so a subject is one line of printable characters, whatever they hold.
"""

import re
from collections.abc import Collection
from typing import Final

from treadle.git.integration import instance
from treadle.kernel.commands import RunChecks
from treadle.ports import Case
from treadle.protocol.artifact_place import place_of
from treadle.protocol.checks.permissions import is_document
from treadle.protocol.items import Json
from treadle.protocol.model import Step, base_of
from treadle.protocol.test_paths import is_test

_WIDTH: Final = 72
"""Characters of a subject; most tools that show one cut it there."""
_NAME: Final = 40
_LEAST: Final = 12
"""Characters of a title below which it says nothing."""
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s+[^\sa-z]|\s*$)|\n\s*\n")


def work_subject(job: RunChecks, case: Case) -> str:
    """What an agent did at a step: `BUG-7: Totals lose the last item (Make it pass)`."""
    deed = one_line(case.protocol.graphs[job.graph].steps[job.step].title) or base_of(job.step)
    title, name = one_line(given_to(job.inst, case).get("title")), name_of(job.inst, case)
    if not title:
        return cut(f"{name}: {deed}", _WIDTH)
    room = _WIDTH - len(f"{name}:  ({deed})")
    return f"{name}: {cut(title, room)} ({deed})" if room >= _WIDTH // 4 else cut(f"{name}: {title}", _WIDTH)


def merge_subject(inst: str, case: Case, paths: Collection[str] = ()) -> str:
    """What a merge brings, in these files: `feat(US-5): Cart`, or `feat(k0): implement` without a title.

    Of a step that was done alone, or is all that there is to do: `docs(US-5): Cart (BDD scenarios)`. The result of a
    run without a title is called by the first sentence of its description.
    """
    title, step = _title(inst, case), _sole_step(inst, case)
    head = f"{_kind(paths, step)}({name_of(inst, case)}):"
    deed = one_line(step.title) if step else ""
    if not (title and deed):
        return cut(f"{head} {title or deed or 'implement'}", _WIDTH)
    room = _WIDTH - len(f"{head}  ({deed})")
    return f"{head} {cut(title, room)} ({deed})" if room >= _LEAST else cut(f"{head} {deed}", _WIDTH)


def is_delivered(inst: str, case: Case) -> bool:
    """Whether the user gets the commit of this merge: that of the root, or of a part whose commit the root keeps."""
    parent = instance(case.state, inst).parent
    if not parent:
        return True
    above = case.state.insts.get(parent)
    graph = case.protocol.graphs.get(above.graph) if above and not above.parent else None
    return graph is not None and any(step.keep_commits for step in graph.steps.values())


def _title(inst: str, case: Case) -> str:
    given = given_to(inst, case)
    if title := one_line(given.get("title")):
        return title
    said = given.get("description")
    if instance(case.state, inst).parent or not isinstance(said, str):
        return ""
    return one_line(_SENTENCE_END.split(said.strip(), maxsplit=1)[0])


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
    return cut(one_line(found.key) or one_line(given) or case.state.run, _NAME)


def papers_of(case: Case) -> tuple[str, ...]:
    """Files of every instance that the result of the run does not carry."""
    papers = [one for one in case.protocol.artifacts.values() if not one.delivered]
    places = [place_of(one, given_to(inst, case)) for one in papers for inst in case.state.insts]
    return tuple(sorted({place for place in places if place}))


def given_to(inst: str, case: Case) -> dict[str, Json]:
    """What an instance was given."""
    ref = instance(case.state, inst).input.ref
    value = case.payloads.get(ref) if ref else {}
    return value if isinstance(value, dict) else {}


def one_line(value: Json) -> str:
    """A text as one line of printable characters; empty for anything else."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def cut(text: str, room: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
