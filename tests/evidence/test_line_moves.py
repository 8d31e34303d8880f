"""Lines that stand elsewhere and are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.evidence.checks.coverage import kept_lines, ranges

TEXT = st.lists(st.sampled_from("abc"), max_size=12).map("\n".join)


@given(TEXT, TEXT)
def test_kept_lines_are_equal_and_in_order(before: str, after: str) -> None:
    kept = kept_lines(before, after)
    old, new = before.split("\n"), after.split("\n")
    assert all(old[then - 1] == new[now - 1] for now, then in kept.items())
    assert [kept[now] for now in sorted(kept)] == sorted(kept.values())


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("a\nb", "a\nb", {1: 1, 2: 2}),
        ("a\nb", "x\na\nb", {2: 1, 3: 2}),
        ("a\nb\nc\nd", "a\nc\nx\nd", {1: 1, 2: 3, 4: 4}),
        ("a\na", "a", {1: 1}),
    ],
)
def test_kept_lines_are_mapped_to_their_old_numbers(before: str, after: str, kept: dict[int, int]) -> None:
    assert kept_lines(before, after) == kept


def test_a_huge_change_is_all_changed() -> None:
    old, new = "\n".join(map(str, range(3_000))), "\n".join(map(str, reversed(range(3_000))))
    assert kept_lines(f"a\n{old}", f"a\n{new}") == {1: 1}


def test_lines_without_code_do_not_split_a_range() -> None:
    assert ranges({2, 3, 7, 9}, {1, 2, 3, 5, 7, 9}) == [(2, 3), (7, 9)]
