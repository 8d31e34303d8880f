"""Guards, and the proofs that depend on them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.guards import Comparison, GuardError, holds, parse, proof_of
from treadle.protocol.items import Json
from treadle.protocol.load import load

# Guards: what they can say, what they refuse, and that evaluating one never fails.


WORLD: dict[tuple[str, str], Any] = {
    ("data", "count"): 3,
    ("data", "kind"): "A",
    ("last", "review"): "Approved",
    ("last", "sdd-delta"): "pass",
    ("spent", "reviews"): 2,
    ("attempt", ""): 4,
    ("root", ""): True,
    ("round", ""): 1,
}


def look(root: str, name: str) -> Any:
    return WORLD.get((root, name))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("data.count > 2 and last.review == 'Approved'", True),
        ("data.count < 2 or root", True),
        ("not root", False),
        ("1 < data.count <= 3", True),
        ("last['sdd-delta'] == 'pass'", True),
        ("data['count'] == 3", True),
        ("data.kind in ('A', 'B')", True),
        ("data.kind not in ['A', 'B']", False),
        ("data.kind in 'ABC'", False),
        ("round + 1", 2),
        ("round - attempt * 2", -7),
        ("-round", -1),
        ("spent.reviews >= 2", True),
        ("data.kind != 'A'", False),
        ("None", None),
        # what is missing or of another kind is never larger, smaller, or a number
        ("data.missing > 0", False),
        ("data.missing <= 0", False),
        ("data.missing == None", True),
        ("data.kind > 1", False),
        ("data.kind < 'B'", True),
        ("data.kind + 1", 1),
        ("-data.kind", 0),
        ("999999999 * 999999999", 10**9),
        ("-999999999 * 999999999", -(10**9)),
    ],
)
def test_a_guard_evaluates_to_its_value(text: str, value: object) -> None:
    assert parse(text).evaluate(look) == value


def test_the_empty_guard_holds() -> None:
    assert holds("", look)
    assert holds("root", look)
    assert not holds("data.missing", look)


def test_the_names_and_comparisons_a_guard_mentions() -> None:
    guard = parse("data.count > 2 and last['sdd-delta'] in ('pass', 'failing') and round == spent.reviews")
    assert guard.names == {"data.count", "last.sdd-delta", "round", "spent.reviews"}
    assert guard.comparisons == (
        Comparison("data.count", (2,)),
        Comparison("last.sdd-delta", ("pass", "failing")),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cannot be read"),
        ("data.count >", "cannot be read: invalid syntax"),
        ("__import__('os').system('true')", "may not contain a call"),
        ("data.count.real", "only data.x, last.x and spent.x have parts"),
        ("root.x", "may not contain an attribute"),
        ("().__class__", "may not contain an attribute"),
        ("data[1]", "may not contain a subscript"),
        ("data['a' + 'b']", "may not contain a subscript"),
        ("2 ** 99999", r"may not contain `\*\*` \('2 \*\* 99999'\)"),
        ("1 / 0", "may not contain `/`"),
        ("'a' % ()", "may not contain `%`"),
        ("99999999999", "a number beyond"),
        ("1 is 1", "may only compare with"),
        ("x if y else z", "may not contain `if … else`"),
        ("[x for x in y]", "may not contain a comprehension"),
        ("(lambda: 1)()", "may not contain a call"),
        ("lambda: 1", "may not contain a lambda"),
        ("f'{data.count}'", "may not contain a formatted text"),
        ("data.count in (round, 1)", "a list holds literals only"),
        ("~attempt", "may not contain `~`"),
        ("+attempt", r"may not contain `\+ before a value`"),
        ("{1: 2}", "may not contain braces"),
        ("attempt in (1 + 1, 2)", r"may not contain `\+` \('1 \+ 1'\) here; a list holds literals only"),
        ("(x := 1)", "may not contain an assignment"),
        ("b'x'", r'may not contain this value \("b\'x\'"\); values are numbers, texts'),
        ("1j", "may not contain this value"),
        ("...", "may not contain this value"),
        ("\x00", "cannot be read"),
        ("-" * 40 + "1", "nested more than 16 deep"),
        ("not " * 60 + "x", "nested more than 16 deep"),
        ("x or " * 80 + "x", "has 401 characters, the limit is 300"),
        ("(" * 250 + "1" + ")" * 40, "cannot be read"),
    ],
)
def test_a_malformed_guard_is_refused(text: str, why: str) -> None:
    with pytest.raises(GuardError, match=why):
        parse(text)


@given(st.text(max_size=320) | st.text("datlsten.x()[]'\"0123456789+-*/<>=!&|^~ ", max_size=120))
def test_any_text_is_a_guard_or_refused(text: str) -> None:
    try:
        guard = parse(text)
    except GuardError:
        return
    guard.evaluate(look)


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=True)
TEXTS = [
    "data.a < data.b",
    "data.a + data.b * 2",
    "data.a in (1, 'x')",
    "not data.a and data.b >= data.a",
    "-data.a == 1",
]


@given(st.sampled_from(TEXTS), VALUES, VALUES)
def test_evaluating_never_fails(text: str, a: object, b: object) -> None:
    parse(text).evaluate(lambda _, name: a if name == "a" else b)


# What an accepted exit proves.


@pytest.mark.parametrize(
    ("protocol", "exit_", "fields", "proof"),
    [
        ("dptr", "Reviewed", {"validation": "VC", "quality": "QP"}, "approval"),
        ("dptr", "Reviewed", {"validation": "DF", "quality": "QP"}, ""),
        ("dptr", "Reviewed", {"validation": "VC", "quality": "QF"}, ""),
        ("dptr", "Reviewed", {"validation": "VC", "quality": None}, ""),
        ("dptr", "Reviewed", {}, ""),
        ("dptr", "APPROVED", {}, "approval"),
        ("riper", "Validated", {"verdict": "Passed"}, "approval"),
        ("riper", "Validated", {"verdict": "Failed"}, ""),
        ("riper", "RFC", {}, "approval"),
    ],
)
def test_only_some_values_make_a_proof(protocol: str, exit_: str, fields: dict[str, Json], proof: str) -> None:
    assert proof_of(load(protocol).exits[exit_], fields) == proof
