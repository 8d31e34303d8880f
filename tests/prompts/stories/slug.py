"""What the agents of V3's example say: the payloads of its stories."""

from typing import Any

from treadle.protocol.items import Json

BASE, HEAD = "4f1c2a9", "b7730de"


def plan(*extra: Json, **more: Any) -> dict[str, Json]:
    tests: list[Json] = [
        planned("AC-1", "test_runs_of_other_characters_become_one_hyphen", "slug of 'A  b!c' is 'a-b-c'."),
        planned("AC-2", "test_accents_are_dropped", "slug of 'Crème brûlée' is 'creme-brulee'."),
        planned("AC-3", "test_no_word_is_cut", "A title of 70 characters ends at the last word that fits into 60."),
        planned("AC-4", "test_a_title_without_letters_is_refused", "slug of '!!!' raises EmptyTitle that names '!!!'."),
        planned("AC-5", "test_the_second_article_gets_a_suffix", "Twice the same title: 'a' and 'a-2'."),
    ]
    return {
        "scaffoldCommit": BASE,
        "interfaceFile": "src/slug/__init__.py",
        "contractSuite": "tests/slug/test_contract.py",
        "testPlan": [*tests, *extra],
    } | more


def planned(criterion: str, name: str, approach: str) -> Json:
    return {"criterionId": criterion, "plannedTestName": name, "approach": approach}


def red(*tests: str, criteria: str = "AC-1 AC-2 AC-3 AC-4 AC-5", advice: tuple[str, ...] = ()) -> dict[str, Json]:
    names = tests or ("test_runs_of_other_characters_become_one_hyphen", "test_accents_are_dropped")
    return {
        "testsCommit": "91ce5b0",
        "testFiles": ["tests/slug/test_slug.py"],
        "pendingTests": [f"tests/slug/test_slug.py::{name}" for name in names],
        "pendingCriteria": list(criteria.split()),
        "advice": list(advice),
    }


def green(**more: Any) -> dict[str, Json]:
    return {
        "commitHash": HEAD,
        "passedTests": [
            "tests/slug/test_slug.py::test_runs_of_other_characters_become_one_hyphen",
            "tests/slug/test_slug.py::test_accents_are_dropped",
        ],
        "coveredCriteria": ["AC-1", "AC-2"],
        "scaling": [],
        "advice": [],
        "diff": "--- a/src/slug/words.py\n+++ b/src/slug/words.py\n@@ -1,2 +1,3 @@\n def slug(title):\n"
        "-    raise NotImplementedError\n+    words = WORD.findall(plain(title).lower())\n+    return '-'.join(words)",
        "note": None,
    } | more


RETRY: dict[str, Json] = {
    "diagnosis": "Combining marks survive the lowering, so 'é' becomes a hyphen.",
    "strategyFrom": "Replaced every character that is not a letter by a hyphen.",
    "strategyTo": "Take the title apart into base letters and marks first.",
    "failingTests": ["tests/slug/test_slug.py::test_accents_are_dropped"],
}
CRITIQUE: Json = {
    "file": "src/slug/words.py",
    "line": 14,
    "issue": "The table of accents knows only the five letters that the tests use.",
    "requiredFix": "Derive the base letter for every accented Latin letter.",
}
MORE: dict[str, Json] = {
    "critiques": [CRITIQUE],
    "additionalTests": [planned("AC-2", "test_any_accent_is_dropped", "Every letter of Latin-1 with an accent.")],
}
QUESTION: dict[str, Json] = {
    "question": "Does ß become ss, or is it dropped?",
    "ambiguityReference": "AC-2",
    "specSentence": "Accented Latin letters become their base letters",
}
APPROVED: dict[str, Json] = {
    "signOff": "Every criterion is met by code that does not know its tests.",
    "changeReasons": None,
    "coverageReport": {"criteriaWithTests": [], "criteriaMissing": []},
}
DRIFT: dict[str, Json] = {
    "newBase": "c0ffee1",
    "conflictFiles": ["src/slug/series/numbering.py"],
    "changedTests": ["tests/slug/series/test_series.py::test_the_third"],
}
STUCK: dict[str, Json] = {
    "diagnosis": "AC-3 and AC-5 together cannot be kept: a suffix makes a slug of 60 characters too long.",
    "recommendation": "Say whether the suffix counts towards the 60 characters.",
}


def child(id_: str, *criteria: tuple[str, str]) -> dict[str, Json]:
    return {
        "id": id_,
        "description": f"The part of the slug library that is about {id_}.",
        "acceptanceCriteria": [{"id": criterion, "text": text} for criterion, text in criteria],
        "targetPath": f"src/slug/{id_}",
        "testPath": f"tests/slug/{id_}",
        "complexityConstraints": None,
    }


WORDS = child(
    "words",
    ("AC-1", "Letters are lowered, and every run of other characters becomes one hyphen."),
    ("AC-2", "Accented Latin letters become their base letters."),
)
SERIES = child("series", ("AC-5", "A second article with the same title gets the suffix -2, the third -3."))
TREE = plan(
    testPlan=[
        planned("AC-3", "test_no_word_is_cut", "A title of 70 characters ends at the last word that fits into 60."),
        planned("AC-4", "test_a_title_without_letters_is_refused", "slug of '!!!' raises EmptyTitle that names '!!!'."),
    ],
    childSpecs=[WORDS, SERIES],
    interfaces=[{"path": "src/slug/titles.py", "exports": ["Title", "EmptyTitle"]}],
)


def of_child(id_: str) -> dict[str, Json]:
    return {
        "scaffoldCommit": "07ab3e1",
        "interfaceFile": f"src/slug/{id_}/__init__.py",
        "contractSuite": f"tests/slug/{id_}/test_contract.py",
        "testPlan": [planned("AC-1", f"test_{id_}", "The whole of it, once.")],
    }


def merge_of(id_: str, impact: str) -> dict[str, Json]:
    return {
        "mergeCommit": "c0ffee1",
        "newParentHead": "c0ffee1",
        "diff": "+++ b/src/slug/words/__init__.py\n@@ -0,0 +1 @@\n+def words(title: Title) -> list[str]: ...",
        "author": id_,
        "impactLevel": impact,
        "changes": [
            {
                "symbol": "slug.words.words",
                "changeType": "SignatureChange",
                "from": "words(title: str) -> list[str]",
                "to": "words(title: Title) -> list[str]",
                "reason": "A title knows its language, and the language decides what a base letter is.",
            }
        ],
    }


UNVERIFIED: dict[str, Json] = {
    "reason": "Unverified",
    "details": "- slug/AC-5: tests/slug/test_unique.py::test_two_at_once was never seen failing [evidence.never_red]",
    "failingTests": [],
}
REFUSED_MERGE: dict[str, Json] = {
    "reason": "ContractViolation",
    "details": "tests/slug/test_contract.py::test_a_shop_of_titles fails on the merged tree:\n"
    "assert slug('Crème') == 'creme'",
    "failingTests": ["tests/slug/test_contract.py::test_a_shop_of_titles"],
}


def accepted(id_: str) -> dict[str, Json]:
    return {"child": id_, "reason": "Its criteria hold on the merged tree.", "provides": [f"slug.{id_}.{id_}"]}
