"""The subject: serves the code under test, in an interpreter of the project's own environment.

The first process imports what the tests import when they are collected. Each test gets a fork of it with a socket of
its own, so no test sees what another one left in memory. All of this knows nothing of tests, and no names of ours stay
in `sys.modules`.
"""

from __future__ import annotations

import array
import importlib
import io
import os
import signal
import socket
import sys
import threading
import types
from typing import Any

from .ambient import SubjectAmbient
from .lane import Lane
from .twins import PRESENT
from .wire import Breach, CannotCross

_MAX_LINES = 30


class Sink(io.RawIOBase):
    """Standard output or error: collects bytes until the next message."""

    def __init__(self, number: int, events: list[Any]) -> None:
        self._number, self._events = number, events

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = bytes(data)
        self._events.append(["out", self._number, written.decode("utf-8", "replace")])
        return len(written)


def _stream(number: int, name: str, events: list[Any]) -> Any:
    stream = io.TextIOWrapper(
        io.BufferedWriter(Sink(number, events)), encoding="utf-8", line_buffering=False, write_through=False
    )
    stream.mode = "w"  # type: ignore[misc]
    stream.buffer.raw.name = name  # type: ignore[attr-defined]
    return stream


class SubjectLane(Lane):
    """The subject's side."""

    def __init__(self, sock: Any, ambient: Any) -> None:
        super().__init__(sock, 1)
        self.ambient = ambient
        self.trouble = ""

    def serve(self) -> None:
        """Answer until the judge hangs up. While code of the project runs, its threads may call the judge, too."""
        while True:
            with self.lock:
                message = self.receive()
                if message[0] != "q":
                    raise Breach("an answer came without a request")
                _, depth, what, encoded, updates, forgotten, extra = message
                operands = self._take(encoded, updates, forgotten, extra)
                self.depth = depth
            outcome, result = self.perform(what, operands)
            with self.lock:
                try:
                    self._send("r", depth, [outcome], (result,))
                except CannotCross as error:
                    self._send("r", depth, ["cannot"], (str(error)[:2000],))

    def extra(self) -> Any:
        self.ambient.flush()
        if not self.ambient.events and not self.trouble:
            return None
        events, self.ambient.events[:] = [*self.ambient.events], []
        for event in events:
            if event[0] == "warn":
                event[1] = self._or_text(event[1])
        if self.trouble:
            events.append(["trouble", self.trouble])
            self.trouble = ""
        return events

    def hear_extra(self, extra: Any) -> None:
        if extra:
            self.ambient.take(extra, self)

    def before(self) -> None:
        pass

    def could_not_return(self, reason: str) -> None:
        self.trouble = reason

    def cannot(self, reason: str) -> Any:
        self.trouble = reason
        raise CannotCross(reason)

    def lost(self, error: BaseException) -> tuple[str, Any]:
        os._exit(70)

    def caught(self, error: BaseException) -> BaseException:
        return error

    def encode_module(self, value: Any) -> Any:
        return self.handle(value, "m", lambda: [str(value.__name__)])

    def traceback_of(self, error: BaseException) -> list[Any]:
        places, link = [], error.__traceback__
        while link is not None:
            code = link.tb_frame.f_code
            places.append([code.co_filename, link.tb_lineno, code.co_name])
            link = link.tb_next
        return ["t", *(["t", *one] for one in places[-_MAX_LINES:])]

    # what only the judge asks for

    def do_import(self, name: str, path: list[str]) -> Any:
        if list(path) != sys.path:
            sys.path[:] = path
            importlib.invalidate_caches()
        return importlib.import_module(name)

    def do_named(self, name: str) -> Any:
        return importlib.import_module(name)

    def do_lineup(self, left: Any, candidates: Any, is_forked: bool) -> Any:
        """Compare an object with each of several values; in a fork, where a decoy is made by a constructor."""
        if is_forked and threading.active_count() == 1:
            return self._in_fork(lambda: self._lineup(left, candidates))
        return self._lineup(left, candidates)

    def _lineup(self, left: Any, candidates: Any) -> Any:
        found: list[Any] = []
        for make in candidates:
            try:
                other = make[0] if len(make) == 1 else make[0](*make[1], **make[2])
            except Exception:  # noqa: BLE001 - a constructor that does not take these arguments makes no decoy
                found.append(None)
                continue
            answer = left == other
            found.append(answer if type(answer) is bool else [bool(answer)])
        return tuple(found)

    def _in_fork(self, work: Any) -> Any:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.wire._sock.close()
                answers = work()
                os.write(writing, "".join("1" if a is True else "0" if a is False else "-" if a is None else "?" for a in answers).encode())
            finally:
                os._exit(0)
        os.close(writing)
        data = os.read(reading, 1000)
        os.close(reading)
        os.waitpid(child, 0)
        if not data:
            raise TypeError("a comparison ended the process")
        return tuple({"1": True, "0": False, "-": None, "?": [True]}[one] for one in data.decode())

    def do_subclass(self, name: str, bases: Any, names: Any, more: Any) -> Any:
        """Make a class whose methods are the other side's functions."""
        held = {}
        for key, (kind, value) in names.items():
            if kind == "function":
                value = _method_of(value)
            elif kind in _DECORATORS:
                value = _DECORATORS[kind](*(None if one is None else _method_of(one) for one in value))
            held[key] = value
        return types.new_class(name, tuple(bases), dict(more), lambda space: space.update(held))

    def do_inherited(self, kind: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        return getattr(super(_below(type(owner), kind), owner), name)(*args, **kwargs)

    def do_super(self, kind: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        return getattr(kind, name)(owner, *args, **kwargs)


_DECORATORS: dict[str, Any] = {
    "staticmethod": lambda one: staticmethod(one),
    "classmethod": lambda one: classmethod(one),
    "property": property,
}


def _below(kind: type, wanted: type) -> type:
    """The class in whose place `super` has to stand so that it finds what another class has."""
    mro = kind.__mro__
    return mro[mro.index(wanted) - 1] if mro.index(wanted) else kind


def _method_of(function: Any) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        if isinstance(function.__dict__.get(name), str):
            setattr(method, name, function.__dict__[name])
    return method


class Stem:
    """The first process: collects, and forks."""

    def __init__(self, sock: Any, ambient: Any) -> None:
        self.sock, self.ambient = sock, ambient
        self.lane = SubjectLane(sock, ambient)
        PRESENT.lane = lambda: self.lane
        self.lane.do_fork = self.fork  # type: ignore[attr-defined]
        self.lane.do_end = self.end  # type: ignore[attr-defined]
        self.child = 0

    def fork(self) -> bool:
        """Start the process of a test; its socket comes right after the answer to this."""
        self.end()
        self.lane._send("q", self.lane.depth + 1, ["socket"], ())
        _, control, _, _ = self.sock.recvmsg(1, socket.CMSG_SPACE(4))
        files = array.array("i")
        files.frombytes(control[0][2][:4])
        answer = self.lane.receive()
        self.lane._take(*answer[3:])
        with socket.socket(fileno=files[0]) as own:
            self.child = os.fork()
            if self.child == 0:
                self.become(own.detach())
        return True

    def become(self, file: int) -> None:
        """Be the process of one test."""
        status = 70
        try:
            old, sock = self.sock, socket.socket(fileno=file)
            self.lane.wire._sock, self.lane.depth = sock, 0
            old.close()
            if hasattr(self.lane, "do_fork"):
                del self.lane.do_fork, self.lane.do_end
            self.lane.lock = threading.RLock()
            self.lane.serve()
        except EOFError:
            status = 0
        except BaseException:  # noqa: BLE001, S110 - the judge sees that the line ends
            pass
        finally:
            os._exit(status)

    def end(self) -> None:
        """End the process of the last test, and everything that it started."""
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.child = 0
            if os.getppid() == 1 or os.getpid() == 1:  # in a process namespace of our own
                try:
                    os.kill(-1, signal.SIGKILL)
                except OSError:
                    pass


_LIMITS = (("RLIMIT_AS", 6 << 30), ("RLIMIT_CORE", 0), ("RLIMIT_NPROC", 1024), ("RLIMIT_FSIZE", 2 << 30))


def main(file: int) -> None:
    """Serve on an inherited socket until the judge hangs up."""
    import resource  # noqa: PLC0415 - only here

    for name, limit in _LIMITS:
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (most, most))
    sock = socket.socket(fileno=file)
    sock.set_inheritable(False)
    for name in [one for one in sys.modules if one.split(".")[0] == __package__]:
        del sys.modules[name]
    stem = Stem(sock, SubjectAmbient(_stream))
    try:
        stem.lane.serve()
    except EOFError:
        pass
    finally:
        os._exit(0)
