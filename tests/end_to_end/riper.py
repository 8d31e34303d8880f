"""Honest agents of RIPER: a small shop, designed, attacked, planned, built cycle by cycle, and validated."""

from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Part

PLAN: Final = "memory-bank/tdd_plan.md"
REPORT: Final = "memory-bank/validation.md"
ANALYSIS: Final = "memory-bank/failure_analysis.md"
CYCLE: Final = [
    "red RC",
    "green GC",
    "test RTC",
    "impl RIC",
    "qa_cross_review RFC",
    "de_cross_review RFC",
    "interface_check Passed",
    "integration_test Passed",
    "fold MergeComplete",
]
"""How a cycle goes when nothing goes wrong."""


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A cycle of the plan, which is about one function in a module of its own."""

    id: str
    module: str
    function: str
    """Name and signature."""
    body: str
    better: str
    """The body after the refactoring."""
    criterion: str
    text: str
    proof: tuple[str, ...]
    uses: str = ""
    after: str = ""

    @property
    def at(self) -> str:
        return f"root/{self.id}"

    @property
    def name(self) -> str:
        return self.function.partition("(")[0]

    @property
    def file(self) -> str:
        return f"src/shop/{self.module}.py"

    @property
    def test_file(self) -> str:
        return f"tests/test_{self.module}.py"

    def code(self, body: str = "") -> str:
        return f'{self.uses}def {self.function}:\n    """{self.text}"""\n    {body or self.body}\n'

    def tests(self, *proof: str, note: str = "") -> str:
        """The tests; that there is nothing to import yet is a failure, as in every first cycle of a module."""
        lines = "\n".join(f"    assert {one}" for one in proof or self.proof)
        missing = f'        pytest.fail("{self.name} is missing")\n'
        return (
            f"import pytest\n\ntry:\n    from shop.{self.module} import {self.name}\nexcept ImportError:\n\n"
            f"    def {self.name}(*_):\n{missing}\n\n{note}def test_{self.name}():\n{lines}\n"
        )

    def planned(self) -> str:
        lines = [
            f"□ {self.id}: {self.text} ({self.name}) → ℜ→ℜᴳ→ℜᶠ [files: {self.file}, {self.test_file}]",
            f"  interface: def {self.function}",
            f"  criteria: {self.criterion}",
            f"  module: {self.module}",
            *([f"  after: {self.after}"] if self.after else []),
        ]
        return "\n".join(lines)

    def parts(self) -> list[Part]:
        """QA and DE of the cycle, also when it is done again."""
        at = f"{self.at}*"
        return [
            Part.of("red", at, write={self.test_file: self.tests()}, exit=says("RC", f"{self.name} is tested.")),
            Part.of("green", at, write={self.file: self.code()}, exit=says("GC", f"{self.name} passes.")),
            Part.of("test", at, exit=says("RTC", "The tests are short enough.")),
            Part.of("impl", at, write={self.file: self.code(self.better)}, exit=says("RIC", "It reads better.")),
            Part.of("qa_cross_review", at, exit=says("RFC", "The code does what the design says.")),
            Part.of("de_cross_review", at, exit=says("RFC", "The tests state the design.")),
        ]


class Shop(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be built: the first method's module is the brief's, the others are found by the design."""

    cycles: tuple[Method, ...]

    @property
    def brief(self) -> dict[str, Any]:
        return {
            "id": "shop",
            "title": "A shop",
            "description": "Names things and says what they cost.",
            "modules": [_module(self.cycles[0])],
        }

    def designed(self, **more: Any) -> dict[str, Any]:
        specified = "\n".join(f"## {it.module}\n`def {it.function}`: {it.text} ({it.criterion})" for it in self.cycles)
        return {
            "type": "Designed",
            "message": "A module for each task.",
            "architecture_design": "# Architecture\nOne module for each task, and no state.\n",
            "module_specifications": f"# Modules\n{specified}\n",
            "tech_stack": "# Technology\nPython, and pytest for its tests [↗️σ₂:R1].\n",
            "modules": [_module(it) for it in self.cycles[1:]],
            **more,
        }

    def plan(self, *checklist: str) -> str:
        batches = [f"Batch{number}: (parallel 1)\n{it.planned()}" for number, it in enumerate(self.cycles, 1)]
        items = [f"□ {item}" for item in checklist or ("every function has a test",)]
        return "\n".join(["# Plan of the shop", *batches, "", "Execution checklist:", *items, ""])

    def parts(self) -> list[Part]:
        """The honest agents of all modes."""
        modes = [
            Part.of("O1P", "root", exit=self.designed()),
            Part.of("O2A", "root", exit=says("ACCEPT", "I found nothing against it.")),
            Part.of("audit", "root/*", exit=says("ACCEPT")),
            Part.of("O3P", "root", exit=says("PC", "From the inside out.", tdd_plan=self.plan())),
            Part.of("O4C", "root", exit=says("PA", "I would execute it.")),
            Part.of("O6V", "root", exit=PASSED),
            Part.of("O6V_failed", "root", exit=ANALYSED),
        ]
        return modes + [part for cycle in self.cycles for part in cycle.parts()]


def says(code: str, message: str = "", **fields: Any) -> dict[str, Any]:
    """→CODE: message."""
    return {"type": code, **({"message": message} if message else {}), **fields}


def critique(issue: str, where: str = "the plan", fix: str = "mend it") -> dict[str, str]:
    return {"where": where, "issue": issue, "requiredFix": fix}


def _module(method: Method) -> dict[str, Any]:
    return {
        "name": method.module,
        "description": f"The function {method.name}.",
        "criteria": [{"id": method.criterion, "text": method.text}],
    }


PASSED: Final = says(
    "Validated", verdict="Passed", report="# Validation\nEvery criterion is met, every item of the checklist too.\n"
)
ANALYSED: Final = says(
    "FailureReport",
    "The execution stopped.",
    classification="DE",
    failedGate="GREEN_GATE",
    rootCause="The implementation forgets the plural.",
    options=["Plan the plural as a cycle of its own."],
    failure_analysis="# Failure analysis\nThe implementation forgets the plural.\n",
)

LABEL: Final = Method(
    id="TDD1",
    module="labels",
    function="label(count: int, noun: str) -> str",
    body='return f"{count} {noun}" + ("s" if count != 1 else "")',
    better='plural = "" if count == 1 else "s"\n    return f"{count} {noun}{plural}"',
    criterion="AC-1",
    text="Things are named by their number and, unless it is one, their plural.",
    proof=("label(3, 'pen') == '3 pens'", "label(1, 'cup') == '1 cup'"),
)
PRICE: Final = Method(
    id="TDD2",
    module="prices",
    function="priced(count: int, noun: str, cents: int) -> str",
    uses="from shop.labels import label\n\n\n",
    body='return f"{label(count, noun)}: {count * cents}"',
    better='total = count * cents\n    return f"{label(count, noun)}: {total}"',
    criterion="AC-2",
    text="A line names the things and what they cost together.",
    proof=("priced(3, 'pen', 120) == '3 pens: 360'", "priced(1, 'cup', 5) == '1 cup: 5'"),
    after="TDD1",
)
SMALL: Final = Shop(cycles=(LABEL,))
"""One module, one cycle."""
SHOP: Final = Shop(cycles=(LABEL, PRICE))
"""A module of the brief and one of the design; two cycles, one after the other."""


def world_of(shop: Shop = SMALL) -> dict[str, Any]:
    """A world for `World(folder, **world_of())`."""
    return {"protocol": "riper", "files": {}, "spec": shop.brief, "honest": shop.parts()}
