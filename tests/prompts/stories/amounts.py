"""What the agents of DPTR say about the first module of its example."""

from typing import Any, Final

from treadle.protocol.items import Json

Values = dict[str, Json]
COMMIT: Final = "4f1c0a9be27d65380c1be4a7d90f2a6c85e3b1d7"
HEAD: Final = "9a3d51e07c84f6b2ad0e7719c5b8342fe6d01c4a"
RED: Final = "tests/test_amounts.py::test_both_spellings"
PARSE: Final = "def parse(text: str) -> Decimal"
PLACES: Final = {"design": "memory-bank/modules/amounts/design.md", "plan": "memory-bank/modules/amounts/tdd_plan.md"}


def cycle(number: int, title: str, interface: str, criterion: str) -> Values:
    name = interface.removeprefix("def ").partition("(")[0]
    return {
        "id": f"TDD{number}",
        "title": title,
        "methods": [name],
        "interface": interface,
        "files": [f"src/ledger/{name}.py", f"tests/test_{name}.py"],
        "after": [],
        "criteria": [criterion],
        "level": "unit",
        "module": "amounts",
        **PLACES,
    }


def batches() -> list[Any]:
    cycles = [
        cycle(1, "Read amounts", PARSE, "AM-1"),
        cycle(2, "Refuse what is too exact", "def exact(text: str) -> None", "AM-2"),
    ]
    return [{"id": "Batch1", "parallel": 2, "cycles": cycles}]


CHECKLIST: Final[list[Any]] = [{"id": "C1", "text": "Every error that the design names has a test."}]
ARCHITECTURE: Final[Values] = {
    "patterns": "# Patterns\n\nOne module for each step of the import.",
    "tech": "# Tech\n\nThe standard library only.",
    "modules": [
        {
            "name": "summary",
            "description": "Prints a month by category.",
            "criteria": [{"id": "AC-SUMMARY", "text": "One line for each category, sorted by amount."}],
        }
    ],
}
DESIGNED: Final[Values] = {"design": f"# amounts\n\n```\n{PARSE}\n```"}
CRITIQUE: Final[Values] = {
    "where": "amounts, errors",
    "issue": "Nothing says what an empty text is.",
    "requiredFix": "Name the error.",
}
REVISE: Final[Values] = {"message": "Nearly.", "critiques": [CRITIQUE]}
REJECT: Final[Values] = {"reason": "Two modules would own the rules of rounding.", "critiques": [CRITIQUE]}
PLANNED: Final[Values] = {
    "message": "Two cycles that need nothing of each other.",
    "plan": {"batches": batches(), "execution_checklist": CHECKLIST},
    "commit": COMMIT,
}
REVISED: Final[Values] = {**PLANNED, "message": "The error has a name.", "objections": ["One file is enough."]}
ACCEPTED: Final[Values] = {"batches": batches(), "execution_checklist": CHECKLIST}
WRITTEN: Final[Values] = {"message": "Both spellings, and nothing.", "tests": [RED], "commit": COMMIT}
ISSUE: Final[Values] = {
    "message": "It cannot be passed.",
    "issues": [{"test": "test_both_spellings", "issue": "'1.234' is both.", "suggestion": "Write '1.234,00'."}],
}
PASSED: Final[Values] = {"message": "A comma decides.", "passedTests": [RED], "commit": COMMIT}
ADVICE: Final[Values] = {"advice": ["src/ledger/parse.py:3: COMMA is never used"]}
GREEN: Final[Values] = {**PASSED, **ADVICE}
LINES: Final = "- (note) of the changed lines the tests run 3 of 4 before the step and 4 of 4 after it"
REFACTORED: Final[Values] = {**PASSED, "message": "Names only.", "lineCoverage": [LINES]}
"""Of tests."""
REBUILT: Final[Values] = {**REFACTORED, **ADVICE}
"""Of code."""
PROPOSAL: Final[Values] = {**REVISE, "interfaceProposal": "def parse(text: str, point: str) -> Decimal"}
ROLLED_BACK: Final[Values] = {"restoredCommit": COMMIT, "report": f"### green\n- {RED}: fails"}
REFUSED: Final[Values] = {
    "reason": "IntegrationFailure",
    "details": f"{RED} fails on the merged tree.",
    "failingTests": [RED],
}
MERGED: Final[Values] = {"mergeCommit": HEAD, "newParentHead": HEAD}
DRIFT: Final[Values] = {"newBase": HEAD, "conflictFiles": ["src/ledger/parse.py"], "changedTests": []}


def reviewed(validation: str, quality: str) -> Values:
    return {
        "validation": validation,
        "quality": quality,
        "report": "# Review\n\nAM-2 is not met.",
        "findings": [CRITIQUE],
        "passedTests": [RED],
        "failedTests": [],
    }
