"""What values hold, and copies that hold something else."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from treadle.toolchains.witness.treadle_witness.altered import altered, differ, shown, state


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


def test_what_lies_in_slots_and_dictionaries_is_found_without_a_question() -> None:
    assert state(Both("pen", 120)) == {"name": "pen", "cents": 120}
    assert state(Nothing()) == state(3) == {}
    assert shown(Both("pen", 120)) == "Both(name='pen', cents=120)"


@pytest.mark.parametrize("value", [Slotted("a"), Both("a", 1), Held([1]), Held(None), Held(Nothing()), Held(True)])
def test_a_copy_holds_something_else_by_every_name(value: object) -> None:
    draw, holds = random.Random(1), state(value)
    for number in range(12):
        twin = altered(value, draw, number)
        assert type(twin) is type(value)
        assert state(twin).keys() == holds.keys()
        assert not [name for name, one in state(twin).items() if one is holds[name] or one == holds[name]]
    assert state(value) == holds


@pytest.mark.parametrize("value", [Nothing(), 3, "text", ValueError("a"), [1]], ids=lambda value: type(value).__name__)
def test_what_holds_nothing_or_is_no_plain_object_has_no_copy(value: object) -> None:
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
def test_what_two_values_hold_is_compared(one: object, other: object, do_differ: bool) -> None:
    assert differ(one, other) is differ(other, one) is do_differ
