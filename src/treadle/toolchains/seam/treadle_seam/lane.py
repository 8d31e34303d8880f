"""A lane between judge and subject: requests, answers, and handles.

Both sides use it. Each side may send requests of its own before it answers one: calls nest strictly. A value that
cannot cross by value is *exported*: it stays here under a number, and the other side gets a twin of it.
"""

from __future__ import annotations

import builtins
import copy
import sys
import threading
import types
from collections import OrderedDict
from typing import Any, Callable, cast  # noqa: UP035 - this runs on old versions too

from .clock import real_monotonic, standard_name
from .twins import (
    KINDS,
    MUTABLE,
    OPERATIONS,
    PAYLOADS,
    SPECIALS,
    Bound,
    TwinCoroutine,
    TwinFunction,
    TwinMeta,
    TwinModule,
    inner,
    is_twin,
    number_of,
    twin_class,
    twin_instance,
)
from .wire import CannotCross, Codec, FrameLine, WireBreach, is_standard, type_name

MAX_EXPORTS = 100_000
_MAX_TEXT = 4_000
_MAX_PAYLOAD = 1_000
_MAX_CAUSES = 5

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType)
_METHODS = (types.FunctionType, types.MethodDescriptorType, types.BuiltinFunctionType)
_NEVER = (types.FrameType, types.TracebackType, types.CodeType)
_EXCEPTIONS = {
    f"builtins.{name}": one
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, BaseException)
}
_MODULES = (
    "builtins collections collections.abc numbers abc decimal fractions datetime uuid pathlib re enum types typing io"
    " json json.decoder threading queue contextlib ipaddress zoneinfo string array functools itertools argparse"
    " configparser struct zlib binascii csv socket ssl urllib.error http.client email.errors subprocess shutil tarfile"
    " zipfile asyncio asyncio.exceptions concurrent.futures concurrent.futures._base dataclasses weakref os"
    " xml.etree.ElementTree sqlite3 logging random statistics calendar locale codecs getopt tokenize ast inspect"
    " copy operator time heapq bisect textwrap unicodedata secrets hashlib hmac tempfile glob fnmatch"
).split()
"""Modules of the standard library whose classes may cross by name. None of them has a class that means a verdict."""
_ERRORS_ONLY = frozenset(
    "subprocess socket ssl urllib.error http.client shutil tarfile zipfile asyncio asyncio.exceptions os sqlite3"
    " logging concurrent.futures concurrent.futures._base threading tempfile weakref ast inspect locale codecs".split()
)
"""Modules that share only their exceptions: a call of one of their other classes would act (start a thread, say)."""
_RENAMED = {"_io": "io", "posixpath": "os.path", "concurrent.futures._base": "concurrent.futures"}


def standard_class(kind: type) -> tuple[str, str] | None:
    """The module and the name of a class of the standard library that may cross by its name."""
    if standard_name(kind):
        return "datetime", standard_name(kind).partition(".")[2]
    module = getattr(kind, "__module__", "")
    is_error = issubclass(kind, BaseException)
    for one in (module, _RENAMED.get(module, ""), type_name(kind).rpartition(".")[0]):
        if (
            one in _MODULES
            and (is_error or one not in _ERRORS_ONLY)
            and is_standard(kind, f"{one}.{kind.__qualname__}")
        ):
            return one, kind.__qualname__
    found = sys.modules.get("types")
    if module == "builtins" and found is not None:  # `function`, `generator` and the like
        for name, value in vars(found).items():
            if value is kind and name.endswith("Type"):
                return "types", name
    return None


def named_class(module: Any, name: Any) -> Any:
    """Return a class of the standard library by its name.

    The lookup takes only classes, and only from `_MODULES`: the other side is hostile, and a name must not lead it to a
    function such as `os.system`.
    """
    if module not in _MODULES or type(name) is not str or not name.isidentifier():
        raise WireBreach(f"a reference to {str(module)[:60]}.{str(name)[:60]} crossed")
    try:
        found = getattr(__import__(module, fromlist=["_"]), name)
    except (ImportError, AttributeError):
        raise WireBreach(f"a reference to {module}.{name} crossed") from None
    is_error = isinstance(found, type) and issubclass(found, BaseException)
    if not isinstance(found, type) or (module in _ERRORS_ONLY and not is_error):
        raise WireBreach(f"a reference to {module}.{name} crossed, which is no class")
    return found


class SeamLane(Codec):
    """One side of a lane."""

    is_judge = False

    def __init__(self, sock: Any, first: int) -> None:
        super().__init__(first)
        self.wire = FrameLine(sock)
        self.lock = threading.RLock()
        self.depth = 0
        self.count = 0
        """The number of requests that this side has made."""
        self.exports: dict[int, Any] = {}
        self.ids: dict[int, int] = {}
        self.next = 1
        self.twins: dict[int, Any] = {}
        self._in_key = False
        self.encoders[type] = self._encode_class
        self.decoders.update({"T": lambda j: named_class(j[1], j[2]), "p": self._own, "a": self._own_attribute})
        self.decoders.update(
            {"h": self._twin, "X": self._exception, "g": self._alias, "e": self._member, "n": lambda _: type(None)}
        )

    # requests

    def request(self, what: str, *operands: Any) -> Any:
        """Send a request, answer the other side's own requests meanwhile, and return the result."""
        with self.lock:
            self.count += 1
            self.before()
            self.depth += 1
            depth = self.depth
            try:
                self._send("q", depth, [what], operands)
                outcome, value = self._wait(depth)
            except CannotCross:
                raise
            except BaseException as error:
                outcome, value = self.lost(error)
            finally:
                self.depth -= 1
        if outcome == "ok":
            return value
        if outcome == "raised" and isinstance(value, BaseException):
            raise value
        return self.cannot_return(str(value)[:_MAX_TEXT])

    def lost(self, error: BaseException) -> tuple[str, Any]:
        """Handle a request that will never get its answer."""
        raise error

    def before(self) -> None:
        """Prepare a request; the judge first sends the patches and the seed that tests have changed."""

    def _send(self, kind: str, depth: int, head: list[Any], operands: tuple[Any, ...]) -> None:
        self.fresh = []
        forgotten = self.forgotten()
        try:
            encoded = [self.encode(one) for one in operands]
            updates = self.updates() if self.shared.of else []
            self.wire.send([kind, depth, *head, encoded, updates, forgotten, self.extra()])
        except CannotCross:
            self._take_back()
            if forgotten:
                self.unsent = [*forgotten, *self.unsent]
            raise

    unsent: list[int] = []  # noqa: RUF012 - replaced, never changed

    def forgotten(self) -> list[int]:
        """Return the numbers of the containers that neither side needs any more; only the judge decides this."""
        return []

    def extra(self) -> Any:
        """Return the news of this side (output, environment) that the next message carries."""
        return None

    def hear_extra(self, extra: Any) -> None:
        """Take over the news that a message carries."""

    def _take_back(self) -> None:
        self._forget_fresh(0)
        self._depth, self._is_copy = 0, False

    def _forget_fresh(self, mark: int) -> None:
        for one in self.fresh[mark:]:
            if type(one) is int:
                self.shared.forget(one)
            else:
                self.ids.pop(id(self.exports.pop(one[0], None)), None)
        del self.fresh[mark:]

    def _wait(self, depth: int) -> tuple[str, Any]:
        while True:
            message = self.receive()
            if (
                type(message) is not list
                or len(message) not in (6, 7)
                or message[1] != (depth if message[0] == "r" else depth + 1)
            ):
                raise WireBreach("a message came out of turn")
            if message[0] == "q" and len(message) == 7:
                self._answer(message)
            elif message[0] == "r" and len(message) == 7:
                return self._result(message)
            else:
                raise WireBreach("a message is neither a request nor an answer")

    def receive(self) -> Any:
        return self.wire.receive()

    def _take(self, encoded: Any, updates: Any, forgotten: Any, extra: Any) -> list[Any]:
        """Decode the operands of a message, and apply its changes.

        Forget first: the changes refer only to the containers that are left.
        """
        if type(encoded) is not list or type(forgotten) is not list:
            raise WireBreach("a message is malformed")
        for number in forgotten:
            self.forget(number)
        self._depth = 0
        self.is_decoding += 1
        try:
            operands = [self.decode(one) for one in encoded]
            self.apply(updates)
        finally:
            self.is_decoding -= 1
        self.hear_extra(extra)
        return operands

    def forget(self, number: Any) -> None:
        self.shared.forget(number)

    def _result(self, message: list[Any]) -> tuple[str, Any]:
        _, _, outcome, encoded, updates, forgotten, extra = message
        operands = self._take(encoded, updates, forgotten, extra)
        if len(operands) != 1:
            raise WireBreach("an answer has not one value")
        expected = {"ok": object, "raised": BaseException, "cannot": str}.get(outcome)
        if expected is None or not isinstance(operands[0], expected):
            raise WireBreach("an answer is malformed")
        return outcome, operands[0]

    # answers

    def _answer(self, message: list[Any]) -> None:
        _, depth, what, encoded, updates, forgotten, extra = message
        operands = self._take(encoded, updates, forgotten, extra)
        self.check(what, encoded)
        before, self.depth = self.depth, depth
        try:
            outcome, result = self.perform(what, operands)
        finally:
            self.depth = before
        try:
            self._send("r", depth, [outcome], (result,))
        except CannotCross as error:
            self.could_not_return(str(error))
            self._send("r", depth, ["cannot"], (str(error)[:_MAX_TEXT],))

    def check(self, what: Any, encoded: list[Any]) -> None:
        """Raise `WireBreach` if the other side may not ask for this."""

    def perform(self, what: Any, operands: list[Any]) -> tuple[str, Any]:
        """Perform a request of the other side; return its outcome and its result."""
        function = getattr(self, f"do_{what}", None) if type(what) is str and what.isidentifier() else None
        if function is None:
            raise WireBreach(f"{str(what)[:60]} was asked for")
        try:
            return "ok", function(*operands)
        except (WireBreach, EOFError):
            raise
        except CannotCross as error:
            return "raised", self.caught(TypeError(str(error)))
        except BaseException as error:
            return "raised", self.caught(error)

    def caught(self, error: BaseException) -> BaseException:
        return error

    def may_get(self, value: Any, name: Any) -> str:  # noqa: ARG002
        """Return the name of an attribute that the other side may ask for."""
        if type(name) is not str:
            raise WireBreach("an attribute has no name")
        return name

    def do_get(self, value: Any, name: Any) -> Any:
        return getattr(value, self.may_get(value, name))

    def do_set(self, value: Any, name: Any, new: Any) -> None:
        setattr(value, self.may_get(value, name), new)

    def do_delete(self, value: Any, name: Any) -> None:
        delattr(value, self.may_get(value, name))

    def do_call(self, function: Any, args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    def do_method(self, owner: Any, name: Any, args: Any, kwargs: Any) -> Any:
        return getattr(owner, self.may_get(owner, name))(*args, **kwargs)

    def do_signature(self, function: Any) -> Any:
        import inspect  # noqa: PLC0415 - the subject may never need it

        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return None
        return tuple(
            (
                one.name,
                int(one.kind),
                () if one.default is inspect.Parameter.empty else (self.default(function, one.name, one.default),),
            )
            for one in parameters
        )

    def default(self, function: Any, name: str, value: Any) -> Any:  # noqa: ARG002
        """Return what the other side gets for the default of a parameter."""
        return value

    def do_special(self, owner: Any, name: Any, args: Any, kwargs: Any) -> Any:
        if name not in SPECIALS:
            raise WireBreach("a method that is not special was asked for")
        return getattr(type(owner), name)(owner, *args, **kwargs)

    def do_leave(self, owner: Any, kind: Any, value: Any) -> Any:
        return type(owner).__exit__(owner, kind, value, getattr(value, "__traceback__", None))

    def do_operate(self, name: Any, operands: Any) -> Any:
        return OPERATIONS[name](*operands)

    def do_drive(self, coroutine: Any) -> Any:
        """Run a coroutine to its end, in an event loop of this side: the sides share none.

        A loop that runs here already waits meanwhile, as it does for any other call.
        """
        import asyncio  # noqa: PLC0415 - only where there are coroutines

        outer, loop = asyncio._get_running_loop(), self.loop
        if loop is None or loop.is_running():
            loop = asyncio.new_event_loop()
            loop.time = real_monotonic()  # type: ignore[method-assign]
            self.loop = self.loop or loop
        asyncio._set_running_loop(None)
        try:
            return loop.run_until_complete(coroutine)
        finally:
            asyncio._set_running_loop(outer)
            if loop is not self.loop:
                loop.close()

    loop: Any = None

    def do_copy(self, value: Any) -> Any:
        return copy.copy(value)

    def do_deepcopy(self, value: Any) -> Any:
        return copy.deepcopy(value)

    # requests that twins make

    def operate(self, operation: str, operands: tuple[Any, ...]) -> Any:
        return self.request("operate", operation, operands)

    def equals(self, twin: Any, other: Any) -> Any:
        if self.is_decoding:
            return twin is other
        return self.operate("eq", (twin, other))

    def construct(self, kind: Any, args: Any, kwargs: Any) -> Any:
        return self.request("call", kind, args, kwargs)

    def subclass(self, name: str, bases: Any, names: Any, more: Any) -> Any:  # noqa: ARG002
        return self.cannot(f"{name} inherits from a class of the other side")

    def refuse(self, reason: str) -> Any:
        """Refuse a result of the other side."""
        raise TypeError(reason)

    def cannot(self, reason: str) -> Any:
        """Report that this side wants to send a value that cannot cross."""
        raise CannotCross(reason)

    def cannot_return(self, reason: str) -> Any:
        """Report that the other side could not send its result."""
        raise CannotCross(reason)

    def could_not_return(self, reason: str) -> None:
        """Record that this side could not send its result."""

    # encoding

    def encode_other(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(kind, TwinMeta) or kind is TwinModule:
            return self._encode_twin(value)
        if isinstance(value, TwinMeta):
            return self._encode_twin(value)
        if kind is Bound:
            owner, name, base = object.__getattribute__(value, "_seam_bound")
            if base is None:
                return ["a", number_of(self._own_twin(owner)), name]
        if isinstance(value, type):
            return self._encode_class(value)
        if isinstance(value, BaseException):
            return self._encode_exception(value)
        if isinstance(value, _NEVER):
            raise CannotCross(f"a {kind.__name__} cannot cross")
        if isinstance(value, types.ModuleType):
            return self.encode_module(value)
        if kind is types.GenericAlias if hasattr(types, "GenericAlias") else False:
            return ["g", self.encode(value.__origin__), self.encode(value.__args__)]
        if isinstance(value, _FUNCTIONS):
            return self.encode_function(value)
        enum = sys.modules.get("enum")
        if enum is not None and isinstance(value, enum.Enum) and standard_class(kind) is not None:
            return ["e", self.encode(kind), self.encode(value.value)]
        base = next((one for one in kind.__mro__ if one in PAYLOADS), None)
        if base is not None and kind.__mro__[0] is not base:
            return self.handle(value, "v", lambda: [self.encode(kind), self.encode(_PLAIN[base](value))])
        mutable = next((one for one in kind.__mro__ if one in MUTABLE), None)
        if mutable is not None and mutable.__len__(value) <= _MAX_PAYLOAD:
            return self.handle(value, "w", lambda: [self.encode(kind), self.copy(_HELD[mutable](value))])
        return self.handle(value, "o", lambda: [self.encode(kind)])

    def _encode_twin(self, value: Any) -> Any:
        return ["p", number_of(self._own_twin(value))]

    def _own_twin(self, value: Any) -> Any:
        if type(value) is Bound or self.twins.get(number_of(value)) is not value:
            raise CannotCross("a value of an earlier test, or of another process, was used again")
        return value

    def handle(self, value: Any, kind: str, parts: Callable[[], list[Any]]) -> Any:
        """Encode a value as a handle; the value itself stays here."""
        number = self.ids.get(id(value))
        if number is not None:
            return ["h", number, *self._hash_of(value)]
        if len(self.exports) >= MAX_EXPORTS:
            raise CannotCross(f"more than {MAX_EXPORTS} objects crossed")
        number, self.next = self.next, self.next + 1
        self.exports[number] = value
        self.ids[id(value)] = number
        self.fresh.append((number,))
        in_key, self._in_key = self._in_key, False
        described = parts()
        self._in_key = in_key
        return ["h", number, *self._hash_of(value), kind, *described]

    def key(self, value: Any) -> Any:
        before, self._in_key = self._in_key, True
        try:
            return self.encode(value)
        finally:
            self._in_key = before

    def _hash_of(self, value: Any) -> list[Any]:
        """Return the hash of a handle in a set or a dictionary: the other side cannot ask for it while it decodes."""
        return [hash(value) if self._in_key else None]

    def _encode_class(self, kind: Any) -> Any:
        if isinstance(kind, TwinMeta):
            return self._encode_twin(kind)
        if kind is type(None):
            return ["n"]
        named = standard_class(kind)
        if named is not None:
            return ["T", *named]
        return self.handle(kind, "c", lambda: self._describe(kind))

    def _describe(self, kind: Any) -> list[Any]:
        mro, real = kind.__mro__, _real_base(kind)
        specials = _specials(kind, real)
        own = [one for one in mro if one is kind or (standard_class(one) is not None and one not in real.__mro__)]
        methods = {
            name: None
            for one in own
            for name, value in vars(one).items()
            if isinstance(value, _METHODS) and not name.startswith("__") and name.isidentifier()
        }
        methods = {name: None for name in methods if isinstance(_find(mro, name), _METHODS)}
        fields = vars(kind).get("__dataclass_fields__")
        is_virtual = getattr(type(kind), "__instancecheck__", None) is not type.__instancecheck__
        text = kind.__doc__ if isinstance(kind.__doc__, str) else None
        return [
            *(str(kind.__name__), str(kind.__qualname__), str(kind.__module__)),
            *(specials, list(methods), None if fields is None else list(fields), is_virtual),
            *(text[:_MAX_TEXT] if text else None, [self.encode(one) for one in _bases(kind, real)]),
        ]

    def encode_module(self, value: Any) -> Any:
        raise CannotCross(f"the module {value.__name__} cannot cross")

    def encode_function(self, value: Any) -> Any:
        def described() -> list[Any]:
            doc = getattr(value, "__doc__", None)
            names = [str(getattr(value, one, "") or "") for one in ("__name__", "__qualname__", "__module__")]
            flags = value.__code__.co_flags & KINDS if type(value) is types.FunctionType else None
            return [*names, doc[:_MAX_TEXT] if isinstance(doc, str) else None, flags]

        return self.handle(value, "f", described)

    def _encode_exception(self, value: BaseException, causes: int = 0) -> Any:
        def parts() -> list[Any]:
            args = [self._or_text(one) for one in cast("Any", BaseException.args).__get__(value)]
            cause = value.__cause__
            encoded = self._encode_cause(cause, causes) if cause is not None else None
            return [["t", *args], self.traceback_of(value), encoded]

        kind = type(value)
        if standard_class(kind) is not None:
            state = {name: self._or_text(one) for name, one in _state_of(value).items()}
            flat = [part for pair in state.items() for part in pair]
            return ["X", self.encode(kind), *parts(), ["d", None, *flat]]
        return self.handle(value, "e", lambda: [self.encode(kind), *parts()])

    def _encode_cause(self, cause: BaseException, causes: int) -> Any:
        if causes >= _MAX_CAUSES:
            return None
        return self._encode_twin(cause) if is_twin(cause) else self._encode_exception(cause, causes + 1)

    def _or_text(self, value: Any) -> Any:
        mark = len(self.fresh)
        try:
            return self.encode(value)
        except CannotCross:
            self._forget_fresh(mark)
            return repr(value)[:_MAX_TEXT]

    def traceback_of(self, error: BaseException) -> list[Any]:  # noqa: ARG002
        """The places that a traceback goes through, as texts."""
        return []

    # decoding

    def _own(self, data: list[Any]) -> Any:
        return self.exports[data[1]]

    def _own_attribute(self, data: list[Any]) -> Any:
        return self.do_get(self.exports[data[1]], data[2])

    def _member(self, data: list[Any]) -> Any:
        kind = self.decode(data[1])
        if not isinstance(kind, type) or not issubclass(kind, __import__("enum").Enum):
            raise WireBreach("a member belongs to no enumeration")
        return kind(self.decode(data[2]))

    def _alias(self, data: list[Any]) -> Any:
        return types.GenericAlias(self.decode(data[1]), self.decode(data[2]))

    def _twin(self, data: list[Any]) -> Any:
        number, hashed = data[1], data[2]
        if len(data) == 3:
            found = self.twins[number]
            if hashed is not None and not isinstance(found, (TwinMeta, TwinModule)):
                inner(found)["_seam_hash"] = hashed
            return found
        if type(number) is not int or number in self.twins or (hashed is not None and type(hashed) is not int):
            raise WireBreach("a handle has a wrong number")
        made = self._make(number, data[3], data[4:])
        self.twins[number] = made
        if hashed is not None and not isinstance(made, (TwinMeta, TwinModule)):
            inner(made)["_seam_hash"] = hashed
        return made

    def _make(self, number: int, kind: Any, parts: list[Any]) -> Any:
        if kind == "o":
            return twin_instance(number, self._class(parts[0]))
        if kind == "v":
            return twin_instance(number, self._class(parts[0]), self.decode(parts[1]))
        if kind == "w":
            made, held = twin_instance(number, self._class(parts[0])), self.decode(parts[1])
            base = next((one for one in MUTABLE if type(held) is one and isinstance(made, one)), None)
            if base is None:
                raise WireBreach("a container holds something of another kind")
            if isinstance(made, OrderedDict):  # its order is not in the dictionary that it inherits from
                for key, one in held.items():
                    OrderedDict.__setitem__(made, key, one)
            else:
                base.extend(made, held) if base is list else base.update(made, held)
            return made
        if kind == "e":
            made = twin_instance(number, self.decode(parts[0]), self.decode(parts[1]))
            return self._trace(made, parts[2], parts[3])
        if kind == "f":
            made = twin_instance(number, TwinFunction)
            for name, text in zip(("__name__", "__qualname__", "__module__", "__doc__"), parts):  # noqa: B905
                if type(text) is str:
                    inner(made)[name] = text
            if type(parts[4]) is int:
                inner(made)["_seam_flags"] = parts[4]
            return made
        if kind == "m" and type(parts[0]) is str:
            module = TwinModule(parts[0])
            module.__dict__["_seam_"] = number
            return module
        if kind == "c":
            bases = [self.decode(one) for one in parts[8]]
            return twin_class(number, parts[:8], bases)
        raise WireBreach("a handle is of no known kind")

    def _class(self, data: Any) -> Any:
        """The twin class of an instance."""
        kind = self.decode(data)
        return kind if isinstance(kind, TwinMeta) else self._stand_in(kind)

    def _stand_in(self, kind: Any) -> Any:
        """A twin class for instances of a class of the standard library that do not cross by value."""
        found = self.stand_ins.get(kind)
        if found is None:
            if kind is types.CoroutineType:
                return TwinCoroutine
            if not isinstance(kind, type) or issubclass(kind, BaseException):
                raise WireBreach("an object has no class")
            real = _real_base(kind)
            methods = [
                name
                for name in dir(kind)
                if not name.startswith("__") and isinstance(_find(kind.__mro__, name), _METHODS)
            ]
            names = (kind.__name__, kind.__qualname__, kind.__module__)
            description = [*names, _specials(kind, real), methods, None, False, None]
            bases = [real] if real is not object else [one for one in kind.__mro__ if one in MUTABLE][:1]
            found = self.stand_ins[kind] = twin_class(0, description, bases)
        return found

    stand_ins: dict[Any, Any] = {}  # noqa: RUF012 - one for each class, for all lanes

    def _exception(self, data: list[Any]) -> Any:
        kind, args, state = self.decode(data[1]), self.decode(data[2]), self.decode(data[5])
        if not isinstance(kind, type) or not issubclass(kind, BaseException) or type(args) is not tuple:
            raise WireBreach("an exception has no class")
        if kind.__module__ == "builtins":
            made = kind(*args)
        else:
            made = kind.__new__(kind, *args)
            made.args = args
        for name, one in state.items():
            if type(name) is not str or name.startswith("__"):
                raise WireBreach("an exception has an attribute without a name")
            setattr(made, name, one)
        return self._trace(made, data[3], data[4])

    def _trace(self, error: BaseException, places: Any, cause: Any) -> BaseException:
        if cause is not None:
            found = self.decode(cause)
            if not isinstance(found, BaseException):
                raise WireBreach("an exception has a cause that is none")
            BaseException.__setattr__(error, "__cause__", found)
        return self.with_traceback(error, places)

    def with_traceback(self, error: BaseException, places: Any) -> BaseException:  # noqa: ARG002
        return error


_PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    complex: lambda one: complex(complex.__add__(one, 0j)),
    bytes: lambda one: bytes.__getitem__(one, slice(None)),
    tuple: lambda one: tuple(tuple.__iter__(one)),
    frozenset: lambda one: frozenset(frozenset.__iter__(one)),
}
"""Read the builtin value of a subclass instance by the builtin's own methods: the subclass may override them."""


_HELD: dict[type, Callable[[Any], Any]] = {
    list: lambda one: list(list.__iter__(one)),
    dict: lambda one: dict(dict.items(one)),
    set: lambda one: set(set.__iter__(one)),
}


def _state_of(error: BaseException) -> dict[str, Any]:
    """Return the attributes of an exception of the standard library besides its arguments."""
    more = ("name", "path") if isinstance(error, ImportError) else ()
    held = {name: one for name, one in vars(error).items() if not name.startswith("_")}
    return {**held, **{name: getattr(error, name) for name in more}}


def _real_base(kind: type) -> type:
    """Return the builtin class that a twin also inherits from; `object` if there is none."""
    return next(
        (one for one in kind.__mro__ if one in PAYLOADS or _EXCEPTIONS.get(f"builtins.{one.__name__}") is one), object
    )


def _bases(kind: type, real: type) -> list[type]:
    """The bases of a class, and its real base where only a class of the standard library between them has it."""
    found = list(kind.__bases__)
    mutable = next((one for one in kind.__mro__ if one in MUTABLE), object)
    for real_one in (real, mutable):
        if real_one is not object and not any(
            issubclass(one, real_one)
            and (one is real_one or standard_class(one) is None or issubclass(one, BaseException))
            for one in found
        ):
            found.append(real_one)
    return found


def _specials(kind: type, real: type) -> list[str]:
    """The special methods of a class that its real base does not have."""
    inherited = {name: one for one in reversed(real.__mro__) for name, one in vars(one).items()}
    return [one for one in SPECIALS if _find(kind.__mro__, one) not in (None, inherited.get(one))]


def _find(mro: Any, name: str) -> Any:
    """Look an attribute up in the classes of an MRO, without their metaclass; None for attributes of `object`."""
    for one in mro:
        names = vars(one)
        if name in names:
            return None if one is object else names[name]
    return None
