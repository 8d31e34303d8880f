"""Mirrors the surroundings of a call: output, logging, warnings, environment, folder, arguments of the program.

The subject collects the output, log records and warnings of its code, and each of its messages carries them, so capsys,
caplog and recwarn work. Each message of the judge carries the changes that tests have made since the last one.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import time
import warnings
from contextlib import suppress
from typing import Any

from .clock import FrozenClock, frozen_clock
from .wire import WireBreach

_MAX_TEXT = 10_000_000
_MAX_EVENTS = 20_000


class Records(logging.Handler):
    """Collects log records."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self._events = events

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:
            self.handleError(record)
            return
        trace = None
        if record.exc_info and record.exc_info[1] is not None:
            trace = logging.Formatter().formatException(record.exc_info)
        place = [record.pathname, record.lineno, record.funcName]
        self._events.append(["log", record.name, record.levelno, text, *place, trace])


class SubjectAmbient:
    """The subject's side."""

    def __init__(self, stream: Any) -> None:
        self.events: list[Any] = []
        self._streams = [stream(1, "<stdout>", self.events), stream(2, "<stderr>", self.events)]
        sys.stdout, sys.stderr = self._streams
        sys.__stdout__, sys.__stderr__ = self._streams  # type: ignore[misc]
        sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        logging.getLogger().addHandler(Records(self.events))
        warnings.simplefilter("always")
        warnings.showwarning = self._warn
        self._levels: list[str] = []
        self._clock = FrozenClock()
        self._lane: Any = None

    def _warn(self, message: Any, category: Any, filename: Any, lineno: Any, *_: Any, **__: Any) -> None:
        value = message if isinstance(message, Warning) else category(message)
        self.events.append(["warn", value, str(filename), int(lineno)])

    def flush(self) -> None:
        for stream in self._streams:
            try:
                stream.flush()
            except ValueError:  # the code under test has closed it
                continue

    def take(self, news: Any, lane: Any) -> None:
        """Apply the changes that tests made in the judge."""
        self._lane = lane
        for name, value in news:
            if name == "env":
                for key, text in value:
                    if text is None:
                        os.environ.pop(key, None)
                    else:
                        os.environ[key] = text
                    if key == "TZ" and hasattr(time, "tzset"):
                        time.tzset()
            elif name == "cwd":
                with suppress(OSError):  # only the judge has this folder
                    os.chdir(value)
            elif name == "argv":
                sys.argv[:] = value
            elif name == "stdin":
                sys.stdin = io.TextIOWrapper(io.BytesIO(value.encode("utf-8", "surrogateescape")), encoding="utf-8")
            elif name == "levels":
                self._set_levels(value)
            elif name == "clock":
                self._clock.set(value)

    def _set_levels(self, levels: Any) -> None:
        for name in self._levels:
            logging.getLogger(name).setLevel(logging.NOTSET if name else logging.WARNING)
        self._levels = [name for name, _ in levels]
        for name, level in levels:
            logging.getLogger(name).setLevel(level)


class JudgeAmbient:
    """The judge's side."""

    dirty = True
    """Whether a logger may have got another level since the last message, in any lane."""

    def __init__(self) -> None:
        self._raw = dict(os.environ._data)  # type: ignore[attr-defined]
        self._env = _mirrored()
        self._cwd, self._argv = os.getcwd(), [*sys.argv]  # noqa: PTH109
        self._levels: list[Any] = []
        self._stdin: Any = sys.stdin
        self._clock: Any = None

    def clone(self) -> JudgeAmbient:
        other = object.__new__(JudgeAmbient)
        other.__dict__.update(self.__dict__)
        return other

    @staticmethod
    def hear_levels() -> None:
        """Wrap `Logger.setLevel`, so that every change of a level is seen."""
        set_level = logging.Logger.setLevel

        def setLevel(self: Any, level: Any) -> None:
            JudgeAmbient.dirty = True
            set_level(self, level)

        logging.Logger.setLevel = setLevel  # type: ignore[method-assign]

    def news(self) -> list[Any]:
        """Return the changes that tests made since the last call."""
        found: list[Any] = []
        if os.environ._data != self._raw:  # type: ignore[attr-defined]
            self._raw = dict(os.environ._data)  # type: ignore[attr-defined]
            env = _mirrored()
            names = [name for name in {**env, **self._env} if env.get(name) != self._env.get(name)]
            found.append(["env", [[name, env.get(name)] for name in names]])
            self._env = env
        try:
            cwd = os.getcwd()  # noqa: PTH109
        except OSError:
            cwd = self._cwd
        if cwd != self._cwd:
            found.append(["cwd", cwd])
            self._cwd = cwd
        if sys.argv != self._argv:
            self._argv = [*sys.argv]
            found.append(["argv", [str(one) for one in self._argv]])
        if self.dirty:
            levels = _levels()
            if levels != self._levels:
                found.append(["levels", levels])
                self._levels = levels
        identity, clock = frozen_clock()
        if identity != self._clock:
            self._clock = identity
            found.append(["clock", clock])
        if sys.stdin is not self._stdin:
            self._stdin = sys.stdin
            if isinstance(sys.stdin, io.StringIO):
                found.append(["stdin", sys.stdin.getvalue()[sys.stdin.tell() :]])
        return found

    def hear(self, events: Any, decode: Any) -> str:
        """Repeat the subject's output, log records and warnings here; return the reason if a value could not cross."""
        if type(events) is not list or len(events) > _MAX_EVENTS:
            raise WireBreach("a message tells too much")
        trouble = ""
        for event in events:
            if type(event) is not list or not event:
                raise WireBreach("a message tells something malformed")
            if event[0] == "trouble":
                trouble = str(event[1])[:2000]
            else:
                self._hear_one(decode, *event)
        return trouble

    def _hear_one(self, decode: Any, what: str, *parts: Any) -> None:
        if what == "out":
            number, text = parts
            if type(text) is not str or len(text) > _MAX_TEXT:
                raise WireBreach("an output is too long")
            stream = sys.stdout if number == 1 else sys.stderr
            stream.write(text)
        elif what == "log":
            name, level, text, pathname, lineno, function, trace = parts
            if not all(type(one) is str for one in (name, text, pathname)) or type(level) is not int:
                raise WireBreach("a log record is malformed")
            logger = logging.getLogger(name)
            record = logger.makeRecord(name, level, pathname, int(lineno), text, (), None, str(function))
            record.exc_text = trace if type(trace) is str else None
            if logger.isEnabledFor(level):
                logger.handle(record)
        elif what == "warn":
            value, filename, lineno = decode(parts[0]), *parts[1:]
            if type(filename) is not str or type(lineno) is not int:
                raise WireBreach("a warning is malformed")
            value = value if isinstance(value, Warning) else UserWarning(str(value)[:1000])
            warnings.warn_explicit(value, type(value), filename, lineno, registry={})
        else:
            raise WireBreach("a message tells something unknown")


def _mirrored() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "TREADLE_"))}


def _levels() -> list[Any]:
    root = logging.getLogger()
    found: list[Any] = [["", root.level]] if root.level != logging.WARNING else []
    for name, logger in list(root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and logger.level:
            found.append([name, logger.level])
    return found
