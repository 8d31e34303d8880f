"""Twins: stand-ins on one side for the objects, classes, functions and modules of the other side.

A twin holds the number of its original, and turns every operation on itself into a request of the present lane. Twin
classes have the same ancestry as their originals, so `isinstance`, `except` and inheritance work. The twin of an
instance of a subclass of an immutable builtin also holds the builtin's value, and twins of exceptions are real
exceptions.
"""

from __future__ import annotations

import collections
import datetime
import enum
import operator
import sys
import types
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too

from .wire import WireBreach

_set, _get = object.__setattr__, object.__getattribute__
_class_get = type.__getattribute__


class Present:
    """The lane that twins speak through."""

    def __init__(self) -> None:
        self.lane: Callable[[], Any] = lambda: None


PRESENT = Present()

# Operators by special method: the name of the operation, and whether the operands are swapped.

_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and_ xor or_ matmul".split()
_IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow ilshift irshift iand ixor ior imatmul".split()
_ORDER = "lt le gt ge".split()
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in (*_BINARY, *_IN_PLACE, *_ORDER, "eq", "ne")},
    **{name: getattr(operator, name) for name in "neg pos abs invert getitem setitem delitem".split()},
    "contains": operator.contains,
    "index": operator.index,
    "length_hint": operator.length_hint,
    **{one.__name__: one for one in (divmod, len, bool, str, repr, hash, iter, next, int, float, complex, round)},
    **{one.__name__: one for one in (format, bytes, reversed, dir, isinstance, issubclass)},
    "trunc": __import__("math").trunc,
    "floor": __import__("math").floor,
    "ceil": __import__("math").ceil,
    "fspath": __import__("os").fspath,
}
EXACT: dict[str, type] = {
    **dict.fromkeys(("str", "repr", "format", "fspath"), str),
    **dict.fromkeys(("bool", "contains", "isinstance", "issubclass"), bool),
    **dict.fromkeys(("len", "hash", "index", "int", "length_hint"), int),
    "float": float,
    "complex": complex,
    "bytes": bytes,
}
"""Operations and the exact type of their result: an instance of a subclass could change its answer later."""
_SPECIAL: dict[str, tuple[str, bool]] = {
    **{f"__{name.rstrip('_')}__": (name, False) for name in (*_BINARY, *_IN_PLACE, *_ORDER, "ne", "divmod")},
    **{f"__r{name.rstrip('_')}__": (name, True) for name in (*_BINARY, "divmod")},
    **{f"__{name}__": (name, False) for name in "neg pos abs invert getitem setitem delitem contains".split()},
    **{f"__{name}__": (name, False) for name in "len bool str repr hash iter next int float complex round".split()},
    **{f"__{name}__": (name, False) for name in "format bytes reversed index trunc floor ceil fspath".split()},
    "__length_hint__": ("length_hint", False),
}
METHODS = (
    "__get__",
    "__set__",
    "__delete__",
    "__set_name__",
    "__enter__",
    "__exit__",
    "__call__",
    "__missing__",
    "__await__",
    "__aiter__",
    "__anext__",
    "__aenter__",
)
"""Special methods that cross as a call of the method, as no operator of `OPERATIONS` stands for them."""
SPECIALS = (*_SPECIAL, "__eq__", *METHODS, "__aexit__")
_HIDDEN = (
    "_pytest",
    "pytestmark",
    "_seam_",
    "__test__",
    "_hypothesis",
    "_ipython",
    "_repr_",
    "__array",
    "__tracebackhide",
)
"""Attributes that test tools look for: a request for one would tell the subject that a test tool looks at it."""
_PROTOCOLS = frozenset(
    "__wrapped__ __signature__ __text_signature__ __isabstractmethod__ __set_name__ __path__ __spec__ __loader__"
    " __length_hint__ __fspath__ __set__ __get__ __delete__ __index__ __reduce__ __reduce_ex__ __getstate__"
    " __code__ __globals__ __closure__ __builtins__ __defaults__ __kwdefaults__ cr_code cr_frame gi_code gi_frame"
    " ag_code ag_frame tb_frame __unittest_skip__ __unittest_expecting_failure__ __attrs_attrs__ __rich_repr__"
    " __pretty__ __objclass__".split()
)


def number_of(twin: Any) -> int:
    """Return the number of a twin's original."""
    return int((_class_get if isinstance(twin, type) else _get)(twin, "_seam_"))


def ask(twin: Any, name: str) -> Any:
    """Get an attribute of a twin's original."""
    if name.startswith(_HIDDEN) or name in _PROTOCOLS or _is_ours(twin):
        raise AttributeError(name)
    lane = PRESENT.lane()
    if lane.is_decoding:  # `ABCMeta.register` reads attributes of a class that the decoder is still making
        raise AttributeError(name)
    return lane.request("get", twin, name)


def _inherited(twin: Any, name: str) -> Any:
    """Return the twin class that `super()` leads to, if a class of the test overrides this method; else None."""
    if not _class_get(type(twin), "_seam_made"):
        return None
    mro = type(twin).__mro__
    at = next((at for at, one in enumerate(mro) if name in vars(one)), -1)
    if at < 0 or not vars(mro[at]).get("_seam_made"):
        return None
    return next((one for one in mro[at:] if isinstance(one, TwinMeta) and not vars(one).get("_seam_made")), None)


def _forward(operation: str, is_swapped: bool, special: str = "") -> Callable[..., Any]:
    exact = EXACT.get(operation)

    def forward(self: Any, *args: Any) -> Any:
        base = _inherited(self, special)
        if base is not None:
            return PRESENT.lane().request("inherited", base, self, special, args, {})
        operands = (args[0], self) if is_swapped else (self, *args)
        result = PRESENT.lane().operate(operation, operands)
        if exact is not None and type(result) is not exact:
            return PRESENT.lane().refuse(
                f"{operation}() gave a {type(result).__name__}, not exactly a {exact.__name__}"
            )
        return result

    return forward


def _method(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        base = _inherited(self, name)
        if base is not None:
            return PRESENT.lane().request("inherited", base, self, name, args, kwargs)
        return PRESENT.lane().request("special", self, name, args, kwargs)

    return call


def _exit(self: Any, kind: Any, value: Any, _: Any) -> Any:
    result = PRESENT.lane().request("leave", self, kind, value)
    return result if type(result) is bool else bool(result)


def _leave_async(self: Any, kind: Any, value: Any, _: Any) -> Any:
    return PRESENT.lane().request("special", self, "__aexit__", (kind, value, None), {})


def _equal(self: Any, other: Any) -> Any:
    lane = PRESENT.lane()
    if other is self:
        return lane.operate("eq", (self, other)) if lane is not None else True
    return lane.equals(self, other)


def _hash(self: Any) -> int:
    known = inner(self).get("_seam_hash")
    if known is None:
        known = PRESENT.lane().operate("hash", (self,))
        if type(known) is not int:
            return int(PRESENT.lane().refuse("hash() gave no exact int"))
    return int(known)


_FORWARDERS: dict[str, Callable[..., Any]] = {
    **{name: _forward(*how, name) for name, how in _SPECIAL.items()},
    **{name: _method(name) for name in METHODS},
    "__exit__": _exit,
    "__aexit__": _leave_async,
    "__eq__": _equal,
    "__hash__": _hash,
}


def _signature(twin: Any) -> Any:
    """Return the signature of a callable of the other side, from the names, kinds and defaults of its parameters."""
    import inspect  # noqa: PLC0415 - the subject may never need it

    parameters = PRESENT.lane().request("signature", twin) if not _is_ours(twin) else None
    if parameters is None:
        raise AttributeError("__signature__")
    try:
        made = [
            inspect.Parameter(name, inspect._ParameterKind(kind), **({"default": default[0]} if default else {}))
            for name, kind, default in parameters
        ]
        return inspect.Signature(made)
    except (TypeError, ValueError, LookupError) as error:
        return PRESENT.lane().refuse(f"a signature is malformed ({error})")


def _is_ours(twin: Any) -> bool:
    """Whether a class is one of this module, with no original."""
    return isinstance(twin, type) and not number_of(twin)


KINDS = 0x20 | 0x80 | 0x200
"""The flags of the code of generators, coroutines and asynchronous generators."""


def _empty_codes() -> dict[int, Any]:
    def plain() -> None: ...

    def generator() -> Any:
        yield

    async def coroutine() -> None: ...

    async def both() -> Any:
        yield

    codes = [one.__code__ for one in (plain, generator, coroutine, both)]
    return {one.co_flags & KINDS: one.replace(co_filename="", co_name="") for one in codes}


_CODES = _empty_codes()


def _code_like(signature: Any, flags: int) -> Any:
    """Return an empty code with the parameters of a signature."""
    parameters, code = list(signature.parameters.values()), _CODES.get(flags, _CODES[0])
    count = [sum(one.kind == kind for one in parameters) for kind in range(5)]
    ordered = sorted(parameters, key=lambda one: (one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD), one.kind))
    return code.replace(
        co_posonlyargcount=count[0],
        co_argcount=count[0] + count[1],
        co_kwonlyargcount=count[3],
        co_nlocals=len(ordered),
        co_varnames=tuple(one.name for one in ordered),
        co_flags=code.co_flags | 4 * count[2] | 8 * count[4],
    )


class Bound:
    """A bound method of a twin: one request gets and calls it."""

    def __init__(self, owner: Any, name: str, kind: Any = None) -> None:
        _set(self, "_seam_bound", (owner, name, kind))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner, name, kind = _get(self, "_seam_bound")
        lane = PRESENT.lane()
        if kind is None:
            return lane.request("method", owner, name, args, kwargs)
        return lane.request("inherited", kind, owner, name, args, kwargs)

    __signature__ = property(_signature)

    @property
    def __self__(self) -> Any:
        return _get(self, "_seam_bound")[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(_HIDDEN) or name in _PROTOCOLS:
            raise AttributeError(name)
        owner, method, _ = _get(self, "_seam_bound")
        return getattr(ask(owner, method), name)

    def __setattr__(self, name: str, value: Any) -> None:
        owner, method, _ = _get(self, "_seam_bound")
        setattr(ask(owner, method), name, value)

    def __eq__(self, other: Any) -> Any:
        return type(other) is Bound and _get(self, "_seam_bound")[:2] == _get(other, "_seam_bound")[:2]

    def __hash__(self) -> int:
        return hash(_get(self, "_seam_bound")[1])

    def __repr__(self) -> str:
        owner, name, _ = _get(self, "_seam_bound")
        return f"<bound method {name} of {owner!r}>"


class TwinMethod:
    """A method of a twin class."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # `mock` asks the dictionary of a class which of its attributes are methods
        return types.FunctionType

    def __set_name__(self, owner: Any, name: str) -> None:
        self.owner = owner

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        if instance is None:
            return ask(kind, self.name)
        first = next((vars(one)[self.name] for one in type(instance).__mro__ if self.name in vars(one)), self)
        return Bound(instance, self.name, None if first is self else self.owner)


class TwinMeta(type):
    """The metaclass of twin classes: operations on the class itself become requests, too."""

    def __new__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any], **more: Any) -> Any:
        if "_seam_" in names or not bases:
            return type.__new__(cls, name, bases, names)  # not that of `EnumMeta`
        return PRESENT.lane().subclass(name, bases, names, more)

    def __init__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any], **_: Any) -> None:
        type.__init__(cls, name, bases, names)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return PRESENT.lane().construct(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        return ask(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name in ("__abstractmethods__", "_seam_") or name.startswith("__dataclass"):
            type.__setattr__(cls, name, value)
            return
        PRESENT.lane().request("set", cls, name, value)
        if name in vars(cls):
            type.__delattr__(cls, name)  # from now on, `__getattr__` asks the original

    def __delattr__(cls, name: str) -> None:
        PRESENT.lane().request("delete", cls, name)
        if name in vars(cls):
            type.__delattr__(cls, name)

    def __iter__(cls) -> Any:
        return PRESENT.lane().operate("iter", (cls,))

    def __len__(cls) -> int:
        return int(PRESENT.lane().operate("len", (cls,)))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return PRESENT.lane().operate("getitem", (cls, key))

    def __contains__(cls, value: Any) -> bool:
        return PRESENT.lane().operate("contains", (cls, value)) is True

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return _may_ask(cls) and PRESENT.lane().operate("isinstance", (instance, cls)) is True

    def __subclasscheck__(cls, kind: Any) -> bool:
        if type.__subclasscheck__(cls, kind):
            return True
        return _may_ask(cls) and PRESENT.lane().operate("issubclass", (kind, cls)) is True

    def __dir__(cls) -> Any:
        return type.__dir__(cls) if _is_ours(cls) else PRESENT.lane().operate("dir", (cls,))

    __signature__ = property(_signature)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


def _may_ask(kind: Any) -> bool:
    """Whether the original of a class decides on its instances, and can be asked now.

    `ABCMeta` asks classes that the decoder is still making, and those that earlier tests have registered.
    """
    if not _class_get(kind, "_seam_virtual"):
        return False
    lane = PRESENT.lane()
    return not lane.is_decoding and lane.twins.get(number_of(kind)) is kind


class TwinEnumMeta(TwinMeta, enum.EnumMeta):  # type: ignore[misc]
    """The metaclass of the twins of enumerations."""

    @classmethod
    def __prepare__(cls, *_: Any, **__: Any) -> Any:
        return {}

    def __reversed__(cls) -> Any:
        return PRESENT.lane().operate("reversed", (cls,))

    @property
    def __members__(cls) -> Any:
        return ask(cls, "__members__")


_ENUMS: tuple[Any, ...] = tuple(
    getattr(enum, name)
    for name in "Enum IntEnum Flag IntFlag StrEnum ReprEnum".split()
    if isinstance(getattr(enum, name, None), type)
)


class _Inner:
    """Has the dictionary of a twin itself; the `__dict__` of a twin is that of its original."""


inner: Callable[[Any], dict[str, Any]] = vars(_Inner)["__dict__"].__get__


class _Doc:
    """The docstring of a twin class; each instance may have its own."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self.text if instance is None else ask(instance, "__doc__")


class Twin(_Inner, metaclass=TwinMeta):
    """The root of all twin classes."""

    _seam_: Any = None
    _seam_virtual = False
    _seam_made = False
    """Whether a test made the class itself, by inheriting."""

    def __getattr__(self, name: str) -> Any:
        return ask(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OF_EXCEPTIONS and isinstance(self, BaseException):
            BaseException.__setattr__(self, name, value)
            return
        PRESENT.lane().request("set", self, name, value)
        if not name.startswith("_seam_"):
            inner(self).pop(name, None)

    def __delattr__(self, name: str) -> None:
        PRESENT.lane().request("delete", self, name)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        try:
            return ask(self, "__dict__")
        except AttributeError:
            return {name: one for name, one in inner(self).items() if not name.startswith("_seam_")}

    def __dir__(self) -> Any:
        return PRESENT.lane().operate("dir", (self,))

    def __repr__(self) -> str:
        return str(_repr(self))

    def __copy__(self) -> Any:
        return PRESENT.lane().request("copy", self)

    def __deepcopy__(self, _: Any) -> Any:
        return PRESENT.lane().request("deepcopy", self)

    def __reduce_ex__(self, _: Any) -> Any:
        return PRESENT.lane().cannot("pickles an object of the code under test")


_OF_EXCEPTIONS = ("__traceback__", "__cause__", "__context__", "__suppress_context__", "__notes__")
_repr = _forward("repr", False, "__repr__")


class TwinFunction(Twin):
    """The twin of a function."""

    _seam_ = 0
    __signature__ = property(_signature)

    @property
    def __wrapped__(self) -> Any:
        if "_seam_flags" not in inner(self):
            raise AttributeError("__wrapped__")
        return PRESENT.lane().request("get", self, "__wrapped__")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.FunctionType if "_seam_flags" in inner(self) else type(self)

    @property
    def __code__(self) -> Any:
        """An empty code with the same parameters and of the same kind, which `inspect` and decorators look for."""
        held = inner(self)
        if "_seam_flags" not in held:
            raise AttributeError("__code__")
        if "_seam_code" not in held:
            held["_seam_code"] = _code_like(_signature(self), held["_seam_flags"])
        return held["_seam_code"]

    @property
    def __defaults__(self) -> Any:
        if "_seam_flags" not in inner(self):
            raise AttributeError("__defaults__")
        given = [one for one in _signature(self).parameters.values() if one.kind < one.VAR_POSITIONAL]
        return tuple(one.default for one in given if one.default is not one.empty) or None

    @property
    def __kwdefaults__(self) -> Any:
        if "_seam_flags" not in inner(self):
            raise AttributeError("__kwdefaults__")
        given = [one for one in _signature(self).parameters.values() if one.kind == one.KEYWORD_ONLY]
        return {one.name: one.default for one in given if one.default is not one.empty} or None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return PRESENT.lane().request("call", self, args, kwargs)

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


class TwinCoroutine(Twin):
    """The twin of a coroutine; an await lets the other side run it to its end, as event loops are not shared."""

    _seam_ = 0

    def send(self, _: Any) -> Any:
        raise StopIteration(PRESENT.lane().request("drive", self))

    def throw(self, kind: Any, *_: Any) -> Any:
        raise kind

    def close(self) -> None:
        """Do nothing: the coroutine has not begun."""

    def __await__(self) -> Any:
        yield from ()
        return PRESENT.lane().request("drive", self)


class TwinModule(types.ModuleType):
    """The twin of a module: an assignment to one of its attributes changes the original."""

    def __getattr__(self, name: str) -> Any:
        if name in _OF_MODULES and name != "__file__":
            raise AttributeError(name)
        try:
            return ask(self, name)
        except AttributeError:
            if name == "__all__":  # `from module import *` would look into a dictionary that is empty here
                return [one for one in PRESENT.lane().operate("dir", (self,)) if not one.startswith("_")]
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OF_MODULES or isinstance(value, types.ModuleType):
            # The import system binds submodules here. The original does not need the submodules of the tests.
            if not isinstance(value, TwinModule):
                types.ModuleType.__setattr__(self, name, value)
            return
        PRESENT.lane().request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        PRESENT.lane().request("delete", self, name)

    def __dir__(self) -> Any:
        # A library that freezes the clock replaces it in every module; the subject's own modules follow by the mirror.
        if str(sys._getframe(1).f_globals.get("__name__")).startswith("freezegun"):
            return []
        return PRESENT.lane().operate("dir", (self,))


_OF_MODULES = ("__name__", "__loader__", "__package__", "__spec__", "__path__", "__file__", "__cached__")


def is_twin(value: Any) -> bool:
    """Whether a value is a twin."""
    return isinstance(type(value), TwinMeta) or type(value) is TwinModule or isinstance(value, TwinMeta)


# Twin classes.

BASES = {f"builtins.{one.__name__}": one for one in (int, float, complex, str, bytes, tuple, frozenset)}
PAYLOADS = tuple(BASES.values())
"""Immutable builtins: an instance of a subclass crosses with its value."""


MUTABLE = (list, dict, set)
"""Mutable builtins: the twin is one, too, so that `isinstance` holds; operations still ask the original."""
HEIRS = (collections.OrderedDict, collections.defaultdict, collections.Counter)
"""Dictionaries of the standard library that twins may inherit from, for `isinstance`."""
_WITHOUT_STATE: tuple[Any, ...] = (datetime.tzinfo,)
"""More classes to inherit from: `datetime` takes no time zone of another class."""


def _asking(name: str) -> Callable[[Any], Any]:
    return lambda twin: ask(twin, name)


def twin_class(number: int, description: list[Any], bases: list[Any]) -> Any:
    """Make the twin of a class from the other side's description of it."""
    name, qualname, module, specials, methods, fields, is_virtual, doc = description
    for word in (name, qualname, module):
        if type(word) is not str or len(word) > 1000:
            raise WireBreach("a class has no name")
    names: dict[str, Any] = {
        "__module__": module,
        "__qualname__": qualname,
        "__doc__": _Doc(doc if type(doc) is str else None),
        "_seam_": number,
        "_seam_virtual": is_virtual is True,
    }
    for special in specials:
        names[special] = _FORWARDERS[special]
    if "__eq__" in specials and "__hash__" not in specials:
        names["__hash__"] = None
    for method in methods:
        if type(method) is not str or not method.isidentifier() or method.startswith("__"):
            raise WireBreach("a class has a method without a name")
        names[method] = TwinMethod(method)
    names["__init__"] = TwinMethod("__init__")
    if fields is not None:
        names["__dataclass_fields__"] = _fields(fields)
    real = tuple(
        base
        for base in bases
        if isinstance(base, TwinMeta)
        or base in PAYLOADS
        or base in MUTABLE
        or base in HEIRS
        or base in _ENUMS
        or base in _WITHOUT_STATE
        or _is_exception(base)
    )
    if not any(isinstance(base, TwinMeta) for base in real):
        real = (Twin, *real)
    meta = TwinMeta
    if any(isinstance(base, enum.EnumMeta) for base in real):
        meta = TwinEnumMeta
        names.update({one: property(_asking(one)) for one in ("name", "value")})
    try:
        made = meta(name, real, names)
    except TypeError as error:
        raise WireBreach(f"the class {qualname[:80]} cannot be: {error}") from None
    for base in bases:
        if base not in real and hasattr(base, "register") and not isinstance(base, TwinMeta):
            base.register(made)
    return made


def _is_exception(base: Any) -> bool:
    return isinstance(base, type) and issubclass(base, BaseException)


def _fields(names: Any) -> dict[str, Any]:
    """Return fields of a dataclass for `asdict` and its kin; they have the original's names, and nothing else of it."""
    import dataclasses  # noqa: PLC0415 - the subject may never need it

    found = {}
    for name in names:
        if type(name) is not str or not name.isidentifier():
            raise WireBreach("a dataclass has a field without a name")
        field = dataclasses.field()
        field.name, field.type = name, Any
        field._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
        found[name] = field
    return found


def twin_instance(number: int, kind: Any, payload: Any = None) -> Any:
    """Make the twin of an instance; exceptions get their arguments, subclasses of builtins their value."""
    made: Any
    known: Any = kind
    if not isinstance(known, TwinMeta):
        raise WireBreach(f"an object is of the class {str(getattr(kind, '__name__', ''))[:80]}, which has no twin")
    base = next((one for one in kind.__mro__ if one in PAYLOADS or _is_exception(one)), None)
    try:
        if base is None:
            made = next((one for one in kind.__mro__ if one in MUTABLE or one in HEIRS), object).__new__(kind)
        elif _is_exception(base):
            made = base.__new__(kind, *payload)
        else:
            if type(payload) is not base:
                raise WireBreach(f"a {base.__name__} has another value")
            made = base.__new__(kind, payload)
    except TypeError as error:
        raise WireBreach(f"an object cannot be: {error}") from None
    inner(made)["_seam_"] = number
    return made
