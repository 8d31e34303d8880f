"""One test may serve several criteria, as long as each criterion has a test of its own."""

import pytest

from treadle.evidence.criteria import without_own_test


@pytest.mark.parametrize(
    ("tests", "without"),
    [
        ({"AC-1": ["a"], "AC-2": ["b"]}, set()),
        ({"AC-1": ["a"], "AC-2": ["a"], "AC-3": ["a"]}, {"AC-2", "AC-3"}),
        ({"AC-1": ["a", "b"], "AC-2": ["a"]}, set()),
        ({"AC-1": ["a", "b"], "AC-2": ["b", "c"], "AC-3": ["a"]}, set()),
        ({"AC-1": ["a", "b"], "AC-2": ["b", "a"], "AC-3": ["a"]}, {"AC-3"}),
        ({"AC-1": [], "AC-2": ["a"]}, set()),
        ({"AC-1": ["t[1]"], "AC-2": ["t[2]"]}, set()),
        ({"AC-1": ["m/p::TestA"], "AC-2": ["m/p::TestA/x"]}, {"AC-2"}),
        ({"AC-1": ["m/p::TestA"], "AC-2": ["m/p::TestB"]}, set()),
        ({"AC-1": ["a.mjs::a (2)"], "AC-2": ["a.mjs::a::x"]}, {"AC-2"}),
        ({"AC-1": ["a.mjs::GET /a"], "AC-2": ["a.mjs::GET /a/b"]}, set()),
    ],
    ids=[
        "one each",
        "one for all",
        "one shared",
        "by exchange",
        "two for three",
        "none at all",
        "by parameters",
        "one in the other",
        "beside each other",
        "one in the second of its name",
        "paths as titles",
    ],
)
def test_each_criterion_needs_a_test_of_its_own(tests: dict[str, list[str]], without: set[str]) -> None:
    assert set(without_own_test(tests)) == without
