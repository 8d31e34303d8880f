"""What the agents of the fractal's example say: the payloads of its stories."""

from typing import Any

from treadle.protocol.items import Json

DIFF = "+++ b/src/ledger/amount.py\n@@ -4 +4 @@\n-    raise NotImplementedError\n+    return cents"


def planned(criterion: str, name: str, approach: str) -> Json:
    return {"criterionId": criterion, "plannedTestName": name, "approach": approach}


PLAN: dict[str, Json] = {
    "scaffoldCommit": "4f1c2a9",
    "interfaceFile": "src/ledger/__init__.py",
    "contractSuite": "tests/ledger/test_contract.py",
    "testPlan": [
        planned("AC-1", "test_ten_times_ten_cents", "Adds 0.10 ten times and expects exactly 1.00."),
        planned("AC-2", "test_a_booking_needs_two_accounts", "Books from an account to itself; it is refused."),
        planned("AC-3", "test_a_balance_counts_the_day_itself", "One booking on the day that is asked for."),
        planned("AC-4", "test_a_booking_is_undone_once", "The second counter-booking is refused."),
        planned("AC-5", "test_the_report_is_sorted", "Three accounts, booked in another order."),
    ],
}


def child(id_: str, *criteria: tuple[str, str]) -> dict[str, Json]:
    return {
        "id": id_,
        "description": f"The {id_} of the ledger.",
        "acceptanceCriteria": [{"id": criterion, "text": text} for criterion, text in criteria],
        "targetPath": f"src/ledger/{id_}",
        "testPath": f"tests/ledger/{id_}",
        "complexityConstraints": None,
    }


TREE: dict[str, Json] = {
    "scaffoldCommit": "4f1c2a9",
    "interfaceFile": "src/ledger/__init__.py",
    "contractSuite": "tests/ledger/test_contract.py",
    "interfaces": [{"path": "src/ledger/money.py", "exports": ["Amount"]}],
    "childSpecs": [
        child(
            "bookings",
            ("AC-1", "Amounts are kept in whole cents."),
            ("AC-2", "A booking has a date, an amount, a text and two different accounts."),
            ("AC-4", "A booking can be undone only once."),
        ),
        child(
            "reports",
            ("AC-3", "The balance of an account on a day counts all bookings up to and including that day."),
            ("AC-5", "The report of a year lists all accounts, sorted by name."),
        ),
    ],
}
QUESTION: dict[str, Json] = {
    "question": "Is a booking of 0.00 refused?",
    "ambiguityReference": "AC-2",
    "specSentence": "A booking has a date, an amount, a text and two different accounts",
}
CHALLENGE: dict[str, Json] = {
    "testsCommit": "91ce5b0",
    "newTests": ["tests/ledger/test_ledger.py::test_ten_times_ten_cents"],
    "testFiles": ["tests/ledger/test_ledger.py"],
    "criteria": ["AC-1"],
    "intent": "Amounts add up exactly, however often they are added.",
}
CONCLUDED: dict[str, Json] = {
    "suiteCommit": "d00d1e5",
    "criteriaMap": [{"criterionId": "AC-1", "testName": "tests/ledger/test_ledger.py::test_ten_times_ten_cents"}],
    "scaling": ["report grows like n log n (limit O(n log n)), measured on 5 sizes"],
    "advice": ["src/ledger/amount.py:9 repeats '1.00', which only a test says"],
    "diff": DIFF,
    "summary": "AC-4 has two tests: for a booking, and for a counter-booking.",
}
FAULT: dict[str, Json] = {
    "provenance": "Amounts are kept in whole cents; adding 0.10 ten times gives exactly 1.00.",
    "evidence": "assert Amount('0.10') * 10 == Amount('1.00') fails with 0.9999999999999999",
}
RETRY: dict[str, Json] = {
    "exception": "SKILL_ISSUE",
    **FAULT,
    "diagnosis": "Amounts are kept as binary fractions.",
    "strategyFrom": "Rounded after each addition.",
    "strategyTo": "Keep whole cents.",
    "failingTests": ["tests/ledger/test_ledger.py::test_ten_times_ten_cents"],
}
BLOCKED: dict[str, Json] = {
    "exception": "MISSING_DEPENDENCY",
    **FAULT,
    "missingSymbol": "parse_amount",
    "expectedImportPath": "src/ledger/money.py",
    "foundAt": ["src/ledger/bookings/__init__.py"],
}
UNCLEAR: dict[str, Json] = {
    "exception": "AMBIGUITY",
    **FAULT,
    "question": "Is an amount with three decimals refused or rounded?",
}
CRITIQUES: dict[str, Json] = {
    "critiques": [
        {
            "file": "src/ledger/amount.py",
            "line": 0,
            "issue": "Two functions convert to cents, in two ways.",
            "requiredFix": "Keep one of them.",
        }
    ]
}
MERGE_REFUSED: dict[str, Json] = {
    "reason": "IntegrationFailure",
    "details": "tests/ledger/reports/test_reports.py::test_a_year fails on the merged tree",
    "failingTests": ["tests/ledger/reports/test_reports.py::test_a_year"],
}
UNVERIFIED: dict[str, Json] = {
    "reason": "Unverified",
    "details": "- ledger/AC-5: tests/ledger/test_amounts.py::test_sorted_by_name was never seen failing "
    "[evidence.never_red]",
    "failingTests": [],
}
MISSING: dict[str, Json] = {"reason": "Nothing shows that a report is sorted by name.", "missingCriteria": ["AC-5"]}
APPROVED: dict[str, Json] = {
    "signOff": "Every criterion is met.",
    "changeReasons": None,
    "coverageReport": {"criteriaWithTests": [], "criteriaMissing": []},
}
DRIFT: dict[str, Json] = {
    "newBase": "c0ffee1",
    "conflictFiles": ["src/ledger/reports/year.py"],
    "changedTests": ["tests/ledger/reports/test_reports.py::test_a_year"],
}


def stuck(variant: str) -> dict[str, Json]:
    return {
        "variant": variant,
        "exception": "CONTRADICTION",
        **FAULT,
        "diagnosis": "A report that is sorted cannot be made while bookings arrive.",
        "recommendation": "Say that a report is of one moment.",
    }


def passed(**more: Any) -> dict[str, Json]:
    return {"commitHash": "b7730de", "passedTests": list(CHALLENGE["newTests"]), "note": None} | more  # type: ignore[arg-type]


def changed(**more: Any) -> dict[str, Json]:
    return passed(diff=DIFF, **more)


def merge_of(id_: str, impact: str) -> dict[str, Json]:
    changes: list[Json] = [
        {
            "symbol": "ledger.bookings.book",
            "type": "SIGNATURE_CHANGE",
            "from": "book(amount: float) -> Booking",
            "to": "book(amount: Amount) -> Booking",
            "reason": "Amounts are exact.",
        },
        {"symbol": "ledger.bookings.undo", "type": "NEW_EXPORT", "from": None, "to": "undo(b: Booking)", "reason": ""},
    ]
    return {
        "mergeCommit": "c0ffee1",
        "newParentHead": "c0ffee1",
        "author": id_,
        "impactLevel": impact,
        "changes": changes,
    }
