"""The subject: serves the code under test, in an interpreter of the project's own environment.

The first process serves the imports of collection. Each test gets a fork of it with a socket of its own, so handles
from collection stay valid, and no test sees what another one left in memory. Nothing here knows of tests, and no module
of ours stays in `sys.modules`, where the code under test could find it.
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
from .lane import SeamLane
from .twins import OPERATIONS, PRESENT
from .wire import CannotCross, WireBreach

_MAX_LINES = 30
_LOST = 70
"""The exit status of a process that has lost the judge."""


class Sink(io.RawIOBase):
    """Standard output or error: collects bytes until the next message."""

    def __init__(self, number: int, events: list[Any]) -> None:
        self._number, self._events = number, events

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = bytes(data)
        text, last = written.decode("utf-8", "replace"), self._events[-1] if self._events else None
        if last is not None and last[:2] == ["out", self._number]:
            last[2].append(text)
        else:
            self._events.append(["out", self._number, [text]])
        return len(written)


def _stream(number: int, name: str, events: list[Any]) -> Any:
    stream = io.TextIOWrapper(
        io.BufferedWriter(Sink(number, events)), encoding="utf-8", line_buffering=False, write_through=False
    )
    stream.mode = "w"  # type: ignore[misc]
    stream.buffer.raw.name = name  # type: ignore[attr-defined]
    return stream


class SubjectLane(SeamLane):
    """The subject's side."""

    def __init__(self, sock: Any, ambient: Any) -> None:
        super().__init__(sock, 1)
        self.ambient = ambient
        self.trouble = ""
        self.patched: dict[Any, Any] = {}

    def serve(self) -> None:
        """Answer until the judge hangs up. While code of the project runs, its threads may call the judge, too."""
        while True:
            with self.lock:
                message = self.receive()
                if message[0] != "q":
                    raise WireBreach("an answer came without a request")
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
            elif event[0] == "out":
                event[2] = "".join(event[2])
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

    def lost(self, _: BaseException) -> tuple[str, Any]:
        os._exit(_LOST)

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

    # requests that only the judge makes

    def do_import(self, name: str, path: list[str]) -> Any:
        if list(path) != sys.path:
            sys.path[:] = path
            importlib.invalidate_caches()
        return importlib.import_module(name)

    def do_patch(self, name: str, path: list[str], value: Any, is_there: bool) -> None:
        """Install a test's replacement in the standard library or in another package, or restore the original."""
        if name not in sys.modules and not is_there:
            return
        owner = importlib.import_module(name)
        for one in path[:-1]:
            owner = getattr(owner, one)
        key = (name, *path)
        if key not in self.patched:
            self.patched[key] = owner.__dict__.get(path[-1], self)
        if is_there:
            setattr(owner, path[-1], value)
        elif self.patched[key] is self:
            delattr(owner, path[-1])
        else:
            setattr(owner, path[-1], self.patched[key])

    def do_seed(self, args: Any) -> None:
        importlib.import_module("random").seed(*args)

    def do_named(self, name: str) -> Any:
        return importlib.import_module(name)

    def do_lineup(self, left: Any, operation: str, candidates: Any, is_forked: bool) -> Any:
        """Compare an object with each of several values.

        If a constructor makes the decoys, compare in a fork: the effects of the constructor end with it. A process with
        several threads compares by itself, as its fork could deadlock.
        """
        if is_forked and threading.active_count() == 1:
            return self._in_fork(lambda: self._lineup(left, OPERATIONS[operation], candidates))
        return self._lineup(left, OPERATIONS[operation], candidates)

    def _lineup(self, left: Any, compare: Any, candidates: Any) -> Any:
        found: list[Any] = []
        for make in candidates:
            try:
                other = make[0] if len(make) == 1 else make[0](*make[1], **make[2])
            except Exception:
                found.append(None)
                continue
            try:
                answer = compare(left, other)
            except Exception as error:
                found.append((error,))
                continue
            found.append(answer if type(answer) is bool else [bool(answer)])
        return tuple(found)

    def _in_fork(self, work: Any) -> Any:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.wire._sock.close()
                answers = work()
                os.write(writing, "".join(_sign(one) for one in answers).encode())
            finally:
                os._exit(0)
        os.close(writing)
        data = os.read(reading, 1000)
        os.close(reading)
        _, status = os.waitpid(child, 0)
        if not data and os.WIFEXITED(status) and os.WEXITSTATUS(status) == _LOST:
            return work()  # the comparison needs a function of the test, and only this process can call it
        if not data:
            raise TypeError("a comparison ended the process")
        failed = (TypeError("the comparison raised an exception"),)
        return tuple({"1": True, "0": False, "-": None, "?": [True], "!": failed}[one] for one in data.decode())

    def do_subclass(self, name: str, bases: Any, names: Any, more: Any) -> Any:
        """Make a class with methods that call the other side's functions."""
        held = {}
        for key, (kind, value) in names.items():
            if kind == "function":
                held[key] = _method_of(value)
            elif kind in _DECORATORS:
                held[key] = _DECORATORS[kind](*(None if one is None else _method_of(one) for one in value))
            else:
                held[key] = value
        return types.new_class(name, tuple(bases), dict(more), lambda space: space.update(held))

    def do_inherited(self, kind: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        return getattr(super(_below(type(owner), kind), owner), name)(*args, **kwargs)


_DECORATORS: dict[str, Any] = {
    "staticmethod": staticmethod,
    "classmethod": classmethod,
    "property": property,
}


def _below(kind: type, wanted: type) -> type:
    """Return the class to give to `super` so that its lookup begins at `wanted`."""
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
        """Fork the process of a test, with the socket that the judge sends.

        The request "socket" makes the judge send one byte with the descriptor (SCM_RIGHTS), then its answer.
        """
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
            os.setsid()  # a signal to its own group does not reach the first process
            old, sock = self.sock, socket.socket(fileno=file)
            self.lane.wire._sock, self.lane.depth = sock, 0
            old.close()
            if hasattr(self.lane, "do_fork"):
                del self.lane.do_fork, self.lane.do_end  # type: ignore[attr-defined]
            self.lane.lock = threading.RLock()
            self.lane.serve()
        except EOFError:
            status = 0
        except BaseException:
            pass
        finally:
            os._exit(status)

    def end(self) -> None:
        """End the process of the last test, and everything that it started."""
        if self.child:
            self.child = 0
            try:
                os.kill(-1, signal.SIGKILL)  # every other process of this namespace: nothing survives a test
                while True:
                    os.waitpid(-1, 0)
            except OSError:
                pass  # no child is left


def _sign(answer: Any) -> str:
    if type(answer) is tuple:
        return "!"
    return "1" if answer is True else "0" if answer is False else "-" if answer is None else "?"


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
