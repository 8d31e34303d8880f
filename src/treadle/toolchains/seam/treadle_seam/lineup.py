"""The line-up: the judge never asks a value of the subject about the expected value alone.

The expected value stands among decoys in a random order, so hostile code cannot tell which answer counts. The judge
refuses an equality that accepts too many of the far decoys: it would accept any value. Some honest values equal a few
decoys, so a few accepted ones are no finding.
"""

from __future__ import annotations

import random
from typing import Any

from treadle_witness.altered import far, near  # type: ignore[import-not-found]

from .twins import TwinMeta, is_twin

_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))
_FAR, _NEAR, _OTHERS = 8, 4, 4
_SIZE = 10_000
_TOO_MANY = 1 / 3
"""The share of far decoys that an honest comparison may accept: a number modulo seven equals every seventh."""


class Arranged:
    """One line-up: the candidates, the place of the real one, and which decoys are far from it."""

    def __init__(self, candidates: tuple[Any, ...], place: int, distant: frozenset[int], limit: float) -> None:
        self.candidates, self.place, self.distant, self.limit = candidates, place, distant, limit
        self.is_forked = any(len(one) > 1 for one in candidates)


class Lineup:
    """Makes decoys."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._made: dict[int, tuple[Any, ...]] = {}
        """The twin, and the constructor call that made it, by identity of the twin."""

    def made(self, twin: Any, kind: Any, args: Any, kwargs: Any) -> None:
        """Remember the constructor call by which a test made an object: decoys repeat it with other arguments."""
        self._made[id(twin)] = (twin, kind, args, kwargs)

    def forget(self) -> None:
        self._made.clear()

    def of(self, twin: Any, other: Any) -> Arranged:
        """Arrange a comparison."""
        decoys: list[tuple[tuple[Any, ...], bool]] = []
        made = self._made.get(id(other)) or self._made.get(id(twin))
        if is_twin(other) and made is not None:
            decoys = [((made[1], *changed), True) for changed in self._changed(made[2], made[3])]
        elif type(other) in _PLAIN and other is not None:
            decoys = [((one,), False) for one in self._near(other)]
            decoys += [((self._far(other),), True) for _ in range(_FAR)]
        words = [f"{self._draw.getrandbits(96):024x}" for _ in range(2)]
        strangers = [*words, self._draw.randrange(10**12, 10**15), [words[0]], (words[1],), {words[0]: words[1]}]
        decoys += [((one,), True) for one in self._draw.sample(strangers, _OTHERS)]
        return self._arranged(other, decoys, _TOO_MANY)

    def of_order(self, other: float) -> Arranged:
        """Arrange an ordering: no number is less than all others, and none is greater."""
        sizes = [self._draw.uniform(1e290, 1e300) for _ in range(_NEAR)]
        return self._arranged(other, [((one,), True) for size in sizes for one in (size, -size)], 0.99)

    def _arranged(self, other: Any, decoys: list[tuple[tuple[Any, ...], bool]], limit: float) -> Arranged:
        real: tuple[tuple[Any, ...], bool] = ((other,), False)
        everyone = [real, *decoys]
        self._draw.shuffle(everyone)
        place = next(number for number, one in enumerate(everyone) if one is real)
        distant = frozenset(number for number, one in enumerate(everyone) if one[1])
        return Arranged(tuple(one[0] for one in everyone), place, distant, limit)

    def _near(self, value: Any) -> list[Any]:
        found = near(value, self._draw)
        return self._draw.sample(found, min(_NEAR, len(found)))

    def _far(self, value: Any) -> Any:
        if type(value) is frozenset:
            return frozenset(far(set(), self._draw))
        return far(value, self._draw)

    def _changed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
        """Arguments of a constructor, some of them replaced."""
        parts: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        usable = [key for key, one in parts.items() if type(one) in _PLAIN and one is not None]
        found = []
        for number in range(_FAR if usable else 0):
            if number % 2:
                changed = {key: self._other(parts[key], number) for key in usable}
            else:
                key = usable[number // 2 % len(usable)]
                changed = {key: self._other(parts[key], number)}
            mixed = {**parts, **changed}
            found.append((tuple(mixed[at] for at in range(len(args))), {name: mixed[name] for name in kwargs}))
        return found

    def _other(self, value: Any, number: int) -> Any:
        if type(value) is bool:
            return not value
        if type(value) is int and abs(value) < _SIZE:  # it may be a size: a far one would take all memory
            return value + self._draw.randrange(2, _SIZE) * self._draw.choice((1, -1))
        close = near(value, self._draw) if number % 4 < 2 else []
        return self._draw.choice(close) if close else self._far(value)


def verdict_of(lineup: Arranged, answers: tuple[Any, ...]) -> tuple[Any, str]:
    """Return the answer for the real value, and the reason if the judge has to refuse the comparison."""
    answer = answers[lineup.place]
    if type(answer) is tuple and len(answer) == 1 and isinstance(answer[0], BaseException):
        raise answer[0]
    if answer is None:
        return None, "could not be compared"
    is_true = answer is True or answer == [True]
    asked = [answers[number] for number in lineup.distant if answers[number] is not None]
    taken = [one for one in asked if one is True or one == [True]]
    if is_true and asked and len(taken) > len(asked) * lineup.limit:
        return None, f"equals {len(taken)} of {len(asked)} values that have nothing to do with the expected one"
    if type(answer) is not bool:
        return None, "was compared, and the result is no truth value"
    return answer, ""


_ = TwinMeta
