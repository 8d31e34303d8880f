"""Honest agents of DPTR: architect, designer, planner, their critics, QA and DE of every cycle, and the reviewer."""

from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Part


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
    """One function of a module in a file of its own, built test-first."""

    id: str
    function: str
    """Name and signature."""
    text: str
    """The criterion."""
    criterion: str
    proof: tuple[str, ...]
    """Expressions that are true of it."""
    body: str
    uses: str = ""
    """The imports of the body."""
    after: tuple[str, ...] = ()
    package: str = "money"

    @property
    def name(self) -> str:
        return self.function.partition("(")[0]

    @property
    def interface(self) -> str:
        return f"def {self.function}"

    @property
    def module(self) -> str:
        return f"src/{self.package}/the_{self.name}.py"

    @property
    def test_file(self) -> str:
        return f"tests/{self.package}/test_{self.name}.py"

    def code(self, body: str = "") -> str:
        """The module with a body; with its own one, if none is given."""
        top = f"{self.uses}\n\n\n" if self.uses and body != SKELETON else ""
        return f'{top}def {self.function}:\n    """{self.text}"""\n    {body or self.body}\n'

    def tests(self, *proof: str, name: str = "") -> str:
        """Its test, with other expressions if there are any."""
        lines = "\n".join(f"    assert {one}" for one in proof or self.proof)
        imports = f"from {self.package}.the_{self.name} import {self.name}"
        return f"{imports}\n\n\ndef test_{name or self.name}():\n{lines}\n"

    def planned(self) -> str:
        """Its lines in the plan."""
        files = f"[files: {self.module}, {self.test_file}]"
        after = f"  after: {', '.join(self.after)}\n  level: integration\n" if self.after else ""
        head = f"□ {self.id}: {self.text.rstrip('.')} ({self.name}) → ℜ→ℜᴳ→ℜᶠ {files}\n"
        return f"{head}  interface: {self.interface}\n  criteria: {self.criterion}\n{after}"

    def parts(self, at: str) -> list[Part]:
        return [
            Part.of("red", at, write={self.test_file: self.tests()}, exit={"type": "RC"}),
            Part.of("green", at, write={self.module: self.code()}, exit={"type": "GC"}),
            Part.of("adjust", at, exit={"type": "TA", "message": "The design says so."}),
            Part.of("refactor_tests", at, exit={"type": "RTC", "message": "Nothing to improve."}),
            Part.of("refactor_impl", at, exit={"type": "RIC", "message": "Nothing to improve."}),
            Part.of("review_tests", at, exit=APPROVED),
            Part.of("review_impl", at, exit=APPROVED),
        ]


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A module, and the batches of its plan."""

    name: str = "money"
    batches: tuple[tuple[Cycle, ...], ...]

    @property
    def at(self) -> str:
        return f"root/{self.name}"

    @property
    def design_file(self) -> str:
        return f"memory-bank/modules/{self.name}/design.md"

    @property
    def plan_file(self) -> str:
        return f"memory-bank/modules/{self.name}/tdd_plan.md"

    @property
    def cycles(self) -> tuple[Cycle, ...]:
        return tuple(cycle for batch in self.batches for cycle in batch)

    @property
    def given(self) -> dict[str, Any]:
        """The module as a brief names it."""
        criteria = [{"id": it.criterion, "text": it.text} for it in self.cycles]
        return {"name": self.name, "description": "What has to do with money.", "criteria": criteria}

    def place(self, cycle: Cycle) -> str:
        """The instance of a cycle."""
        number = next(n for n, batch in enumerate(self.batches, 1) if cycle in batch)
        return f"{self.at}/Batch{number}/{cycle.id}"

    def design(self) -> str:
        signatures = "\n".join(f"## {it.name}\n{it.text}\n\n```python\n{it.interface}\n```\n" for it in self.cycles)
        return f"# {self.name}\n\n{signatures}"

    def plan(self) -> str:
        batches = "".join(
            f"Batch{number}: (parallel {len(batch)})\n" + "".join(cycle.planned() for cycle in batch)
            for number, batch in enumerate(self.batches, 1)
        )
        return f"# The plan of {self.name}\n\n{batches}\nExecution checklist:\n□ every function has a test\n"

    def skeleton(self) -> dict[str, str]:
        return {it.module: it.code(SKELETON) for it in self.cycles}

    def parts(self) -> list[Part]:
        """The honest agents of the module."""
        own = [
            Part.of("design", f"{self.at}/design", exit={"type": "Designed", "design": self.design()}),
            Part.of("critic", f"{self.at}/design", exit={"type": "ACCEPT"}),
            Part.of("spec", f"{self.at}/plan", write={self.plan_file: self.plan()}, exit={"type": "PC"}),
            Part.of("critic", f"{self.at}/plan", exit={"type": "PA"}),
            Part.of("phase0", self.at, write=self.skeleton(), exit={"type": "P0C"}),
        ]
        return own + [part for cycle in self.cycles for part in cycle.parts(self.place(cycle))]


SKELETON: Final = "raise NotImplementedError"
APPROVED: Final = {"type": "APPROVED"}
REVIEWED: Final = {"type": "Reviewed", "validation": "VC", "quality": "QP", "report": "# Review\n\nAll is well."}
ARCHITECTURE: Final = {
    "type": "Architecture",
    "patterns": "# Patterns\n\nOne package for each module.",
    "tech": "# Tech\n\nPython and pytest.",
    "modules": [],
}

PARSE: Final = Cycle(
    id="TDD1",
    function="cents(text: str) -> int",
    text="An amount in units is read as cents.",
    criterion="MO-1",
    proof=("cents('1.20') == 120", "cents('24.05') == 2405", "cents('0.07') == 7"),
    body="return int(text.replace('.', ''))",
)
SHOW: Final = Cycle(
    id="TDD2",
    function="units(amount: int) -> str",
    text="Cents are written in units, with two digits behind the point.",
    criterion="MO-2",
    proof=("units(120) == '1.20'", "units(2405) == '24.05'", "units(7) == '0.07'"),
    body='return f"{amount // 100}.{amount % 100:02}"',
)
SHARE: Final = Cycle(
    id="TDD3",
    function="share(amount: int, parts: int) -> list[int]",
    text="An amount is shared out so that no part differs from another by more than one cent, the larger ones first.",
    criterion="MO-3",
    proof=("share(100, 3) == [34, 33, 33]", "share(6, 2) == [3, 3]", "share(5, 4) == [2, 1, 1, 1]"),
    body="return [(amount + parts - 1 - number) // parts for number in range(parts)]",
)
SPLIT: Final = Cycle(
    id="TDD4",
    function="split(text: str, parts: int) -> list[str]",
    text="A bill is split into amounts that people can read.",
    criterion="MO-4",
    proof=("split('1.00', 3) == ['0.34', '0.33', '0.33']", "split('0.06', 2) == ['0.03', '0.03']"),
    uses=("from money.the_cents import cents\nfrom money.the_share import share\nfrom money.the_units import units"),
    body="return [units(part) for part in share(cents(text), parts)]",
    after=("TDD1", "TDD2", "TDD3"),
)
ONE: Final = Module(batches=((PARSE,),))
"""One batch with one cycle."""
TWO: Final = Module(batches=((PARSE, SHOW),))
"""Two cycles side by side."""
MONEY: Final = Module(batches=((PARSE, SHOW, SHARE), (SPLIT,)))
"""Three cycles side by side, and one that builds on them."""


def product(*modules: Module, found: tuple[Module, ...] = ()) -> dict[str, Any]:
    """A world whose brief names some modules and whose architecture finds others, for `World(…, **product(ONE))`."""
    brief = {
        "id": "purse",
        "title": "Purse",
        "description": "Amounts of money for people.",
        "modules": [module.given for module in modules],
        "constraints": ["Amounts are whole cents."],
    }
    architecture = {**ARCHITECTURE, "modules": [module.given for module in found]}
    own = [
        Part.of("architecture", "root", exit=architecture),
        Part.of("audit", "root", exit={"type": "ACCEPT"}),
        Part.of("review", "root", exit=REVIEWED),
    ]
    parts = [part for module in (*modules, *found) for part in module.parts()]
    return {"protocol": "dptr", "files": {}, "spec": brief, "honest": own + parts}
