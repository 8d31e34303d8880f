"""The judge: runs the tests, and asks the subject for everything that the implementer may write.

A finder answers for the modules of the subject by their path in the checkout; this process never runs their code. The
first lane serves imports at collection, and fixtures that several tests share. Each test gets a lane of its own, a fork
of the first one, when it first needs it: handles from collection stay valid there, and nothing survives the test. A
fork costs about 2 ms, a fresh interpreter 70 to 200 ms.
"""

from __future__ import annotations

import array
import importlib.machinery
import importlib.util
import inspect
import json
import os
import random
import socket
import sys
import types
import unittest
from contextlib import suppress
from typing import Any, Callable, Iterator, cast  # noqa: UP035 - this runs on old versions too

import pytest

from .ambient import JudgeAmbient
from .lane import SeamLane, standard_class
from .lineup import Lineup, verdict_of
from .patches import Patches
from .plain import plain_outcome
from .record import CallRecorder
from .twins import PRESENT, TwinMeta, TwinModule, inner, is_twin, number_of
from .wire import CannotCross, WireBreach

_PRIVATE = ("__", "gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_", "im_")
_PUBLIC = frozenset(
    "__name__ __qualname__ __doc__ __len__ __iter__ __call__ __contains__ __getitem__ __enter__ __exit__ __next__"
    " __eq__ __hash__ __str__ __repr__ __bool__ __init__ __version__".split()
)
_ARITHMETIC = frozenset("add sub mul truediv floordiv mod pow divmod neg pos abs round trunc floor ceil".split())
_RECKONING = ("__sub__", "__rsub__", "__abs__", "__float__", "__round__")
_ORDERS = ("lt", "le", "gt", "ge")
_CALLING = frozenset("call method special operate get set delete leave copy deepcopy drive signature".split())


class SeamError(Exception):
    """A test cannot go on, because a value did not cross, or the subject broke the rules of the wire.

    A test may catch this error, so the seam records the reason, too.
    """


class JudgeLane(SeamLane):
    """The judge's side."""

    is_judge = True

    def __init__(self, sock: Any, seam: Seam) -> None:
        super().__init__(sock, 2)
        self.seam, self.sock = seam, sock
        self.ambient = JudgeAmbient()
        self.dead = ""
        self.patched: dict[Any, Any] = {}
        self.spare: Any = None
        """The subject's end of a test's socket; the subject may ask for it once, while it forks."""

    def clone(self, sock: Any) -> JudgeLane:
        """Return the judge's side of a fork: it knows the same handles, so those from collection stay valid."""
        other = JudgeLane(sock, self.seam)
        other.shared = self.shared.clone()
        for name in ("exports", "ids", "twins", "patched"):
            setattr(other, name, dict(getattr(self, name)))
        other.next = self.next
        other.ambient = self.ambient.clone()
        return other

    def request(self, what: str, *operands: Any) -> Any:
        if self.dead:
            raise SeamError(self.dead)
        self.seam.crossed()
        record = self.seam.recorder
        note = record.ask(what, operands) if self.depth == 0 else None
        try:
            value = super().request(what, *operands)
        except CannotCross as error:
            raise self.seam.uncrossable(str(error)) from None
        except BaseException as error:
            if note is not None and not isinstance(error, SeamError):
                record.answer(note, "raised", error)
            raise
        if note is not None:
            record.answer(note, "value", value)
        return value

    def lost(self, error: BaseException) -> tuple[str, Any]:
        if isinstance(error, WireBreach):
            self.kill(f"breach of the wire: {error}")
        elif isinstance(error, (EOFError, ConnectionError)):
            self.kill("the code under test ended its process")
        elif isinstance(error, OSError):
            self.kill("the code under test did not answer in time")
        else:
            self.kill("the test was ended while it waited for the code under test")
            raise error
        raise SeamError(self.dead) from None

    def kill(self, reason: str) -> None:
        """Close the lane for good; the present test fails."""
        self.dead = self.dead or reason
        self.sock.close()
        self.seam.breach(reason)

    def forgotten(self) -> list[int]:
        found = [*self.unsent, *self.shared.unused()] if self.shared.of or self.unsent else []
        self.unsent = []
        return found

    def forget(self, number: Any) -> None:  # noqa: ARG002
        raise WireBreach("the subject decided what is forgotten")

    def extra(self) -> Any:
        news = self.ambient.news()
        if any(value for name, value in news if name != "levels"):
            self.seam.recorder.is_spoilt = True
        return news

    def hear_extra(self, extra: Any) -> None:
        if extra is not None:
            trouble = self.ambient.hear(extra, self.decode)
            if trouble:
                self.seam.failed_to_cross(trouble)

    def refuse(self, reason: str) -> Any:
        self.seam.finding(reason)
        raise SeamError(reason)

    def cannot(self, reason: str) -> Any:
        raise self.seam.uncrossable(reason)

    def cannot_return(self, reason: str) -> Any:
        self.seam.failed_to_cross(reason)
        raise SeamError(f"the code under test could not hand over its result: {reason}")

    def could_not_return(self, reason: str) -> None:
        self.seam.uncrossable(reason)

    # requests that the subject may make

    def before(self) -> None:
        changes = self.seam.patches.changes(self.patched) if self.seam.patches.watched else []
        if self.seam.patches.seed is not None:
            seed, self.seam.patches.seed = self.seam.patches.seed, None
            self.seam.recorder.is_spoilt = True
            super().request("seed", seed)
        for (module, *path), value, is_there in changes:
            self.seam.recorder.is_spoilt = True
            super().request("patch", module, path, value, is_there)

    def check(self, what: Any, encoded: list[Any]) -> None:
        if what == "socket" and self.spare is not None:
            return
        if what not in _CALLING:
            raise WireBreach(f"the subject asked for {str(what)[:60]}")
        first = encoded[1:] if what == "operate" else encoded[:1]
        targets = first[0][1:] if what == "operate" and first and type(first[0]) is list else first
        if not any(type(one) is list and one and one[0] in ("p", "a") for one in targets):
            raise WireBreach("the subject asked for something of a thing that it was not given")

    def may_get(self, value: Any, name: Any) -> str:
        name = str(super().may_get(value, name))
        if name == "__dict__" and self.seam.is_plain(value):
            return str(name)
        if (name.startswith(_PRIVATE) and name not in _PUBLIC) or isinstance(value, types.ModuleType):
            raise AttributeError(name)
        if name == "__init__":
            raise AttributeError(name)
        return str(name)

    def default(self, function: Any, name: str, value: Any) -> Any:
        return HiddenDefault(function, name, value)

    def do_call(self, function: Any, args: Any, kwargs: Any) -> Any:
        if any(type(one) is HiddenDefault for one in (*args, *kwargs.values())):
            names = [name for name, one in inspect.signature(function).parameters.items() if one.kind in _NAMED]
            names += [""] * len(args)
            args = tuple(_revealed(one, function, name) for one, name in zip(args, names))  # noqa: B905 - Python 3.8
            kwargs = {name: _revealed(one, function, name) for name, one in kwargs.items()}
        return super().do_call(function, args, kwargs)

    def caught(self, error: BaseException) -> BaseException:
        if isinstance(error, SeamError) or type(error).__name__ == "TestTimeout":
            raise error
        if isinstance(error, (AssertionError, pytest.fail.Exception)):
            self.seam.raised_inside(error)
        return error

    def do_socket(self) -> None:
        # One inherited socket joins both sides, and the subject has a network namespace of its own. So the socket of a
        # test travels over the inherited one, as a descriptor.
        spare, self.spare = self.spare, None
        self.sock.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [spare.fileno()]))])

    def encode_module(self, value: Any) -> Any:
        raise CannotCross(f"the test hands over the module {value.__name__}")

    def encode_other(self, value: Any) -> Any:
        if isinstance(value, socket.socket):
            raise CannotCross("the test hands over a socket")
        return super().encode_other(value)

    def with_traceback(self, error: BaseException, places: Any) -> BaseException:
        return self.seam.traceback(error, self.decode(places))

    # equality

    def equals(self, twin: Any, other: Any) -> Any:
        if self.is_decoding:
            return twin is other
        if not is_twin(other) and _decides(type(other)):
            return NotImplemented  # `pytest.approx` and its kin compare their own parts
        return self.compare(twin, "eq", self.seam.lineup.of(twin, other))

    def operate(self, operation: str, operands: tuple[Any, ...]) -> Any:
        if operation in _ORDERS and type(operands[1]) in (int, float) and _is_number(operands[0]):
            return self.compare(operands[0], operation, self.seam.lineup.of_order(operands[1]))
        if operation == "ne":  # negate an equality that went through the line-up
            answer = self.equals(*operands)
            return not answer if type(answer) is bool else answer
        result = super().operate(operation, operands)
        if operation in _ARITHMETIC and isinstance(type(result), TwinMeta):
            inner(result)["_seam_derived"] = True
        return result

    def compare(self, twin: Any, operation: str, lineup: Any) -> Any:
        """Ask a twin's original to compare itself with all candidates of a line-up."""
        answers = self.request("lineup", twin, operation, Uncopied(lineup.candidates), lineup.is_forked)
        if type(answers) is not tuple or len(answers) != len(lineup.candidates):
            return self.refuse("a comparison has not one answer for each value")
        answer, reason = verdict_of(lineup, answers)
        if reason:
            return self.refuse(f"{type(twin).__name__} {reason}")
        return answer

    def encode(self, value: Any) -> Any:
        # Candidates of a comparison are copies, or the subject could change the test's expected value.
        return self.copy(value.values) if type(value) is Uncopied else super().encode(value)

    def construct(self, kind: Any, args: Any, kwargs: Any) -> Any:
        made = self.request("call", kind, args, kwargs)
        if is_twin(made):
            self.seam.lineup.made(made, kind, args, kwargs)
        return made

    def subclass(self, name: str, bases: Any, names: Any, more: Any) -> Any:
        """Make a test's class that inherits from the subject's classes: in the subject, with methods that call back."""
        others = [one.__name__ for one in bases if not isinstance(one, TwinMeta) and standard_class(one) is None]
        if others or any(key != "metaclass" and is_twin(one) for key, one in more.items()):
            return self.cannot(f"{name} inherits from classes of both sides ({', '.join(others)})")
        told = {key: _part(one) for key, one in names.items() if key not in _OWN_NAMES}
        made = self.request("subclass", name, bases, told, more)
        number = number_of(made)
        twins = tuple(one for one in bases if isinstance(one, TwinMeta) or one is not object)
        kept = {**names, "_seam_": number, "_seam_made": True, "_seam_virtual": False}
        self.twins[number] = ours = type.__new__(TwinMeta, name, twins, kept)
        return ours


class HiddenDefault:
    """The default of a parameter of a test's function.

    It may be the expected value, so the subject gets only something to hand back to the same function, in its place.
    """

    __slots__ = ("__held__",)  # the subject may not ask for such names

    def __init__(self, *held: Any) -> None:
        self.__held__ = held

    def __repr__(self) -> str:
        return "..."


HiddenDefault.__module__, HiddenDefault.__qualname__, HiddenDefault.__name__ = "builtins", "object", "object"
_NAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _revealed(argument: Any, function: Any, parameter: str) -> Any:
    """Return an argument of a call; of a hidden default, the value, if it stands in its own place."""
    if type(argument) is not HiddenDefault:
        return argument
    owner, name, value = argument.__held__
    if owner is not function or name != parameter:
        raise TypeError("a default belongs to another parameter")
    return value


_OWN_NAMES = frozenset("__classcell__ __dict__ __weakref__ __firstlineno__ __static_attributes__".split())


def _part(value: Any) -> tuple[str, Any]:
    """Return the kind and the value of a class attribute; the subject turns functions into methods that call back."""
    if type(value) is types.FunctionType:
        return "function", value
    if type(value) in (staticmethod, classmethod):
        return type(value).__name__, (value.__func__,)
    if type(value) is property:
        return "property", (value.fget, value.fset, value.fdel)
    return "value", value


def _decides(kind: type) -> bool:
    """Whether a class of the tests or of a tool defines its own equality."""
    return standard_class(kind) is None and cast("Any", kind.__eq__) is not object.__eq__


def _is_number(twin: Any) -> bool:
    """Whether a twin supports arithmetic, or is the result of arithmetic on a twin."""
    return "_seam_derived" in inner(twin) or any(hasattr(type(twin), one) for one in _RECKONING)


class Uncopied:
    """Values to encode without sharing their containers."""

    def __init__(self, values: Any) -> None:
        self.values = values


class Finder:
    """Finds the modules of the subject, by the path of their file in the checkout."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        """Return a spec with a loader that asks the subject, if the file belongs to the subject."""
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.origin or not self._seam.is_subject(spec.origin):
            return None
        found = importlib.machinery.ModuleSpec(name, cast("Any", Loader(self._seam)), origin=spec.origin)
        found.submodule_search_locations = spec.submodule_search_locations
        found.has_location = True
        return found


class Loader:
    """Imports a module in the subject."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam

    def create_module(self, spec: Any) -> Any:
        module = PRESENT.lane().request("import", spec.name, self._seam.path())
        if type(module) is not TwinModule:
            raise ImportError(f"{spec.name} is no module in the subject", name=spec.name)
        # `inspect.getmodule` asks each module for its file, whenever pytest prints a traceback: no test has asked then.
        types.ModuleType.__setattr__(module, "__file__", spec.origin)
        return module

    def exec_module(self, module: Any) -> None:
        """Do nothing: the subject has already run the module."""


class AskedCall:
    """Stands for a test while a call is made again."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


class Seam:
    """The judge's half of one run."""

    def __init__(self, order: dict[str, Any], send: Callable[..., None]) -> None:
        self.order, self.send = order, send
        self.checkout = order["checkout"]
        self.own = frozenset(order["own"])
        sock = socket.socket(fileno=order["socket"])
        sock.set_inheritable(False)
        sock.settimeout(order["deadline"])
        self.stem = JudgeLane(sock, self)
        self.lane: JudgeLane | None = None
        self.item: Any = None
        self.wide = 0
        """The number of fixtures of more than one test that pytest is setting up."""
        self.findings: list[str] = []
        self.calls = 0
        self.said: dict[str, Any] = {}
        self.lineup = Lineup(random.Random(order["seed"]))
        self._hidden = order["hidden"]
        self.is_busy = False
        """Whether the judge itself compiles frames or reads files, so the audit hook has to ignore these events."""
        self.patches = Patches(self._is_of_tests)
        self.recorder = CallRecorder(order["sample"])
        PRESENT.lane = self.present

    # lanes

    def present(self) -> JudgeLane:
        """Return the lane of the present test; outside of tests, and for shared fixtures, the first lane.

        The first lane forks a process for the test here. A test that never calls the subject costs no fork.
        """
        if self.lane is not None:
            return self.lane
        if self.item is None or self.wide:
            return self.stem
        with self.stem.lock:  # several threads of a test may ask at once
            lane: JudgeLane | None = self.lane
            if self.stem.dead or lane is not None:
                return lane or self.stem
            ours, theirs = socket.socketpair()
            with theirs:
                self.stem.spare = theirs
                self.stem.request("fork")
            ours.settimeout(self.order["deadline"])
            self.lane = self.stem.clone(ours)
            return self.lane

    def begin(self, item: Any) -> None:
        self.item, self.findings, self.said, self.calls = item, [], {}, 0
        self.recorder.begin(item.nodeid)
        self.is_running = True

    def end(self) -> None:
        lane, self.lane, item, self.item = self.lane, None, self.item, None
        self.lineup.forget()
        if lane is not None:
            lane.sock.close()
            if lane.loop is not None:
                lane.loop.close()
            for name, module in list(sys.modules.items()):
                if type(module) is TwinModule and self.stem.twins.get(number_of(module)) is not module:
                    del sys.modules[name]  # the next test imports it afresh, in its own process
            with suppress(SeamError):  # the first process has ended; the next test reports this
                self.stem.request("end")
        if item is not None and (self.calls or self.said):
            self.send("crossed", id=item.nodeid, calls=self.calls, **self.said, **self.recorder.found())

    def crossed(self) -> None:
        self.calls += 1

    # findings

    def _say(self, what: str, reason: str) -> None:
        if self.item is not None:
            self.said.setdefault(what, reason[:2000])
        else:
            self.send("outside", kind=what, reason=reason[:2000])

    def uncrossable(self, reason: str) -> SeamError:
        self._say("uncrossable", reason)
        self.findings.append(reason)
        return SeamError(f"this test cannot cross to the code under test: {reason}")

    def failed_to_cross(self, reason: str) -> None:
        self._say("failed", reason)
        self.findings.append(reason)

    def breach(self, reason: str) -> None:
        self._say("breach", reason)
        self.findings.append(reason)

    def finding(self, reason: str) -> None:
        self._say("failed", reason)
        self.findings.append(reason)

    def raised_inside(self, error: BaseException) -> None:
        """Record an assertion that failed in a callback: it fails the test even if the subject catches the error."""
        self.findings.append(f"in a function of the test that the code under test called: {str(error)[:500]}")

    # modules

    def is_subject(self, path: str) -> bool:
        """Whether a file of the checkout belongs to the subject: every file that is not known as the tests' own."""
        if not path.startswith(self.checkout + os.sep):
            return False
        inside = path[len(self.checkout) + 1 :]
        return inside not in self.own and "site-packages" not in inside.split(os.sep)  # noqa: PTH206

    def _is_of_tests(self, module: Any) -> bool:
        file = getattr(module, "__file__", None)
        return isinstance(file, str) and file.startswith(self.checkout + os.sep) and not self.is_subject(file)

    def is_plain(self, value: Any) -> bool:
        """Whether a value is an object of a test class; descriptors of the code keep values in its dictionary."""
        if isinstance(value, (type, types.FunctionType, types.MethodType, types.ModuleType, unittest.TestCase)):
            return False
        return self._is_of_tests(sys.modules.get(type(value).__module__))

    # acts of a test that only work in one process

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Handle an audit event: a test may neither run code of the subject here, nor start programs."""
        if event not in _WATCHED or self.is_busy or not self.is_running:
            return
        self.is_busy = True
        try:
            reason = self._objection(event, args)
        finally:
            self.is_busy = False
        if reason:
            raise self.uncrossable(reason)

    def _objection(self, event: str, args: tuple[Any, ...]) -> str:
        if event in _STARTS:
            return f"the test starts a program ({event})"
        if event == "exec":
            file = getattr(args[0], "co_filename", "")
            return f"the test runs {os.path.basename(file)} by itself" if self._is_code(file) else ""  # noqa: PTH119
        path = args[0] if args else ""
        if event == "open" and isinstance(path, str) and self._is_code(path) and not _is_shown():
            return f"the test reads {os.path.basename(path)}"  # noqa: PTH119
        if event == "socket.bind":
            self._say("uncrossable", "the test opens a socket for others")
        return ""

    def _is_code(self, path: str) -> bool:
        return path.endswith(_CODE) and self.is_subject(os.path.abspath(path))  # noqa: PTH100

    def path(self) -> list[str]:
        return [one for one in sys.path if one not in self._hidden]

    def traceback(self, error: BaseException, places: Any) -> BaseException:
        """Give an exception a traceback through its places in the subject, by frames without the subject's code."""
        if type(places) is not tuple:
            return error
        link = None
        for place in reversed(places[-20:]):
            if type(place) is not tuple or len(place) != 3:
                raise WireBreach("a traceback is malformed")
            file, line, name = place
            if type(file) is not str or type(line) is not int or not 0 < line < 1_000_000 or type(name) is not str:
                raise WireBreach("a traceback is malformed")
            if self.is_subject(file) and "\0" not in file and os.path.isfile(file):  # noqa: PTH113
                busy, self.is_busy = self.is_busy, True
                link = _frame(file, line, name, link)
                self.is_busy = busy
        return error.with_traceback(link) if link is not None else error

    # hooks

    def pytest_collection(self) -> None:
        self.is_running = True

    def pytest_sessionfinish(self) -> None:
        self.is_running = False

    is_running = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self) -> None:
        """Let pytest read sources of the subject for its report."""
        self.is_running = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        self.is_running = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Before any test, make some calls again: each one alone, in the process that a test would get."""
        self.send("asked", path=self.path(), outcomes=[self._ask(number) for number in range(len(self.order["ask"]))])

    def _ask(self, number: int) -> str:
        names: dict[str, Any] = {}
        self.begin(AskedCall(f"question {number}"))
        exec(compile(self.order["ask"][number], "<question>", "exec"), names)
        outcome = plain_outcome(names["_outcome"][0], names["_outcome"][1], names["_args"], names["_kwargs"])
        self.item = None
        self.end()
        return json.dumps(outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.begin(item)
        yield
        self.end()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        is_wide = fixturedef.scope != "function"
        self.wide += is_wide
        yield
        self.wide -= is_wide

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self.is_running = True  # the report about the setup has ended
        outcome: Any = yield
        if self.findings and outcome.excinfo is None:
            outcome.force_exception(SeamError(self.findings[0]))
        elif outcome.excinfo is not None and isinstance(outcome.excinfo[1], KeyboardInterrupt) and self.calls:
            outcome.force_exception(SeamError("the code under test raised KeyboardInterrupt"))


_STARTS = frozenset("subprocess.Popen os.system os.exec os.posix_spawn os.spawn os.fork os.forkpty pty.spawn".split())
_WATCHED = frozenset({*_STARTS, "exec", "open", "socket.bind"})
_CODE = (".py", ".pyx", ".so")
_SHOWING = ("linecache.py", "tokenize.py", "inspect.py", "source.py", "code.py")


def _is_shown() -> bool:
    """Whether the reader of a source only shows lines of it, or is an installed tool (hypothesis reads constants)."""
    frame: Any = sys._getframe(3)
    for _ in range(20):
        if frame is None:
            return False
        file = frame.f_code.co_filename
        if file.endswith(_SHOWING) or "site-packages" in file:
            return True
        if not file.startswith(("<frozen", sys.base_prefix + os.sep)):
            return False
        frame = frame.f_back
    return False


def _frame(file: str, line: int, name: str, link: Any) -> Any:
    """Return a traceback of one frame at a place of a file, in front of another traceback."""
    code = compile("\n" * (line - 1) + "raise error", file, "exec")
    if hasattr(code, "replace"):
        code = code.replace(co_name=name[:100])
    try:
        exec(code, {"error": ValueError("")})
    except ValueError as raised:
        found: Any = raised.__traceback__
        found = found.tb_next
        return types.TracebackType(link, found.tb_frame, found.tb_lasti, line)


def start(order: dict[str, Any], send: Callable[..., None], pluginmanager: Any, name: str) -> Seam:
    """Install the seam in front of the imports of this process."""
    seam = Seam(order, send)
    sys.path[:] = [one for one in sys.path if one not in order["hidden"]]
    sys.meta_path.insert(0, Finder(seam))
    JudgeAmbient.hear_levels()
    seam.patches.listen()
    sys.addaudithook(seam.hook)
    pluginmanager.register(seam, name)
    return seam
