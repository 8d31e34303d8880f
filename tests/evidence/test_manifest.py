"""Which test stands for which criterion."""

import json

import pytest

from treadle.evidence.manifest import Manifest, entries_of_spec, parse_manifest

GOOD = """{
  "spec_id": "REQ-102",
  "acceptance_criteria_map": {
    "test_sorts": "AC-1: keeps the order",
    "test_both": ["AC-1", "AC-2: and this"],
    "test_whole": "contract:AC-2"
  },
  "complexity_constraints": {"time": "O(n log n)"}
}
"""


def test_a_manifest_is_read() -> None:
    found = parse_manifest("m.json", GOOD, ["AC-1", "AC-2"])
    assert found.problems == ()
    assert [(one.test, one.criterion, one.is_contract, one.line) for one in found.entries] == [
        ("test_sorts", "AC-1", False, 4),
        ("test_both", "AC-1", False, 5),
        ("test_both", "AC-2", False, 5),
        ("test_whole", "AC-2", True, 6),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{\n  oops\n}", 2),
        ("", 1),
        ("[]", 1),
        ('{"acceptance_criteria_map": []}', 1),
        ('{"acceptance_criteria_map": {},\n "criteria": 1}', 2),
        ('{"acceptance_criteria_map": {\n"test_a": "AC-1",\n"test_a": "AC-2"}}', 3),
        ('{"acceptance_criteria_map": {\n"test_a": 7}}', 2),
        ("[" * 100_000, 1),
    ],
)
def test_a_file_that_is_no_manifest_is_refused_with_its_line(text: str, line: int) -> None:
    first = parse_manifest("m.json", text).problems[0]
    assert (first.code, first.file, first.line) == ("manifest.invalid", "m.json", line)


@pytest.mark.parametrize(
    ("text", "criterion"),
    [("AC-1", "AC-1"), ("AC-10: x", "AC-10"), ("AC-1 x", "AC-1"), ("REQ:7: text", "REQ:7"), ("AC-3: unknown", "AC-3")],
)
def test_the_longest_known_criterion_counts(text: str, criterion: str) -> None:
    listed = json.dumps({"acceptance_criteria_map": {"t": text}})
    assert (
        parse_manifest("m", listed, sorted(["AC-1", "AC-10", "REQ:7"], key=len, reverse=True)).entries[0].criterion
        == criterion
    )


def manifest(spec: str, **entries: str) -> Manifest:
    named = {"spec_id": spec} if spec else {}
    return parse_manifest("m.json", json.dumps({**named, "acceptance_criteria_map": entries}), ["AC-1", "AC-2"])


NONE = Manifest()
OLD = manifest("first", test_old="AC-1")
CHANGED = manifest("first", test_new="AC-1")
UNNAMED = manifest("", test_old="AC-1")


@pytest.mark.parametrize(
    ("now", "older", "own", "aside", "foreign"),
    [
        pytest.param(manifest("second", t="AC-1"), NONE, ["t"], [], [], id="its own file"),
        pytest.param(manifest("", t="AC-1"), NONE, ["t"], [], [], id="a file that names no spec"),
        pytest.param(OLD, OLD, [], ["test_old"], [], id="an older file as it was"),
        pytest.param(
            manifest("first", test_old="AC-1", t="AC-2"), OLD, ["t"], ["test_old"], [], id="entries beside older ones"
        ),
        pytest.param(
            manifest("second", test_old="AC-1", t="AC-2"),
            OLD,
            ["t"],
            ["test_old"],
            [],
            id="a new name above old entries",
        ),
        pytest.param(UNNAMED, UNNAMED, [], ["test_old"], [], id="an older file without a spec"),
        pytest.param(
            manifest("second", test_old="AC-1", t="AC-2"), UNNAMED, ["t"], ["test_old"], [], id="which is given one"
        ),
        pytest.param(manifest("second", test_old="holds:AC-1"), UNNAMED, ["test_old"], [], [], id="holds instead"),
        pytest.param(
            manifest("second", test_old="second/AC-1"),
            UNNAMED,
            ["test_old"],
            [],
            [],
            id="an old entry that names its spec",
        ),
        pytest.param(manifest("second", test_new="AC-1"), CHANGED, ["test_new"], [], [], id="a test that is rewritten"),
        pytest.param(CHANGED, CHANGED, [], ["test_new"], [], id="a rewritten test of an older file as it was"),
        pytest.param(manifest("third", t="AC-1"), NONE, [], ["t"], ["t"], id="a name that nobody has given"),
        pytest.param(manifest("third", t="second/AC-1"), NONE, ["t"], [], [], id="an entry that names its spec"),
        pytest.param(manifest("second", t="first/AC-1"), NONE, [], ["t"], ["t"], id="an entry of another spec"),
    ],
)
def test_an_entry_counts_for_the_spec_that_it_belongs_to(
    now: Manifest, older: Manifest, own: list[str], aside: list[str], foreign: list[str]
) -> None:
    found, earlier = entries_of_spec(now, older, "second", {"test_new"})
    assert [one.test for one in found.entries] == own
    assert [one.test for one in found.set_aside] == aside
    assert [one.test for one in found.foreign] == foreign
    assert earlier == []


def test_an_entry_of_the_same_spec_from_before_the_run_is_listed_separately() -> None:
    older = manifest("second", test_old="AC-1")
    found, earlier = entries_of_spec(manifest("second", test_old="AC-1", t="AC-2"), older, "second")
    assert [one.test for one in found.entries] == ["test_old", "t"]
    assert [one.test for one in earlier] == ["test_old"]
