"""Plans of modules and of cycles: `modules_cover_criteria`, `plan_parses`, `plan_sound`, `plan_as_designed`.

`parse_plan` reads tdd_plan.md: batches of cycles with their signatures, and the checklist. It ignores prose.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.evidence.checks.documents import dead_references
from treadle.evidence.code_shapes import PlannedSignature, is_written, parse_signatures
from treadle.evidence.criteria import built_criteria, housed_criteria, own_criteria, plannable_criteria
from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, problem, refuse
from treadle.evidence.subject import Subject, accepted_exits
from treadle.protocol.artifacts import place_of
from treadle.protocol.items import Json
from treadle.protocol.paths import path_fault

# Parses tdd_plan.md: batches of cycles with their signatures, and the checklist. Prose between the lines is ignored.

_DIGITS: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_MARK: Final = r"(?:[-*]\s*)?(?:[□☐☑✅■]|\[[ xX]?\])?\s*"
_BATCH: Final = re.compile(
    r"(?:#+\s*)?\**Batch\s*(?P<n>\d+)\**\s*:?\s*\**\s*(?:\((?:parallel|∥)\s*[=:]?\s*(?P<p>\w+)\))?", re.IGNORECASE
)
_CYCLE: Final = re.compile(rf"{_MARK}\**(?P<id>TDD[_-]?\d+)\**\s*:\s*(?P<rest>.+)", re.IGNORECASE)
_FILES: Final = re.compile(r"\[\s*files?\s*:\s*(?P<files>[^\]]*)\]", re.IGNORECASE)
_METHODS: Final = re.compile(r"\((?P<methods>[^()]*)\)\s*$")
_KEY: Final = re.compile(
    r"[-*]?\s*(?P<key>interface|criteria|criterion|after|level|files?|methods|module)\s*:\s*(?P<value>.*)",
    re.IGNORECASE,
)
_CHECKLIST: Final = re.compile(r"(?:#+\s*)?\**execution[ _-]checklist\**\s*:?\s*\**\s*\Z", re.IGNORECASE)
_ITEM: Final = re.compile(r"(?:[-*]\s*)?(?:[□☐☑✅■]|\[[ xX]?\])\s*(?P<text>.+)|[-*]\s+(?P<plain>.+)")
_MODULE: Final = re.compile(r"(?:#+\s*)?\**module\**\s*:\s*\**(?P<name>[^*]+?)\**\s*\Z", re.IGNORECASE)


class PlanCycle(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle of a plan, and its line."""

    id: str
    title: str
    methods: tuple[str, ...] = ()
    interface: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    level: str = "unit"
    module: str = ""
    line: int = 0

    def value(self, module: str, design: str, plan: str) -> dict[str, Json]:
        """The record of it."""
        return {
            "id": self.id,
            "title": self.title,
            "methods": list(self.methods),
            "interface": "\n".join(self.interface),
            "files": list(self.files),
            "after": list(self.after),
            "criteria": list(self.criteria),
            "level": self.level,
            "module": self.module or module,
            "design": design,
            "plan": plan,
        }


class PlanBatch(msgspec.Struct, frozen=True):
    """Cycles that run together."""

    id: str
    parallel: int
    cycles: tuple[PlanCycle, ...]
    line: int


class TddPlan(msgspec.Struct, frozen=True):
    """A plan as it is written, and why parts of it cannot be read."""

    batches: tuple[PlanBatch, ...] = ()
    checklist: tuple[str, ...] = ()
    problems: tuple[CheckProblem, ...] = ()

    @property
    def cycles(self) -> tuple[PlanCycle, ...]:
        return tuple(cycle for batch in self.batches for cycle in batch.cycles)


def parse_plan(text: str, file: str) -> TddPlan:
    """Read a plan."""
    reader = _PlanReader(file)
    for number, line in enumerate(text.translate(_DIGITS).splitlines(), 1):
        reader.take(number, line)
    return reader.plan()


class _PlanReader:
    """Goes through a plan line by line."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._batches: list[tuple[int, int, int]] = []
        self._cycles: list[list[PlanCycle]] = []
        self._checklist: list[str] = []
        self._problems: list[CheckProblem] = []
        self._in_checklist = self._in_interface = False
        self._module = ""

    def take(self, number: int, line: str) -> None:
        text = line.strip()
        if _CHECKLIST.match(text):
            self._in_checklist = True
        elif (batch := _BATCH.match(text)) and not self._in_checklist:
            self._begin(number, batch)
        elif cycle := _CYCLE.match(text):
            self._in_checklist = False
            self._cycle(number, cycle)
        elif self._in_checklist:
            if item := _ITEM.match(text):
                self._checklist.append((item["text"] or item["plain"]).strip())
        elif module := _MODULE.match(text) if not self._open() else None:
            self._module = module["name"].strip()
        elif self._open() and (key := _KEY.match(text)):
            self._key(number, key["key"].lower(), key["value"].strip())
        elif self._in_interface and line[:1].isspace() and text:
            self._more_interface(line)
        else:
            self._in_interface = False

    def _open(self) -> bool:
        return bool(self._cycles and self._cycles[-1])

    def _begin(self, number: int, match: re.Match[str]) -> None:
        self._in_interface = False
        said = match["p"] or "1"
        if not said.isdigit():
            self._fault(
                number, f"parallel is '{said}'", "(parallel 1), (parallel 2) or (parallel 3)", code="plan.parallel"
            )
        self._batches.append((int(match["n"]), int(said) if said.isdigit() else 0, number))
        self._cycles.append([])

    def _cycle(self, number: int, match: re.Match[str]) -> None:
        if not self._batches:
            self._fault(
                number,
                f"{match['id']} is in no batch",
                "a line such as `Batch1: (parallel 1)` above it",
                code="plan.no_batch",
            )
            self._batches.append((1, 1, number))
            self._cycles.append([])
        rest = match["rest"]
        files = _FILES.search(rest)
        head = _FILES.sub("", rest).partition("→")[0].strip().strip("*").strip()
        methods = _METHODS.search(head)
        self._cycles[-1].append(
            PlanCycle(
                id=re.sub(r"[_-]", "", match["id"]).upper(),
                title=_METHODS.sub("", head).strip() or head,
                methods=_listed(methods["methods"]) if methods else (),
                files=_listed(files["files"]) if files else (),
                module=self._module,
                line=number,
            )
        )

    def _key(self, number: int, key: str, value: str) -> None:
        cycle = self._cycles[-1][-1]
        self._in_interface = key == "interface"
        values = _listed(value)
        match key:
            case "interface":
                change: dict[str, object] = {"interface": (*cycle.interface, value.strip("`"))}
            case "after":
                change = {
                    "after": ()
                    if value.lower() in ("none", "-", "")
                    else tuple(re.sub(r"[_-]", "", one).upper() for one in values)
                }
            case "criteria" | "criterion":
                change = {"criteria": values}
            case "file" | "files":
                change = {"files": (*cycle.files, *values)}
            case "level":
                change = {"level": value.lower()}
                if value.lower() not in ("unit", "integration"):
                    self._fault(number, f"the level is '{value}'", "unit or integration", code="plan.level")
            case _:
                change = {key: value if key == "module" else values}
        self._cycles[-1][-1] = msgspec.structs.replace(cycle, **change)

    def _more_interface(self, line: str) -> None:
        cycle = self._cycles[-1][-1]
        *first, last = cycle.interface
        joined = f"{last}\n{line.rstrip()}" if last else line.strip()
        self._cycles[-1][-1] = msgspec.structs.replace(cycle, interface=(*first, joined))

    def _fault(self, number: int, what: str, expected: str, *, code: str) -> None:
        self._problems.append(problem(what, self._file, number, expected=expected, code=code))

    def plan(self) -> TddPlan:
        batches = tuple(
            PlanBatch(f"Batch{n}", parallel, tuple(cycles), line)
            for (n, parallel, line), cycles in zip(self._batches, self._cycles, strict=True)
        )
        if not any(batch.cycles for batch in batches):
            self._fault(
                1,
                "has no cycles",
                "lines such as `□ TDD1: title (methods) [files: …]` below `Batch1: (parallel 1)`",
                code="plan.empty",
            )
        for batch in batches:
            if not batch.cycles:
                self._fault(
                    batch.line, f"{batch.id} has no cycles", "at least one, or no such batch", code="plan.empty"
                )
        for cycle in (one for batch in batches for one in batch.cycles):
            for name, value in (("interface", cycle.interface), ("files", cycle.files)):
                if not any(value):
                    self._fault(
                        cycle.line, f"{cycle.id} has no {name}", f"`{name}: …` below it", code="plan.incomplete"
                    )
        return TddPlan(batches, tuple(self._checklist), tuple(self._problems))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for one in re.split(r"[,;]", text) if (part := one.strip().strip("`").strip()))


def soundness(plan: TddPlan, file: str) -> list[CheckProblem]:
    """No dependency or shared file inside a batch, none forward, parallelism 1 to 3, integration alone."""
    found: list[CheckProblem] = []
    place = {cycle.id: number for number, batch in enumerate(plan.batches) for cycle in batch.cycles}
    seen: set[str] = set()
    for number, batch in enumerate(plan.batches):
        if batch.parallel not in (1, 2, 3):
            found.append(
                problem(
                    f"{batch.id} has parallel {batch.parallel}",
                    file,
                    batch.line,
                    expected="1, 2 or 3",
                    code="plan.parallel",
                )
            )
        for cycle in batch.cycles:
            if cycle.id in seen:
                found.append(
                    problem(
                        f"{cycle.id} is in the plan twice",
                        file,
                        cycle.line,
                        expected="each once",
                        code="plan.duplicate",
                    )
                )
            seen.add(cycle.id)
            found += _dependencies(cycle, number, place, file)
            if cycle.level == "integration" and len(batch.cycles) > 1:
                found.append(
                    problem(
                        f"{cycle.id} is an integration cycle and shares its batch",
                        file,
                        cycle.line,
                        expected="a batch of its own",
                        code="plan.integration",
                    )
                )
        found += _shared(batch, file)
    return found


def _dependencies(cycle: PlanCycle, number: int, place: dict[str, int], file: str) -> list[CheckProblem]:
    found: list[CheckProblem] = []
    for other in cycle.after:
        if other not in place:
            found.append(
                problem(
                    f"{cycle.id} builds on {other}, which is not in the plan",
                    file,
                    cycle.line,
                    code="plan.unknown_dependency",
                )
            )
        elif place[other] >= number:
            where = "the same batch" if place[other] == number else "a later batch"
            found.append(
                problem(
                    f"{cycle.id} builds on {other} in {where}",
                    file,
                    cycle.line,
                    expected="an earlier batch",
                    code="plan.order",
                )
            )
    return found


def _shared(batch: PlanBatch, file: str) -> list[CheckProblem]:
    owners: dict[str, str] = {}
    found: list[CheckProblem] = []
    for cycle in batch.cycles:
        for path in dict.fromkeys(cycle.files):
            if path in owners:
                what = f"{cycle.id} and {owners[path]} share {path} inside of {batch.id}"
                found.append(
                    problem(
                        what,
                        file,
                        cycle.line,
                        expected="different batches, or different files",
                        code="plan.shared_file",
                    )
                )
            owners.setdefault(path, cycle.id)
    return found


PLAN_ARTIFACT = "tdd_plan"


def plan_place(s: Subject) -> str:
    """Where the plan lies."""
    artifact = s.case.protocol.artifacts.get(PLAN_ARTIFACT)
    return place_of(artifact, s.input) if artifact else ""


async def read_plan(s: Subject) -> TddPlan:
    """Parse the plan of a claim: its own document, the file in its lane, or the accepted plan."""
    place = plan_place(s)
    text = s.case.claim.get(PLAN_ARTIFACT)
    if not isinstance(text, str):
        text = await s.text(place) if place else None
    if text is None:
        said = [one.payload.get(PLAN_ARTIFACT) for one in reversed(accepted_exits(s.case, s.inst))]
        text = next((one for one in said if isinstance(one, str)), None)
    if text is None:
        return TddPlan(
            problems=(problem("there is no plan", place, expected="the plan in its form", code="plan.missing"),)
        )
    return parse_plan(without_comments(text), place)


async def plan_parses(s: Subject) -> CheckOutcome:
    """The plan document yields batches, cycles and signatures, and refers to sections that are there."""
    plan = await read_plan(s)
    paths = [
        problem(f"{cycle.id} names the file {path}, which {fault}", plan_place(s), cycle.line, code="plan.bad_path")
        for cycle in plan.cycles
        for path in cycle.files
        if (fault := path_fault(path))
    ]
    return conclude([*plan.problems, *paths, *await _dead_references(s)])


async def _dead_references(s: Subject) -> list[CheckProblem]:
    """Return the unresolved references of a plan in a file; `check_documents` checks a plan that an exit returns."""
    place = plan_place(s)
    text = await s.text(place) if place and not isinstance(s.case.claim.get(PLAN_ARTIFACT), str) else None
    return await dead_references(s, {}, {place: text}) if text else []


async def plan_sound(s: Subject) -> CheckOutcome:
    """No dependency or shared file inside a batch, none forward, parallelism 1 to 3; a cycle for every criterion."""
    plan = await read_plan(s)
    known = plannable_criteria(s)
    unknown = [
        problem(
            f"{cycle.id} serves {one}, which is not a criterion",
            plan_place(s),
            cycle.line,
            expected=f"one of {', '.join(known)}",
            code="plan.unknown_criterion",
        )
        for cycle in plan.cycles
        for one in cycle.criteria
        if known and one not in known
    ]
    # The result is delivered only if a test stands for every criterion, and tests come from cycles alone: a plan that
    # leaves one out would be refused after everything has been paid.
    served = {one for cycle in plan.cycles for one in cycle.criteria} | built_criteria(s)
    uncovered = [
        problem(
            f"no cycle serves criterion {one}",
            plan_place(s),
            expected=f"`criteria: {one}` below the cycle that serves it, or a cycle for it",
            code="plan.uncovered",
        )
        for one in known
        if one not in served
    ]
    return conclude([*soundness(plan, plan_place(s)), *unknown, *uncovered])


async def modules_cover_criteria(s: Subject) -> CheckOutcome:
    """Every criterion of the whole belongs to a module, for each module is planned by itself."""
    housed = housed_criteria(s)
    return conclude(
        [
            problem(
                f"criterion {one} belongs to no module",
                expected="a module with this criterion, word for word",
                code="plan.uncovered",
            )
            for one in own_criteria(s)
            if one not in housed
        ]
    )


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


# `plan_as_designed`: compares plans with their designs.

DESIGN_ARTIFACT: Final = "design"
_FENCED: Final = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)", re.MULTILINE | re.DOTALL)
_LINE: Final = re.compile(r"^[\s*+-]*`?(?P<code>(?:async\s+)?def\s[^\n`]+)`?\s*$", re.MULTILINE)


async def plan_as_designed(s: Subject) -> CheckOutcome:
    """Every signature of the plan stands in the design, letter by letter."""
    artifact = s.case.protocol.artifacts.get(DESIGN_ARTIFACT)
    place = place_of(artifact, s.input) if artifact else ""
    design = await s.text(place) if place else None
    if design is None:
        return refuse(
            "there is no design to compare the plan with", place, expected="the accepted design", code="design.missing"
        )
    design = without_comments(design)
    known = {one.name: one for one in _signatures(design) if one.name}
    cycles = (await read_plan(s)).cycles
    return conclude([one for cycle in cycles for one in _differences(cycle, design, known, place, plan_place(s))])


def _signatures(design: str) -> Iterator[PlannedSignature]:
    """The signatures of a document: those in its blocks of code, and lines that are one."""
    for block in _FENCED.finditer(design):
        yield from parse_signatures(block["code"])
    for line in _LINE.finditer(_FENCED.sub("", design)):
        yield from parse_signatures(line["code"])


def _differences(
    cycle: PlanCycle, design: str, known: dict[str, PlannedSignature], place: str, plan: str
) -> Iterator[CheckProblem]:
    for text in cycle.interface:
        for one in parse_signatures(text):
            designed = known.get(one.name)
            if designed is None and not is_written(one, place, design):
                said = f"{cycle.id} plans {one.name or one.text}, which the design does not have"
                yield problem(
                    said, plan, cycle.line, expected=f"a signature of {place}", code="design.unknown_signature"
                )
            elif designed is not None and designed.shape != one.shape:
                said = f"{cycle.id} plans {one.name} with another signature than the design: {one.text}"
                yield problem(said, plan, cycle.line, expected=designed.text, code="design.other_signature")
