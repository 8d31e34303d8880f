"""tdd_plan.md, read: batches of cycles with their signatures, and the checklist. Prose between the lines is ignored."""

import re
from typing import Final

import msgspec

from treadle.evidence.findings import Problem, problem
from treadle.protocol.items import Json

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


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
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


class Batch(msgspec.Struct, frozen=True):
    """Cycles that run together."""

    id: str
    parallel: int
    cycles: tuple[Cycle, ...]
    line: int


class Plan(msgspec.Struct, frozen=True):
    """A plan as it is written, and why parts of it cannot be read."""

    batches: tuple[Batch, ...] = ()
    checklist: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def cycles(self) -> tuple[Cycle, ...]:
        return tuple(cycle for batch in self.batches for cycle in batch.cycles)


def parse_plan(text: str, file: str) -> Plan:
    """Read a plan."""
    reader = _Reader(file)
    for number, line in enumerate(text.translate(_DIGITS).splitlines(), 1):
        reader.take(number, line)
    return reader.plan()


class _Reader:
    """Goes through a plan line by line."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._batches: list[tuple[int, int, int]] = []
        self._cycles: list[list[Cycle]] = []
        self._checklist: list[str] = []
        self._problems: list[Problem] = []
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
                f"{match['id']} stands in no batch",
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
            Cycle(
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

    def plan(self) -> Plan:
        batches = tuple(
            Batch(f"Batch{n}", parallel, tuple(cycles), line)
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
        return Plan(batches, tuple(self._checklist), tuple(self._problems))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for one in re.split(r"[,;]", text) if (part := one.strip().strip("`").strip()))


def soundness(plan: Plan, file: str) -> list[Problem]:
    """No dependency or shared file inside a batch, none forward, parallelism 1 to 3, integration alone."""
    found: list[Problem] = []
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
                        f"{cycle.id} stands there twice", file, cycle.line, expected="each once", code="plan.duplicate"
                    )
                )
            seen.add(cycle.id)
            found += _dependencies(cycle, number, place, file)
            if cycle.level == "integration" and len(batch.cycles) > 1:
                found.append(
                    problem(
                        f"{cycle.id} is an integration and not alone",
                        file,
                        cycle.line,
                        expected="a batch of its own",
                        code="plan.integration",
                    )
                )
        found += _shared(batch, file)
    return found


def _dependencies(cycle: Cycle, number: int, place: dict[str, int], file: str) -> list[Problem]:
    found: list[Problem] = []
    for other in cycle.after:
        if other not in place:
            found.append(
                problem(
                    f"{cycle.id} builds on {other}, which is not there",
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


def _shared(batch: Batch, file: str) -> list[Problem]:
    owners: dict[str, str] = {}
    found: list[Problem] = []
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
