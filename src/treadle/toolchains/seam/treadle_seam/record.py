"""Records calls of the subject whose arguments and outcome are values, so that they can be repeated elsewhere.

A callable is known by the way in which the test reached it, module and attributes; the names that the subject reports
would be its own choice. Objects that a test made by a constructor are arguments, too, until it uses them otherwise.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

from .plain import plain, plain_outcome
from .twins import TwinMeta, TwinModule, is_twin

_OF_A_TEST = 8
_MANY = 200
"""After so many calls of a test, only every tenth is looked at: a record costs more than a call."""
_MAX_ORIGINS = 10_000
_MAX_TEXT = 4_000
_SLOW = 5.0
_CHANGING = frozenset("method set delete special leave operate inherited drive lineup".split())


class CallRecorder:
    """The calls of the present test, and the ways to callables and objects."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._origins: dict[int, tuple[Any, str, str]] = {}
        """Module and path of a twin, by the identity of the twin."""
        self._made: dict[int, tuple[Any, Any]] = {}
        """The expression that makes an object again, by the identity of its twin."""
        self._at_collection: dict[int, tuple[Any, Any]] | None = None
        self._start("")

    def begin(self, test: str) -> None:
        """Forget what the last test made; objects of the collection stay."""
        if self._at_collection is None:
            self._at_collection = self._made
        self._made = dict(self._at_collection)
        self._start(test)

    def _start(self, test: str) -> None:
        self._draw = random.Random(f"{self._seed} {test}")
        self.calls: list[tuple[str, str]] = []
        self.count = 0
        """The number of calls that could be repeated."""
        self.others = 0
        self.is_spoilt = False
        """Whether the test changed modules or surroundings, so that its calls would end otherwise elsewhere."""

    def found(self) -> dict[str, Any]:
        """Return the record of the test."""
        if self.is_spoilt:
            return {"others": self.count + self.others}
        return {"recorded": self.calls, "others": self.others}

    def ask(self, what: str, operands: tuple[Any, ...]) -> Any:
        """Take a note of a request before it is sent; None if its answer is of no interest."""
        if what in ("get", "import"):
            return (what, operands)
        if what in ("set", "delete") and isinstance(operands[0], (TwinModule, TwinMeta)):
            self.is_spoilt = True
        if what in ("call", "method"):
            is_rare = self.count + self.others < _MANY or self._draw.random() < 0.1
            return self._call(what, *operands) if is_rare else None
        if what in _CHANGING:
            self._made.pop(id(operands[0]), None)
        return None

    def _call(self, what: str, owner: Any, *more: Any) -> Any:
        args, kwargs = more[-2:]
        if what == "method":
            args, (_, module, kind) = (owner, *args), self._origins.get(id(type(owner)), (None, "", ""))
            origin = (None, module, f"{kind}.{more[0]}")
        else:
            origin = self._origins.get(id(owner), (None, "", ""))
        room = [300]
        used: list[int] = []

        def known(value: Any, _: Any, __: int) -> Any:
            used.append(id(value))
            return self._made.get(id(value), (None, None))[1]

        try:
            if not origin[1] or not origin[2]:
                raise ValueError("it has no name")
            told: list[Any] = ["new", origin[1], origin[2]]
            told += [
                [plain(one, room, known) for one in args],
                {str(k): plain(v, room, known) for k, v in kwargs.items()},
            ]
        except ValueError:
            told = []
        for one in used:
            self._made.pop(one, None)
        return ("call", told, args, kwargs, time.monotonic())

    def answer(self, note: Any, outcome: str, value: Any) -> None:
        """Take the answer to a request into the record."""
        if note[0] != "call":
            if outcome == "value" and is_twin(value) and len(self._origins) < _MAX_ORIGINS:
                self._reached(note[0], note[1], value)
            return
        _, told, args, kwargs, began = note
        if told and outcome == "value" and isinstance(type(value), TwinMeta) and len(self._made) < _MAX_ORIGINS:
            self._made[id(value)] = (value, told)
        found = plain_outcome(outcome, value, args, kwargs)
        call, end = json.dumps(told), json.dumps(found)
        if not told or found[0] == "other" or max(len(call), len(end)) > _MAX_TEXT or time.monotonic() - began > _SLOW:
            self.others += 1
            return
        self.count += 1  # each of the calls has the same chance to be among those that are kept
        at = len(self.calls) if len(self.calls) < _OF_A_TEST else self._draw.randrange(self.count)
        if at < _OF_A_TEST:
            self.calls[at : at + 1] = [(call, end)]

    def _reached(self, what: str, operands: tuple[Any, ...], value: Any) -> None:
        if what == "import":
            self._origins[id(value)] = (value, operands[0], "")
            return
        owner, name = operands
        origin = self._origins.get(id(owner))
        if origin is not None:
            path = f"{origin[2]}.{name}" if origin[2] else str(name)
            self._origins.setdefault(id(value), (value, origin[1], path))
