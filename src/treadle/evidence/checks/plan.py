"""Plans of cycles: `plan_parses`, `plan_sound`."""

from treadle.evidence.criteria import every_criterion, own_criteria
from treadle.evidence.cross_references import dead_references
from treadle.evidence.findings import Found, Problem, found, note, problem
from treadle.evidence.past import accepted
from treadle.evidence.plan import Plan, parse_plan, soundness
from treadle.evidence.subject import Subject
from treadle.protocol.answers.paths import path_fault
from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json

ARTIFACT = "tdd_plan"


def plan_place(s: Subject) -> str:
    """Where the plan lies."""
    artifact = s.case.protocol.artifacts.get(ARTIFACT)
    return place_of(artifact, s.input) if artifact else ""


async def read_plan(s: Subject) -> Plan:
    """The plan that a claim is about: its own document, the file in its lane, or the one that was accepted."""
    place = plan_place(s)
    text = s.case.claim.get(ARTIFACT)
    if not isinstance(text, str):
        text = await s.text(place) if place else None
    if text is None:
        said = [one.payload.get(ARTIFACT) for one in reversed(accepted(s.case, s.inst))]
        text = next((one for one in said if isinstance(one, str)), None)
    if text is None:
        return Plan(
            problems=(problem("there is no plan", place, expected="the plan in its form", code="plan.missing"),)
        )
    return parse_plan(text, place)


async def plan_parses(s: Subject) -> Found:
    """The plan document yields batches, cycles and signatures, and refers to sections that are there."""
    plan = await read_plan(s)
    paths = [
        problem(f"{cycle.id} names the file {path}, which {fault}", plan_place(s), cycle.line, code="plan.bad_path")
        for cycle in plan.cycles
        for path in cycle.files
        if (fault := path_fault(path))
    ]
    return found([*plan.problems, *paths, *await _dead_references(s)])


async def _dead_references(s: Subject) -> list[Problem]:
    """Of a plan that was written as a file; one that an exit returns is looked at with the exit's documents."""
    place = plan_place(s)
    text = await s.text(place) if place and not isinstance(s.case.claim.get(ARTIFACT), str) else None
    return await dead_references(s, {}, {place: text}) if text else []


async def plan_sound(s: Subject) -> Found:
    """No dependency or shared file inside a batch, none forward, parallelism 1 to 3."""
    plan = await read_plan(s)
    known = every_criterion(s)
    unknown = [
        problem(
            f"{cycle.id} serves {one}, which is no criterion",
            plan_place(s),
            cycle.line,
            expected=f"one of {', '.join(known)}",
            code="plan.unknown_criterion",
        )
        for cycle in plan.cycles
        for one in cycle.criteria
        if known and one not in known
    ]
    served = {one for cycle in plan.cycles for one in cycle.criteria}
    notes = [note(f"no cycle serves {one}", code="plan.uncovered") for one in own_criteria(s) if one not in served]
    return found([*soundness(plan, plan_place(s)), *unknown], notes)


async def plan_value(s: Subject) -> dict[str, Json]:
    """The plan as its record."""
    plan = await read_plan(s)
    cycles = await cycle_values(s)
    batches: list[Json] = []
    for batch in plan.batches:
        own: list[Json] = [cycles[cycle.id] for cycle in batch.cycles]
        batches.append({"id": batch.id, "parallel": batch.parallel, "cycles": own})
    checklist: list[Json] = [{"id": f"C{number}", "text": text} for number, text in enumerate(plan.checklist, 1)]
    return {"batches": batches, "execution_checklist": checklist}


async def cycle_values(s: Subject) -> dict[str, Json]:
    """The cycles as records, by id."""
    artifacts = s.case.protocol.artifacts
    design = next((artifacts[name] for name in ("design", "module_specifications") if name in artifacts), None)
    module = s.input.get("name") or s.input.get("title") or ""
    places = place_of(design, s.input) if design else "", plan_place(s)
    return {cycle.id: cycle.value(str(module), *places) for cycle in (await read_plan(s)).cycles}
