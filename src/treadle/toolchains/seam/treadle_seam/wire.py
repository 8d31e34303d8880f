"""The wire between judge and subject: frames, and the values that cross by value.

A frame is a u32 length and JSON. The `json` module of every Python parses in C and builds only plain data. It was twice
as fast as a msgpack codec in Python, the only other choice, as a project's own environment has no msgpack library.
Text, numbers, truth values and None cross as they are. Every other value is a list that begins with a tag, so JSON
objects never occur.

Mutable containers get a number on their first crossing and stay *shared*: each message carries the new contents of the
containers that its sender has changed since the last one. Only one side runs at any time, so both see one list: mutated
arguments, `f(x) is x`, and lists inside of objects behave as in one process. To copy arguments back after each call
would not do: lists inside of objects, and arguments that the callee retains, would become other lists. Only the judge
decides which containers both sides forget.

The decoder is strict, because a subject is hostile, and pickle or marshal would build anything that it sends. It builds
only the types listed here and the twins that a lane adds.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections import OrderedDict, deque
from operator import is_not
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too

from .clock import standard_name

MAX_FRAME = 32_000_000
MAX_DEPTH = 150
MAX_SHARED = 200_000
_MAX_PATTERN = 20_000
_HEAD = struct.Struct("!I")
_PLAIN_INT = 1 << 62
_CHUNK = 1 << 18
_dumps, _loads = json.JSONEncoder(separators=(",", ":")).encode, json.JSONDecoder().decode  # tests may patch `json`


class WireBreach(Exception):
    """The other side broke the rules of the wire."""


class CannotCross(TypeError):
    """A value cannot cross to the other side."""


class FrameLine:
    """Frames on a socket."""

    def __init__(self, sock: Any) -> None:
        self._sock, self._rest = sock, b""

    def send(self, message: Any) -> None:
        data = _dumps(message).encode("ascii")
        if len(data) > MAX_FRAME:
            raise CannotCross(f"a message of {len(data)} bytes is too large (limit: {MAX_FRAME})")
        self._sock.sendall(_HEAD.pack(len(data)) + data)

    def receive(self) -> Any:
        """Return the next message; raise `WireBreach` if it is malformed, and EOFError at the end."""
        rest = self._rest
        while len(rest) < 4:
            rest += self._more()
        size = _HEAD.unpack_from(rest)[0]
        if size > MAX_FRAME:
            raise WireBreach(f"a message of {size} bytes is too large (limit: {MAX_FRAME})")
        if len(rest) < size + 4:
            parts, missing = [rest], size + 4 - len(rest)
            while missing > 0:
                parts.append(self._more())
                missing -= len(parts[-1])
            rest = b"".join(parts)
        data, self._rest = rest[4 : size + 4], rest[size + 4 :]
        try:
            return _loads(data.decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise WireBreach(f"a message is no JSON: {type(error).__name__}") from None

    def _more(self) -> bytes:
        data: bytes = self._sock.recv(_CHUNK)
        if not data:
            raise EOFError
        return data


# Values that cross by value.

Parts = Callable[[Any], list]  # type: ignore[type-arg]
_LATER: dict[str, tuple[str, Parts]] = {
    "decimal.Decimal": ("decimal", lambda one: [str(one)]),
    "fractions.Fraction": ("fraction", lambda one: [one.numerator, one.denominator]),
    "datetime.date": ("date", lambda one: [one.year, one.month, one.day]),
    "datetime.time": ("time", lambda one: [one.hour, one.minute, one.second, one.microsecond, one.tzinfo, one.fold]),
    "datetime.datetime": (
        "datetime",
        lambda one: [
            *(one.year, one.month, one.day, one.hour, one.minute, one.second, one.microsecond, one.tzinfo, one.fold)
        ],
    ),
    "datetime.timedelta": ("timedelta", lambda one: [one.days, one.seconds, one.microseconds]),
    "datetime.timezone": ("timezone", lambda one: list(one.__getinitargs__())),
    "zoneinfo.ZoneInfo": ("zone", lambda one: [one.key]),
    "uuid.UUID": ("uuid", lambda one: [one.hex]),
    "re.Pattern": ("pattern", lambda one: [one.pattern, one.flags]),
    "pathlib.PosixPath": ("path", lambda one: [str(one)]),
    "pathlib.PurePosixPath": ("purepath", lambda one: [str(one)]),
    "pathlib.PureWindowsPath": ("windowspath", lambda one: [str(one)]),
    "ipaddress.IPv4Address": ("ip4", lambda one: [int(one)]),
    "ipaddress.IPv6Address": ("ip6", lambda one: [int(one)]),
    "ipaddress.IPv4Network": ("net4", lambda one: [str(one)]),
    "ipaddress.IPv6Network": ("net6", lambda one: [str(one)]),
    "builtins.range": ("range", lambda one: [one.start, one.stop, one.step]),
    "builtins.slice": ("slice", lambda one: [one.start, one.stop, one.step]),
    "builtins.complex": ("complex", lambda one: [one.real, one.imag]),
}
"""Immutable types by name: the tag, and the function that takes a value apart so that the other side can rebuild it."""


def _maker(module: str, name: str, count: tuple[int, ...], make: Any = None) -> Callable[[list[Any]], Any]:
    def build(parts: list[Any]) -> Any:
        if len(parts) not in count:
            raise WireBreach(f"a {name} has {len(parts)} parts")
        kind = getattr(__import__(module, fromlist=["_"]), name)
        return make(kind, parts) if make else kind(*parts)

    return build


def _pattern(_: Any, parts: list[Any]) -> Any:
    import re  # noqa: PLC0415 - the subject may never need it

    pattern, flags = parts
    if type(pattern) not in (str, bytes) or len(pattern) > _MAX_PATTERN or type(flags) is not int:
        raise WireBreach("a regular expression is malformed")
    return re.compile(pattern, flags & ~re.DEBUG)


_BUILD: dict[str, Callable[[list[Any]], Any]] = {
    "decimal": _maker("decimal", "Decimal", (1,)),
    "fraction": _maker("fractions", "Fraction", (2,)),
    "date": _maker("datetime", "date", (3,)),
    "time": _maker("datetime", "time", (6,), lambda kind, p: kind(*p[:5], fold=p[5])),
    "datetime": _maker("datetime", "datetime", (9,), lambda kind, p: kind(*p[:8], fold=p[8])),
    "timedelta": _maker("datetime", "timedelta", (3,)),
    "timezone": _maker("datetime", "timezone", (1, 2)),
    "zone": _maker("zoneinfo", "ZoneInfo", (1,)),
    "uuid": _maker("uuid", "UUID", (1,)),
    "pattern": _maker("re", "compile", (2,), _pattern),
    "path": _maker("pathlib", "Path", (1,)),
    "purepath": _maker("pathlib", "PurePosixPath", (1,)),
    "windowspath": _maker("pathlib", "PureWindowsPath", (1,)),
    "ip4": _maker("ipaddress", "IPv4Address", (1,)),
    "ip6": _maker("ipaddress", "IPv6Address", (1,)),
    "net4": _maker("ipaddress", "IPv4Network", (1,)),
    "net6": _maker("ipaddress", "IPv6Network", (1,)),
    "range": _maker("builtins", "range", (3,)),
    "slice": _maker("builtins", "slice", (3,)),
    "complex": _maker("builtins", "complex", (2,)),
}
_SINGLES = {"E": Ellipsis, "N": NotImplemented}


def type_name(kind: type) -> str:
    """The name of a class, as it is looked up; pathlib and zoneinfo keep theirs in private modules."""
    module = type.__dict__["__module__"].__get__(kind)
    return f"{str(module).partition('._')[0].lstrip('_')}.{kind.__qualname__}"


def is_standard(kind: type, name: str) -> bool:
    """Whether a class is the one that the standard library has by a name."""
    module, _, attribute = name.rpartition(".")
    return getattr(sys.modules.get(module), attribute, None) is kind


class Shared:
    """The mutable containers that both sides know by number."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.of: dict[int, list[Any]] = {}
        """The container and its contents at the last crossing, by number."""
        self.numbers: dict[int, int] = {}

    def clone(self) -> Shared:
        other = Shared(self.next)
        other.of = {number: [*entry] for number, entry in self.of.items()}
        other.numbers = dict(self.numbers)
        return other

    def add(self, container: Any) -> int:
        number, self.next = self.next, self.next + 2
        self.put(number, container)
        return number

    def put(self, number: int, container: Any) -> None:
        if len(self.of) >= MAX_SHARED:
            raise CannotCross(f"more than {MAX_SHARED} lists and dictionaries crossed")
        self.of[number] = [container, None]
        self.numbers[id(container)] = number

    def forget(self, number: int) -> None:
        entry = self.of.pop(number, None)
        if entry is not None:
            self.numbers.pop(id(entry[0]), None)

    def unused(self) -> list[int]:
        """Forget the containers that nothing but this table refers to; return their numbers."""
        count, dropped = sys.getrefcount, []
        for number, entry in list(self.of.items()):
            # The entry and the argument of this call hold one reference each. A changed container waits until
            # `updates` has sent its contents: `made().append(1)` has to reach the other side.
            if count(entry[0]) <= 2 and not _is_changed(*entry):
                self.forget(number)
                dropped.append(number)
            del entry
        return dropped


def _rows_changed(container: Any, held: Any) -> bool:
    return len(container) != len(held) or any(map(is_not, container, held))


def _mapping_changed(container: Any, held: Any) -> bool:
    return (
        len(container) != len(held)
        or any(map(is_not, container, held))
        or any(map(is_not, container.values(), held.values()))
    )


def _set_changed(container: Any, held: Any) -> bool:
    return len(container) != len(held) or set(map(id, container)) != set(map(id, held))


_CHANGED: dict[type, Callable[[Any, Any], bool]] = {
    list: _rows_changed,
    deque: _rows_changed,
    set: _set_changed,
    bytearray: lambda container, held: bool(container != held),
}


def _is_changed(container: Any, held: Any) -> bool:
    return held is not None and _CHANGED.get(type(container), _mapping_changed)(container, held)


class Codec:
    """Encodes and decodes the values of one lane. A lane adds the encoding of objects, classes and handles."""

    def __init__(self, first: int) -> None:
        self.shared = Shared(first)
        self.fresh: list[Any] = []
        """The containers and handles that the present message introduces, to take back if it cannot be sent."""
        self._depth = 0
        self._is_copy = False
        self.is_decoding = 0
        self.encoders: dict[type, Callable[[Any], Any]] = {
            list: self._encode_list,
            tuple: self._encode_tuple,
            dict: self._encode_dict,
            set: self._encode_set,
            frozenset: self._encode_frozenset,
            bytes: lambda one: ["b", base64.b64encode(one).decode()],
            bytearray: lambda one: self._container(one, "ba", lambda: [base64.b64encode(one).decode()]),
            deque: lambda one: self._container(one, "dq", lambda: [one.maxlen, *map(self.encode, one)]),
            OrderedDict: lambda one: self._container(one, "od", lambda: self._items(one)),
            type(Ellipsis): lambda _: ["E"],
            type(NotImplemented): lambda _: ["N"],
        }
        self.decoders: dict[str, Callable[[list[Any]], Any]] = {
            "t": lambda j: tuple(map(self.decode, j[1:])),
            "l": lambda j: self._fill([], j[1], j[2:]),
            "d": lambda j: self._fill({}, j[1], j[2:]),
            "s": lambda j: self._fill(set(), j[1], j[2:]),
            "fs": lambda j: frozenset(map(self.decode, j[1:])),
            "b": lambda j: base64.b64decode(j[1], validate=True),
            "ba": lambda j: self._fill(bytearray(), j[1], j[2:]),
            "dq": lambda j: self._fill(deque(maxlen=j[2]), j[1], j[2:]),
            "od": lambda j: self._fill(OrderedDict(), j[1], j[2:]),
            "ct": lambda j: self._fill(__import__("collections").Counter(), j[1], j[2:]),
            "dd": lambda j: self._fill(__import__("collections").defaultdict(), j[1], j[2:]),
            "@": self._known,
            "I": lambda j: int(j[1], 16),
            "x": self._decode_extended,
            "E": lambda _: Ellipsis,
            "N": lambda _: NotImplemented,
        }

    # from values to JSON

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if kind is str or value is None or kind is float or kind is bool:
            return value
        if kind is int:
            return value if -_PLAIN_INT < value < _PLAIN_INT else ["I", hex(value)]
        encode = self.encoders.get(kind) or self._find_encoder(kind)
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise CannotCross(f"a value is nested deeper than {MAX_DEPTH}")
            return encode(value)
        finally:
            self._depth -= 1

    def copy(self, value: Any) -> Any:
        """Encode a value without sharing its containers: the other side gets copies."""
        before, self._is_copy = self._is_copy, True
        try:
            return self.encode(value)
        finally:
            self._is_copy = before

    def _find_encoder(self, kind: type) -> Callable[[Any], Any]:
        date = standard_name(kind)
        name = date or type_name(kind)
        if date or (name in _LATER and is_standard(kind, name)):
            tag, parts = _LATER[name]
            self.encoders[kind] = lambda one: ["x", tag, *map(self.encode, parts(one))]
        elif name == "collections.Counter" and is_standard(kind, name):
            self.encoders[kind] = lambda one: self._container(one, "ct", lambda: self._items(one))
        elif name == "collections.defaultdict" and is_standard(kind, name):
            self.encoders[kind] = lambda one: self._container(
                one, "dd", lambda: [self.encode(one.default_factory), *self._items(one)]
            )
        else:
            return self.encode_other
        return self.encoders[kind]

    def encode_other(self, value: Any) -> Any:
        """Encode a value that does not cross by value."""
        raise CannotCross(f"a {type(value).__name__} cannot cross")

    def _encode_list(self, value: Any) -> Any:
        return self._container(value, "l", lambda: list(map(self.encode, value)))

    def _encode_dict(self, value: Any) -> Any:
        return self._container(value, "d", lambda: self._items(value))

    def _encode_set(self, value: Any) -> Any:
        return self._container(value, "s", lambda: list(map(self.key, value)))

    def _encode_tuple(self, value: Any) -> Any:
        return ["t", *map(self.encode, value)]

    def _encode_frozenset(self, value: Any) -> Any:
        return ["fs", *map(self.key, value)]

    def _items(self, value: Any) -> list[Any]:
        return [one for key, held in value.items() for one in (self.key(key), self.encode(held))]

    def key(self, value: Any) -> Any:
        """Encode a member of a set or a key of a dictionary."""
        return self.encode(value)

    def _container(self, value: Any, tag: str, contents: Callable[[], list[Any]]) -> Any:
        if self._is_copy:
            return [tag, None, *contents()]
        number = self.shared.numbers.get(id(value))
        if number is not None:
            return ["@", number]
        number = self.shared.add(value)
        self.fresh.append(number)
        encoded = contents()
        self.shared.of[number][1] = self._held(value)
        return [tag, number, *encoded]

    @staticmethod
    def _held(container: Any) -> Any:
        kind = type(container)
        if kind in (list, deque):
            return list(container)
        return bytes(container) if kind is bytearray else set(container) if kind is set else dict(container)

    def updates(self) -> list[Any]:
        """The containers that this side has changed since the last crossing, with their contents."""
        found = []
        for number, entry in list(self.shared.of.items()):
            container, held = entry
            if _is_changed(container, held):
                entry[1] = self._held(container)
                found.append([number, *self._contents(container)])
        return found

    def _contents(self, container: Any) -> list[Any]:
        kind = type(container)
        if kind is list:
            return list(map(self.encode, container))
        if kind is set:
            return list(map(self.key, container))
        if kind is bytearray:
            return [base64.b64encode(container).decode()]
        if kind is deque:
            return [container.maxlen, *map(self.encode, container)]
        factory = [self.encode(container.default_factory)] if kind.__name__ == "defaultdict" else []
        return [*factory, *self._items(container)]

    # from JSON to values

    def decode(self, data: Any) -> Any:
        kind = type(data)
        if kind is not list:
            if kind is dict:
                raise WireBreach("a message has a JSON object")
            return data
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise WireBreach(f"a value is nested deeper than {MAX_DEPTH}")
            return self.decoders[data[0]](data)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
            raise WireBreach(f"a value is malformed ({type(error).__name__}: {str(error)[:200]})") from None
        finally:
            self._depth -= 1

    def _decode_extended(self, data: list[Any]) -> Any:
        return _BUILD[data[1]]([self.decode(one) for one in data[2:]])

    def _known(self, data: list[Any]) -> Any:
        return self.shared.of[data[1]][0]

    def _fill(self, container: Any, number: Any, contents: list[Any]) -> Any:
        if number is None:
            self._put(container, contents)
            return container
        if type(number) is not int or number in self.shared.of or number % 2 == self.shared.next % 2:
            raise WireBreach("a container has a wrong number")
        self.shared.put(number, container)
        self._put(container, contents)
        self.shared.of[number][1] = self._held(container)
        return container

    def _put(self, container: Any, contents: list[Any]) -> None:
        kind, decode = type(container), self.decode
        if kind is list:
            container[:] = list(map(decode, contents))
        elif kind is bytearray:
            container[:] = base64.b64decode(contents[0], validate=True)
        elif kind is deque:
            held = list(map(decode, contents[1:]))
            container.clear()
            container.extend(held)
        elif kind is set:
            members = list(map(decode, contents))
            container.clear()
            container.update(members)
        else:
            if kind.__name__ == "defaultdict":
                container.default_factory = decode(contents[0])
                contents = contents[1:]
            flat = list(map(decode, contents))
            pairs = dict(zip(flat[::2], flat[1::2]))  # noqa: B905
            if len(flat) % 2:
                raise WireBreach("a dictionary has a key without a value")
            container.clear()
            dict.update(container, pairs)

    def apply(self, updates: Any) -> None:
        """Apply the other side's changes to the shared containers."""
        if type(updates) is not list:
            raise WireBreach("a message has no list of changes")
        for change in updates:
            try:
                entry = self.shared.of[change[0]]
                self._put(entry[0], change[1:])
                entry[1] = self._held(entry[0])
            except (LookupError, TypeError, ValueError) as error:
                raise WireBreach(f"a change is malformed ({type(error).__name__})") from None
