"""A mistake that keeps a file from being read hides no other one, and none is told that only follows from it."""

import pytest

from tests.protocol.loading import findings
from treadle.protocol.load import starting_folder

START = starting_folder("start")["protocol.yaml"]
UNREAD = "'attempts' must be a whole number, not text"
NO_ROLE = "is done by unknown role 'testr'"
NO_END = "Approved leads to unknown outcome 'Don'"


def told(*changes: tuple[str, str]) -> list[str]:
    text = START
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return [one.message for one in findings(text) if "template" not in one.message]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((("attempts: 3", "attempts: four"),), [UNREAD]),
        ((("attempts: 3", "attempts: four"), ("role: tester", "role: testr")), [NO_ROLE, UNREAD]),
        ((("attempts: 4", "attempts: four"), ("@end:Done", "@end:Don")), [UNREAD, NO_END]),
        (
            (("agents: 2", "agents: two"), ("@end:Done", "@end:Don")),
            ["'agents' must be a whole number, not text", NO_END],
        ),
        (
            (("attempts: 3", "attempts: four"), ("role: tester", "role: testr"), ("@end:Done", "@end:Don")),
            [NO_ROLE, UNREAD, NO_END],
        ),
    ],
)
def test_independent_mistakes_are_told_together(changes: tuple[tuple[str, str], ...], expected: list[str]) -> None:
    assert told(*changes) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("role: developer", "roll: developer", "nobody works in this step"),  # others lead to it and read of it
        ("exits: [Fixed, GiveUp]", "exist: [Fixed, GiveUp]", "unknown key 'exist'"),  # others read its exits
        ("role: developer", "role: [developer]", "'role' must be text, not a list"),
        ("  Fixed:\n    about", "  Fixed it:\n    about", "'Fixed it' is not a name"),
        ("    ends:\n", "    end:\n", "unknown key 'end'"),  # every outcome is lost with it
    ],
)
def test_what_follows_from_a_mistake_is_not_told(old: str, new: str, expected: str) -> None:
    found = told((old, new))
    assert expected in found
    assert not [one for one in found if "unknown step" in one or "unknown outcome" in one or "has no exit" in one]


def test_each_is_told_where_it_stands() -> None:
    text = START.replace("attempts: 3", "attempts: four").replace("@end:Done", "@end:Don")
    lines = text.splitlines()
    found = {one.message: lines[one.place.line - 1].strip() for one in findings(text)}
    assert found[UNREAD] == "attempts: four"
    assert found[NO_END] == 'Approved: "@end:Don"'
