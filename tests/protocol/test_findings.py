import pytest

from treadle.protocol.findings import Finding, Place, suggest, to_json

FINDING = Finding(
    Place("v3/protocol.yaml", 12, 7),
    "node.tests",
    "TestsReady leads to unknown step 'implement'",
    "did you mean 'impl'?",
    3,
)


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (
            FINDING,
            "v3/protocol.yaml:12: node.tests: TestsReady leads to unknown step 'implement' (did you mean 'impl'?)",
        ),
        (Finding(Place("a.yaml"), "", "there is no such file"), "a.yaml: there is no such file"),
        (Finding(Place("a.yaml", 3), "roles.de", "unused", level="warning"), "a.yaml:3: warning: roles.de: unused"),
    ],
)
def test_a_finding_is_one_line(finding: Finding, text: str) -> None:
    assert str(finding) == text


def test_findings_as_json_are_flat() -> None:
    assert to_json([FINDING]) == [
        {
            "file": "v3/protocol.yaml",
            "line": 12,
            "column": 7,
            "where": "node.tests",
            "message": "TestsReady leads to unknown step 'implement'",
            "hint": "did you mean 'impl'?",
            "check": 3,
            "level": "error",
            "code": "",
        }
    ]


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("implement", ["impl", "review"], "did you mean 'impl'?"),
        ("Impl", ["impl", "reviews"], "did you mean 'impl'?"),
        ("gate", ["gates", "routes"], "did you mean 'gates'?"),
        ("xyz", ["gates", "routes"], ""),
        ("x" * 100_000, ["gates"], ""),
        ("a", [], ""),
    ],
)
def test_the_nearest_known_word_is_suggested(word: str, known: list[str], hint: str) -> None:
    assert suggest(word, known) == hint
