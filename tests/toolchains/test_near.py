"""Values near another one."""

import random

import pytest

from treadle.toolchains.witness.treadle_witness.near import near


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 2365, 1.5, 2j, "", "a", "Total: 12", b"ab", [1, 2], ("x", True, 3), {"a": 1}],
    ids=repr,
)
def test_they_are_of_the_same_kind_and_never_equal(value: object) -> None:
    for seed in range(20):
        found = near(value, random.Random(seed))
        assert all(type(one) is type(value) and one != value for one in found)
        assert found or isinstance(value, tuple)  # of what is true there is only one other


def test_of_numbers_one_is_beyond_any_tolerance_and_the_others_are_close() -> None:
    found = near(2365, random.Random(1))
    assert found[:3] == [2366, 2364, 4730]
    assert 23_650 < found[3] < 23_750


def test_of_a_text_one_sign_is_another_or_all_are() -> None:
    *single, every = near("Total: 12", random.Random(1))
    assert [sum(a != b for a, b in zip(one, "Total: 12", strict=True)) for one in single] == [1, 1, 1]
    assert all(a.lower() != b.lower() for a, b in zip(every, "Total: 12", strict=True))


@pytest.mark.parametrize("value", [True, None, [], {}, float("nan"), float("inf")], ids=repr)
def test_where_there_are_too_few_there_are_none(value: object) -> None:
    assert near(value, random.Random(1)) == []
