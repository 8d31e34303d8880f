"""The Jinja environment of prompts: no way out of it, no blow-ups, and foreign values that cannot break the structure.

Autoescaping is on with an escape of our own: every `{{ … }}` goes through `foreign.inline`, except what `fence` and
macros have made. Values are plain JSON, so templates see their fields and nothing of Python. A name that is not
declared is an error; a part that a value does not have is false, empty, and printed as `none`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

from jinja2 import ChainableUndefined, FunctionLoader, StrictUndefined, TemplateNotFound, Undefined, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace
from markupsafe import Markup

from treadle.prompts.bounding import Bounding
from treadle.prompts.budget import Budget, TooMuch
from treadle.prompts.foreign import CLOSE, MAX_FENCED, OPEN, Reader, cut, inline, set_off
from treadle.protocol.filters import FILTERS

_GLOBALS: Final[dict[str, Any]] = {
    "range": safe_range,
    "namespace": Namespace,
    "cycler": Cycler,
    "joiner": Joiner,
    "dict": dict,
}
_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_MAX_TEXT: Final = 500_000
_MAX_NUMBER: Final = 10**18
_PLAIN: Final = (str, int, float, list, tuple, type(None))


class Absent(ChainableUndefined):
    """A part that a value does not have."""

    def __str__(self) -> str:
        return "none"


class Sandbox(ImmutableSandboxedEnvironment):
    """The templates of a protocol, for one kind of reader; a rendering has a budget of its own."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, templates: Mapping[str, str], reader: Reader) -> None:
        def load(name: str) -> tuple[str, str, Callable[[], bool]]:
            if name not in templates:
                raise TemplateNotFound(name)
            return templates[name].replace(OPEN, "").replace(CLOSE, ""), name, lambda: True

        super().__init__(
            loader=FunctionLoader(load),
            undefined=StrictUndefined,
            autoescape=True,
            finalize=self.shown,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._reader = reader
        self._budget: ContextVar[Budget] = ContextVar("budget")
        self.globals = dict(_GLOBALS)
        own = {"fence": self._fence, "join": self._join, "length": _length, "count": _length}
        self.filters = {name: own.get(name) or self.filters[name] for name in FILTERS}

    @property
    def budget(self) -> Budget:
        return self._budget.get()

    def begin(self) -> None:
        """Start a rendering, with a budget of its own."""
        self._budget.set(Budget())

    # what every value passes on its way into the text

    def shown(self, value: Any) -> Markup:
        """A value as it stands in the text."""
        if isinstance(value, Undefined) and not isinstance(value, Absent):
            text = Markup(str(value))  # raises for a name that is not declared; else an `if` without its `else`
        elif hasattr(value, "__html__") and not isinstance(value, Undefined):
            text = Markup(value)
        else:
            text = Markup(inline(_value(value)))
        self.budget.write(len(text))
        return text

    def _fence(self, value: Any) -> Markup:
        plain = str(value) if isinstance(value, Markup) else _value(value)
        whole = set_off(plain, self._reader)
        room = self.budget.quote(len(whole))
        return Markup(whole if room >= len(whole) else set_off(plain, self._reader, room))

    def _join(self, value: Any, d: str = "", attribute: str | None = None) -> str | Markup:
        items = self._listed(value)
        if attribute is not None:
            items = [self.getattr(item, attribute) for item in items]
        kept = items[: self.budget.rounds(len(items))]
        rest = [f"[cut: {len(items) - len(kept)} more]"] if len(kept) < len(items) else []
        texts = [text for item in (*kept, *rest) for text in (d, item)][1:]
        return self.joined(texts)

    def joined(self, parts: Iterable[Any]) -> str | Markup:
        """Texts put together; what is foreign in them stays foreign unless a part is ours already."""
        pieces = [piece if isinstance(piece, str) else inline(_value(piece)) for piece in parts]
        if any(isinstance(piece, Markup) for piece in pieces):
            pieces = [piece if isinstance(piece, Markup) else inline(piece) for piece in pieces]
            if sum(map(len, pieces)) > _MAX_TEXT:
                raise TooMuch(f"puts a text of more than {_MAX_TEXT} characters together")
            return Markup("".join(pieces))
        whole = "".join(cut(piece, MAX_FENCED) for piece in pieces)
        return cut(whole, _MAX_TEXT)

    # loops

    def counted(self, value: Any) -> list[Any]:
        """The items that a loop gets to see."""
        items = self._listed(value)
        granted = self.budget.rounds(len(items))
        self.budget.rests.append(len(items) - granted)
        return items[:granted]

    def rest(self) -> Markup:
        """The mark after a loop that did not see all its items."""
        rest = self.budget.rests.pop()
        return Markup(f"[cut: {rest} more]\n" if rest else "")

    def spent(self, length: int) -> Markup:
        """Fixed text of a loop or macro is about to be written."""
        self.budget.write(length)
        return Markup("")

    def _listed(self, value: Any) -> list[Any]:
        """Whatever stands where a list should be, as a list."""
        _insist(value)
        if value is None or isinstance(value, Undefined):
            return []
        return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]

    # what templates may do

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping):
            if attribute in obj:
                return obj[attribute]
            return getattr(obj, attribute) if attribute in _METHODS else Absent(obj=obj, name=attribute)
        if isinstance(obj, Absent):
            return obj
        return Absent(obj=obj, name=attribute) if isinstance(obj, _PLAIN) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Mapping | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                return Absent(obj=obj, name=str(argument))
        if isinstance(obj, Absent):
            return obj
        return Absent(obj=obj, name=str(argument)) if isinstance(obj, _PLAIN) else super().getitem(obj, argument)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(obj, "__self__", None) is self:  # `counted` and the like, which are not the template's own calls
            return obj(*args)
        self.budget.call()
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        numbers = all(isinstance(side, int | float) for side in (left, right))
        if operator == "+" and not numbers and isinstance(left, str) and isinstance(right, str):
            return self.joined((left, right))
        if operator == "**" and numbers and abs(right) > 64:
            raise TooMuch("raises a number to an enormous power")
        if operator in ("*", "**", "%") and not numbers:
            raise TooMuch(f"uses {operator} on a text or a list; it works on numbers only")
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, int | float) and abs(result) > _MAX_NUMBER:
            raise TooMuch("makes an enormous number")
        if isinstance(result, list | tuple) and len(result) > _MAX_TEXT:
            raise TooMuch("makes an enormous list")
        return result

    def get_template(self, name: Any, parent: Any = None, globals: Any = None) -> Any:
        self.budget.call()
        return super().get_template(name, parent, globals)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = cast("nodes.Template", Bounding().visit(super()._parse(source, name, filename)))
        tree.set_environment(self)
        return tree


def _insist(value: Any) -> None:
    """Using a name that is not declared is an error, whatever for."""
    if isinstance(value, StrictUndefined):
        str(value)


def _value(value: Any) -> Any:
    """A value as plain JSON: what is absent as null, what filters make as a list."""
    _insist(value)
    if isinstance(value, Undefined):
        return None
    return value if isinstance(value, (*_PLAIN, dict)) or not isinstance(value, Iterable) else list(value)


def _length(value: Any) -> int:
    """How many; none of what is absent."""
    return 0 if _value(value) is None else len(value)
