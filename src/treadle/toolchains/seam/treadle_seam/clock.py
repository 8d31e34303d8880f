"""Mirrors a clock that a library of the tests has frozen (`freezegun`, `time_machine`).

The judge reads the library's state; the library itself is never imported into the subject, where its name would tell
that tests run. The subject replaces the functions of `time` and the classes `date` and `datetime`, in every module that
has them, and restores them when the test thaws the clock. Patches of single names (`mock.patch`) are in `patches.py`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

# In containers: freezegun replaces the clock's functions and classes wherever a module has them by a name.
_TIME: dict[str, Any] = dict(vars(__import__("time")))
_DATETIME: dict[str, Any] = dict(vars(__import__("datetime")))
_EPOCH = _DATETIME["datetime"](1970, 1, 1)
_SECOND = 1_000_000
_FAKES = ("freezegun.api.FakeDatetime", "freezegun.api.FakeDate")
_MONOTONIC = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_LIBRARY = getattr(
    sys, "stdlib_module_names", frozenset("threading queue multiprocessing subprocess asyncio _strptime".split())
)
"""Modules that keep the clock they have imported: locks and queues must not wait for a clock that stands still."""

STANDARD: dict[type, str] = {_DATETIME[name]: f"datetime.{name}" for name in ("date", "datetime")}
"""The classes whose instances cross as dates, also while others stand in their place."""


def standard_name(kind: type) -> str:
    """Return the name of the class that a class of frozen dates stands for; empty for any other class."""
    known = STANDARD.get(kind, "")
    if not known and f"{kind.__module__}.{kind.__qualname__}" in _FAKES and issubclass(kind, _DATETIME["date"]):
        known = STANDARD[kind] = f"datetime.{kind.__qualname__[4:].lower()}"
    return known


def real_monotonic() -> Any:
    """Return the function of a clock that no test freezes; event loops wait by it."""
    return _TIME["monotonic"]


# The judge's side.


def frozen_clock() -> tuple[Any, list[Any] | None]:
    """Return what identifies the state of a frozen clock, and the state: None if no library has frozen it.

    The state: microseconds since 1970 in UTC, those from UTC to local time (None: as the machine has them), whether the
    clock goes on, and whether the monotonic clocks are frozen, too.
    """
    api: Any = sys.modules.get("freezegun.api")
    if api is not None and api.freeze_factories:
        factory = api.freeze_factories[-1]
        moment, start = factory.time_to_freeze, getattr(factory, "start", None)
        offset = api.tz_offsets[-1] // _DATETIME["timedelta"](microseconds=1)
        # A call of a factory that ticks by itself would move the clock of the test.
        now = moment if start is None else factory()
        return (moment, start, offset), [_micros(now), offset, start is not None, True]
    travel: Any = sys.modules.get("time_machine")
    stack = getattr(travel, "traveller_stack", None) or getattr(travel, "coordinates_stack", None)  # by its version
    if stack:
        last = stack[-1]
        goes_on = bool(getattr(last, "_tick", False))
        now = last.time_ns() // 1000
        identity = (id(last), getattr(last, "_destination_timestamp_ns", 0)) if goes_on else now
        return identity, [now, None, goes_on, False]
    return None, None


def _micros(moment: Any) -> int:
    return int((moment - _EPOCH) // _DATETIME["timedelta"](microseconds=1))


# The subject's side.


class FrozenClock:
    """The clock of the subject's process."""

    def __init__(self) -> None:
        self._moment, self._since = 0, 0
        self._offset: int | None = None
        self._goes_on = False
        self._names: list[tuple[str, str]] = []
        self._fakes: dict[str, dict[str, Any]] = {}

    def set(self, state: Any) -> None:
        """Freeze the clock, move it, or thaw it (None)."""
        if state is not None:
            self._moment, self._offset, self._goes_on, with_monotonic = state
            self._since = _TIME["monotonic_ns"]()
            if not self._names:
                self._fakes = self._fakes or {"time": self._functions(), "datetime": _classes(self)}
                self._names = [(module, name) for module, fakes in self._fakes.items() for name in fakes]
                if not with_monotonic:
                    self._names = [one for one in self._names if one[1] not in _MONOTONIC]
                self._replace({"time": _TIME, "datetime": _DATETIME}, self._fakes)
        elif self._names:
            self._replace(self._fakes, {"time": _TIME, "datetime": _DATETIME})
            self._names = []

    def _replace(self, old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> None:
        for module, name in self._names:
            setattr(sys.modules[module], name, new[module][name])
        known = {id(old[module][name]): new[module][name] for module, name in self._names}
        for name, one in list(sys.modules.items()):
            if name.partition(".")[0] in _LIBRARY or not isinstance(one, types.ModuleType):
                continue
            names = vars(one)
            for found in [key for key, value in list(names.items()) if id(value) in known]:
                names[found] = known[id(names[found])]

    def micros(self) -> int:
        """The time in UTC, in microseconds since 1970."""
        passed = (_TIME["monotonic_ns"]() - self._since) // 1000 if self._goes_on else 0
        return self._moment + passed

    def utc(self) -> Any:
        return _EPOCH + _DATETIME["timedelta"](microseconds=self.micros())

    def local(self) -> Any:
        if self._offset is None:
            return _DATETIME["datetime"].fromtimestamp(self.micros() / _SECOND)
        return self.utc() + _DATETIME["timedelta"](microseconds=self._offset)

    @property
    def offset(self) -> Any:
        """The difference of local time from UTC; None if the machine decides."""
        return None if self._offset is None else _DATETIME["timedelta"](microseconds=self._offset)

    def _functions(self) -> dict[str, Any]:
        def time() -> float:
            return self.micros() / _SECOND

        def time_ns() -> int:
            return self.micros() * 1000

        def gmtime(*seconds: Any) -> Any:
            return _TIME["gmtime"](*(seconds or (self.micros() // _SECOND,)))

        def localtime(*seconds: Any) -> Any:
            return _TIME["localtime"](*(seconds or (self.micros() // _SECOND,)))

        def strftime(format: str, *moment: Any) -> str:
            return str(_TIME["strftime"](format, *(moment or (localtime(),))))

        functions = {one.__name__: one for one in (time, time_ns, gmtime, localtime, strftime)}
        functions.update(
            {name: _named(name, time_ns if name.endswith("_ns") else time) for name in _MONOTONIC if name in _TIME}
        )
        for name, one in functions.items():
            one.__module__, one.__qualname__ = "time", name
        return functions


def _named(name: str, function: Any) -> Any:
    made = types.FunctionType(function.__code__, function.__globals__, name, None, function.__closure__)
    made.__annotations__ = dict(function.__annotations__)
    return made


def _classes(clock: FrozenClock) -> dict[str, Any]:
    """Make subclasses of `date` and `datetime` that ask a clock, and count every date as theirs."""
    real_date, real_datetime = _DATETIME["date"], _DATETIME["datetime"]
    real: dict[type, type] = {}

    class DateType(type):
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, real[cls]) if cls in real else type.__instancecheck__(cls, one)

        def __subclasscheck__(cls, kind: Any) -> bool:
            return issubclass(kind, real[cls]) if cls in real else type.__subclasscheck__(cls, kind)

    class date(real_date, metaclass=DateType):  # type: ignore[misc,valid-type]
        @classmethod
        def today(cls) -> Any:
            now = clock.local()
            return cls(now.year, now.month, now.day)

    class datetime(real_datetime, metaclass=DateType):  # type: ignore[misc,valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            if tz is None:
                return _like(cls, clock.local())
            return _like(cls, tz.fromutc(clock.utc().replace(tzinfo=tz)))

        @classmethod
        def utcnow(cls) -> Any:
            return _like(cls, clock.utc())

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        @classmethod
        def fromtimestamp(cls, timestamp: float, tz: Any = None) -> Any:
            if tz is None and clock.offset is not None:
                utc = real_datetime.fromtimestamp(timestamp, _DATETIME["timezone"].utc)
                return _like(cls, utc.replace(tzinfo=None) + clock.offset)
            return _like(cls, real_datetime.fromtimestamp(timestamp, tz))

        def timestamp(self) -> float:
            if self.tzinfo is None and clock.offset is not None:
                return float((self - _EPOCH - clock.offset).total_seconds())
            return float(real_datetime.timestamp(self))

        def date(self) -> Any:
            return date(self.year, self.month, self.day)

    for kind, base in ((date, real_date), (datetime, real_datetime)):
        kind.__module__, kind.__qualname__, kind.__doc__ = "datetime", kind.__name__, base.__doc__
        real[kind] = base
        STANDARD[kind] = f"datetime.{kind.__name__}"
        kind.min, kind.max = (_like(kind, one) for one in (base.min, base.max))
    return {"date": date, "datetime": datetime}


def _like(kind: Any, moment: Any) -> Any:
    """Make an instance of a class from another date."""
    parts = [moment.year, moment.month, moment.day]
    if isinstance(moment, _DATETIME["datetime"]):
        parts += [moment.hour, moment.minute, moment.second, moment.microsecond, moment.tzinfo]
        return kind(*parts, fold=moment.fold)
    return kind(*parts)
