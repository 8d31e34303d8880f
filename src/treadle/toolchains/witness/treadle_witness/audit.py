"""Records the acts of foreign code in the test process by an audit hook: Python has no way to remove one."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

_MAX = 200
_FRAMES = 60
_NEAR = 4
"""The number of frames of the standard library that may lie between some code and the file that it reads."""

NOTED = {
    "subprocess.Popen": "a program was started",
    "os.posix_spawn": "a program was started",
    "os.exec": "the process was replaced by a program",
    "os.system": "a shell was started",
    "os.fork": "a process was forked",
    "os.forkpty": "a process was forked",
    "socket.connect": "a socket was connected",
    "socket.bind": "a socket was bound",
}
"""Events that many honest tests cause."""
SUSPECT = {
    "ctypes.dlopen": "ctypes opened a library",
    "gc.get_objects": "gc.get_objects was called",
    "gc.get_referrers": "gc.get_referrers was called",
    "gc.get_referents": "gc.get_referents was called",
    "sys._getframe": "sys._getframe was called",
    "sys._current_frames": "sys._current_frames was called",
    "sys.addaudithook": "an audit hook was added",
    "sys.settrace": "a tracer was set",
    "sys.setprofile": "a profiler was set",
    "sys.monitoring.register_callback": "code was put under observation",
    "os.kill": "a signal was sent",
}
_DIRECT = {*SUSPECT} - {"ctypes.dlopen", "sys._current_frames", "os.kill"}
"""Events that the standard library causes all the time: only a direct call by the project's own code is suspect."""
_INSIDES = ("__code__", "__defaults__", "__kwdefaults__")
_SECRET = ("/proc/self/fd", "/proc/self/mem", "/proc/self/maps", "/dev/fd")


class Audit:
    """Collects findings; Treadle decides their meaning outside of this process."""

    def __init__(self) -> None:
        self.root = os.getcwd()  # noqa: PTH109
        self.kept = ""
        """The folder in which only the witness may open files."""
        self.test = ""
        self.is_writing = False
        self.functions: dict[int, tuple[str, Any]] = {}
        """The names of the functions, by identity, that no honest code changes."""
        self._busy = False
        self._counts: dict[tuple[str, str], int] = {}
        self._told: dict[tuple[str, str], int] = {}

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Look at an audit event. It must never raise: an exception would change the behaviour of the code."""
        if self._busy or (event not in _WATCHED and event not in _OPENS):
            return
        self._busy = True
        try:
            self._look(event, args)
        except Exception:  # noqa: BLE001, S110, RUF100
            pass
        finally:
            self._busy = False

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Ignore events while the witness itself reads files or frames."""
        busy, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = busy

    def news(self) -> list[tuple[str, str, int]]:
        """Return the findings since the last call: kind, text, count."""
        fresh = [(kind, text, n) for (kind, text), n in self._counts.items() if self._told.get((kind, text), 0) == 0]
        self._told = dict(self._counts)
        return fresh

    def _look(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _OPENS:
            self._look_at_path(args[0] if args else "")
        elif event == "object.__setattr__":
            if len(args) > 1 and args[1] in _INSIDES and id(args[0]) in self.functions:
                self._add("suspect", f"{self.functions[id(args[0])][0]} was exchanged")
            elif len(args) > 1 and args[1] == "__code__" and self._culprit(1):
                self._add("suspect", "the code of a function was exchanged")
        elif event in NOTED:
            if self._culprit(_FRAMES):
                program = _program(args)
                self._add("noted", f"{NOTED[event]}: {program}" if program else NOTED[event])
        else:
            where = self._culprit(1 if event in _DIRECT else _FRAMES)
            if where:
                self._add("suspect", f"{SUSPECT[event]} by {where}")

    def _look_at_path(self, path: Any) -> None:
        if isinstance(path, bytes):
            path = path.decode(errors="replace")
        if not isinstance(path, str):
            return
        if self.kept and not self.is_writing and self.kept in path:
            self._add("suspect", "the folder of the report was opened")
        elif path.startswith(_SECRET) and self._culprit(_FRAMES):
            self._add("suspect", f"{path} was opened")
        elif path.endswith(".py") and path.startswith(self.root) and _is_test(path):
            where = self._culprit(_NEAR)
            if where and not _is_test(where.partition(":")[0]):
                self._add("suspect", f"{path[len(self.root) + 1 :]}, a file of tests, was read by {where}")

    def _culprit(self, depth: int) -> str:
        """Return the nearest caller from the checkout, as `file:line`, within some frames."""
        frame: Any = sys._getframe(3)
        while frame is not None and depth > 0:
            name = frame.f_code.co_filename
            if name != __file__ and not name.startswith("<"):
                if place := self.place(frame.f_code):
                    return f"{place}:{frame.f_lineno}"
                depth -= 1
            frame = frame.f_back
        return ""

    def place(self, code: Any) -> str:
        """Return the file of the checkout that defines some code; empty for code from elsewhere."""
        name = getattr(code, "co_filename", "")
        is_own = isinstance(name, str) and name.startswith(self.root + os.sep) and "site-packages" not in name
        return name[len(self.root) + 1 :] if is_own else ""

    def _add(self, kind: str, text: str) -> None:
        key = (kind, f"{text} (in {self.test or 'no test'})")
        if key in self._counts or len(self._counts) < _MAX:
            self._counts[key] = self._counts.get(key, 0) + 1


def _is_test(path: str) -> bool:
    name = os.path.basename(path)  # noqa: PTH119
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def _program(args: tuple[Any, ...]) -> str:
    """The program of an event, where it names one."""
    named = args[0] if args and args[0] is not None else args[1] if len(args) > 1 else ""
    first = named[0] if isinstance(named, (list, tuple)) and named else named
    return os.fsdecode(first) if isinstance(first, (str, bytes, os.PathLike)) else ""


_OPENS = {"open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.truncate"}
_WATCHED = {*NOTED, *SUSPECT, "object.__setattr__"}

AUDIT = Audit()
sys.addaudithook(AUDIT.hook)
