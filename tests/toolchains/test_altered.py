"""Other values than the right one, and what tells a value from its altered copy."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from treadle.toolchains.witness.treadle_witness.altered import altered, differ, near, shown, state


class Slotted:
    __slots__ = ("name", "never")

    def __init__(self, name: str) -> None:
        self.name = name


class Both(Slotted):
    def __init__(self, name: str, cents: int) -> None:
        super().__init__(name)
        self.cents = cents

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name) if name.startswith("__") else pytest.fail(f"{name} was asked for")


@dataclass(frozen=True)
class Held:
    one: Any


class Nothing:
    pass


def test_state_reads_slots_and_dictionaries_without_calling_the_object() -> None:
    assert state(Both("pen", 120)) == {"name": "pen", "cents": 120}
    assert state(Nothing()) == state(3) == {}
    assert shown(Both("pen", 120)) == "Both(name='pen', cents=120)"


@pytest.mark.parametrize("value", [Slotted("a"), Both("a", 1), Held([1]), Held(None), Held(Nothing()), Held(True)])
def test_a_copy_differs_in_every_attribute(value: object) -> None:
    draw, holds = random.Random(1), state(value)
    for number in range(12):
        twin = altered(value, draw, number)
        assert type(twin) is type(value)
        assert state(twin).keys() == holds.keys()
        assert not [name for name, one in state(twin).items() if one is holds[name] or one == holds[name]]
    assert state(value) == holds


@pytest.mark.parametrize("value", [Nothing(), 3, "text", ValueError("a"), [1]], ids=lambda value: type(value).__name__)
def test_an_empty_or_built_in_object_has_no_copy(value: object) -> None:
    assert altered(value, random.Random(1), 0) is None


@pytest.mark.parametrize(
    ("one", "other", "do_differ"),
    [
        (Held(1), Held(1.0), False),
        (Held("a"), Held("b"), True),
        (Held([Held(1)]), Held([Held(2)]), True),
        (Held([1]), Held([1, 2]), True),
        (Held({"a": 1}), Held({"a": 2}), True),
        (Held({"a": 1}), Held({"a": 1}), False),
        (Held({"a": 1}), Held({"b": 1}), True),
        (Nothing(), Nothing(), False),
        (Nothing(), Held(1), True),
    ],
)
def test_two_objects_are_compared_by_their_state(one: object, other: object, do_differ: bool) -> None:
    assert differ(one, other) is differ(other, one) is do_differ


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 2365, 1.5, 2j, "", "a", "Total: 12", b"ab", [1, 2], ("x", True, 3), {"a": 1}],
    ids=repr,
)
def test_near_values_have_the_same_kind_and_are_never_equal(value: object) -> None:
    for seed in range(20):
        found = near(value, random.Random(seed))
        assert all(type(one) is type(value) and one != value for one in found)
        assert found or isinstance(value, tuple)  # of what is true there is only one other


def test_near_numbers_are_close_and_one_is_far() -> None:
    found = near(2365, random.Random(1))
    assert found[:3] == [2366, 2364, 4730]
    assert 23_650 < found[3] < 23_750


def test_near_texts_differ_in_one_sign_or_in_all() -> None:
    *single, every = near("Total: 12", random.Random(1))
    assert [sum(a != b for a, b in zip(one, "Total: 12", strict=True)) for one in single] == [1, 1, 1]
    assert all(a.lower() != b.lower() for a, b in zip(every, "Total: 12", strict=True))


@pytest.mark.parametrize("ignored", ["major", "minor", "build"])
def test_near_values_do_not_all_differ_in_the_same_part(ignored: str) -> None:
    version = {"major": 1, "minor": 2, "build": "b.1"}
    for seed in range(50):
        others = near(version, random.Random(seed))
        assert not all(all(one[key] == version[key] for key in version if key != ignored) for one in others)


@pytest.mark.parametrize("value", [True, None, [], {}, float("nan"), float("inf")], ids=repr)
def test_a_value_with_too_few_alternatives_has_no_near_ones(value: object) -> None:
    assert near(value, random.Random(1)) == []
