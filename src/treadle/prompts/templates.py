"""Templates: a sandboxed Jinja environment that renders a protocol's templates within bounds.

No way out of the sandbox, no blow-ups, and foreign values that cannot change the structure of the text.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from traceback import walk_tb
from typing import Any, Final, cast

from jinja2 import (
    ChainableUndefined,
    FunctionLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    nodes,
)
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from treadle.errors import ProtocolError
from treadle.prompts.foreign import CLOSE, MAX_FENCED, OPEN, Reader, cut, inline, set_off
from treadle.protocol.templates import FILTERS

MAX_OUTPUT: Final = 600_000
MAX_FOREIGN: Final = 300_000
"""Characters of fenced text in all; beyond it, each fence shows only a beginning."""
MAX_CALLS: Final = 50_000
"""Calls of macros, and includes; a template that needs more calls itself."""
MAX_ROUNDS: Final = 10_000
"""Rounds of all loops together: fewer than MAX_CALLS, so that a long list is cut before it counts as a fault."""
MAX_ITEMS: Final = 500
"""Rounds of one loop."""
_BEGINNING: Final = 300


class RenderLimit(Exception):
    """The template does too much; its message ends the sentence `template T, line N …`."""


class RenderOverflow(Exception):
    """There is no room for more text."""


class RenderBudget:
    """The budget of one rendering: calls, rounds, text and foreign text used so far."""

    def __init__(self) -> None:
        self.calls, self.turns, self.output, self.foreign = 0, 0, 0, 0
        self.rests: list[int] = []
        """The number of items that each running loop does not see."""

    def call(self) -> None:
        """Count a call of a macro or another template, or raise `RenderLimit`."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise RenderLimit(f"makes more than {MAX_CALLS} calls; does something include or call itself?")

    def rounds(self, wanted: int) -> int:
        """Return the number of items that a loop may see, and count them."""
        granted = min(wanted, MAX_ITEMS, MAX_ROUNDS - self.turns)
        self.turns += granted
        return granted

    def write(self, length: int) -> None:
        """Use room for text, or raise `RenderOverflow`."""
        self.output += length
        if self.output > MAX_OUTPUT:
            raise RenderOverflow

    def quote(self, length: int) -> int:
        """Return the number of characters of a foreign text that may be shown, and count them."""
        granted = min(length, MAX_FENCED, max(_BEGINNING, MAX_FOREIGN - self.foreign))
        self.foreign += granted
        return granted


# Rewrite the syntax tree of a template, so that the environment counts every repetition while rendering.


class BoundingTransformer(NodeTransformer):
    """A rewriter of templates: loops iterate over `counted` and end with `rest`, repeatable fixed text calls `spent`,
    and `~` calls `joined`.
    """

    def visit_For(self, node: nodes.For, *args: Any, **kwargs: Any) -> list[nodes.Node]:
        self.generic_visit(node, *args, **kwargs)
        node.iter = _ask("counted", node, node.iter)
        node.body.insert(0, _spent(node, node.body))
        return [node, _output(_ask("rest", node))]

    def visit_Macro(self, node: nodes.Macro, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        node.body.insert(0, _spent(node, node.body))
        return node

    def visit_Template(self, node: nodes.Template, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        if not any(node.find_all((nodes.Extends, nodes.Block))):
            node.body.insert(0, _spent(node, node.body))
        return node

    def visit_Concat(self, node: nodes.Concat, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        return _ask("joined", node, nodes.List(node.nodes, lineno=node.lineno))


def _ask(what: str, at: nodes.Node, *arguments: nodes.Node) -> nodes.Call:
    callee = nodes.EnvironmentAttribute(what, lineno=at.lineno)
    return nodes.Call(callee, list(arguments), [], None, None, lineno=at.lineno)


def _spent(at: nodes.Node, body: Iterable[nodes.Node]) -> nodes.Output:
    return _output(_ask("spent", at, nodes.Const(_written_length(body), lineno=at.lineno)))


def _output(call: nodes.Call) -> nodes.Output:
    return nodes.Output([call], lineno=call.lineno)


def _written_length(body: Iterable[nodes.Node]) -> int:
    """Count the characters of fixed text in a body; nested loops and macros count theirs again."""
    return sum(len(data.data) for node in body for data in node.find_all(nodes.TemplateData))


# The Jinja environment of prompts: no escape from the sandbox, no blow-ups, and no foreign value that breaks the
# structure.
#
# Autoescaping is on with our own escape: every `{{ … }}` goes through `foreign.inline`, except the output of `fence`
# and of macros. Values are plain JSON, so templates see their fields and no Python objects. An undeclared name is an
# error; a missing part of a value is false, empty, and printed as `none`.

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


class TemplateSandbox(ImmutableSandboxedEnvironment):
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
        self._budget: ContextVar[RenderBudget] = ContextVar("budget")
        self.globals = dict(_GLOBALS)
        own = {"fence": self._fence, "join": self._join, "length": _value_length, "count": _value_length}
        self.filters = {name: own.get(name) or self.filters[name] for name in FILTERS}

    @property
    def budget(self) -> RenderBudget:
        return self._budget.get()

    def begin(self) -> None:
        """Start a rendering, with a budget of its own."""
        self._budget.set(RenderBudget())

    # what every value passes on its way into the text

    def shown(self, value: Any) -> Markup:
        """Format a value for the text."""
        if isinstance(value, Undefined) and not isinstance(value, Absent):
            text = Markup(str(value))  # raises for a name that is not declared; else an `if` without its `else`
        elif hasattr(value, "__html__") and not isinstance(value, Undefined):
            text = Markup(value)
        else:
            text = Markup(inline(_plain_value(value)))
        self.budget.write(len(text))
        return text

    def _fence(self, value: Any) -> Markup:
        plain = str(value) if isinstance(value, Markup) else _plain_value(value)
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
        """Join texts; if one part is already safe, escape the others, else leave the result foreign."""
        pieces = [piece if isinstance(piece, str) else inline(_plain_value(piece)) for piece in parts]
        if any(isinstance(piece, Markup) for piece in pieces):
            pieces = [piece if isinstance(piece, Markup) else inline(piece) for piece in pieces]
            if sum(map(len, pieces)) > _MAX_TEXT:
                raise RenderLimit(f"puts a text of more than {_MAX_TEXT} characters together")
            return Markup("".join(pieces))
        whole = "".join(cut(piece, MAX_FENCED) for piece in pieces)
        return cut(whole, _MAX_TEXT)

    # loops

    def counted(self, value: Any) -> list[Any]:
        """Return the items that a loop may see."""
        items = self._listed(value)
        granted = self.budget.rounds(len(items))
        self.budget.rests.append(len(items) - granted)
        return items[:granted]

    def rest(self) -> Markup:
        """Return the mark after a loop that did not see all its items."""
        rest = self.budget.rests.pop()
        return Markup(f"[cut: {rest} more]\n" if rest else "")

    def spent(self, length: int) -> Markup:
        """Fixed text of a loop or macro is about to be written."""
        self.budget.write(length)
        return Markup("")

    def _listed(self, value: Any) -> list[Any]:
        """Convert any value in the place of a list to a list."""
        _refuse_undeclared(value)
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
            raise RenderLimit("raises a number to an enormous power")
        if operator in ("*", "**", "%") and not numbers:
            raise RenderLimit(f"uses {operator} on a text or a list; it works on numbers only")
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, int | float) and abs(result) > _MAX_NUMBER:
            raise RenderLimit("makes an enormous number")
        if isinstance(result, list | tuple) and len(result) > _MAX_TEXT:
            raise RenderLimit("makes an enormous list")
        return result

    def get_template(self, name: Any, parent: Any = None, globals: Any = None) -> Any:
        self.budget.call()
        return super().get_template(name, parent, globals)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = cast("nodes.Template", BoundingTransformer().visit(super()._parse(source, name, filename)))
        tree.set_environment(self)
        return tree


def _refuse_undeclared(value: Any) -> None:
    """Raise an error for any use of an undeclared name."""
    if isinstance(value, StrictUndefined):
        str(value)


def _plain_value(value: Any) -> Any:
    """Convert a value to plain JSON: absent parts to null, the results of filters to lists."""
    _refuse_undeclared(value)
    if isinstance(value, Undefined):
        return None
    return value if isinstance(value, (*_PLAIN, dict)) or not isinstance(value, Iterable) else list(value)


def _value_length(value: Any) -> int:
    """Return the length of a value; 0 if it is absent."""
    return 0 if _plain_value(value) is None else len(value)


# Render a template of a protocol, within limits, into text with a structure that foreign values cannot change.

CUT: Final = f"\n[cut: this text has more than {MAX_OUTPUT} characters]\n"
_FENCE = re.compile(f"[ \t]*\n?{OPEN}([^{CLOSE}]*){CLOSE}\n?")
_HEADING = re.compile(r"\n(?=#{1,6} )")
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")


def render(templates: Mapping[str, str], name: str, variables: Mapping[str, Any], reader: Reader = "agent") -> str:
    """Render a template; raise a `ProtocolError` with template and line if that fails.

    Values are plain JSON. Text beyond the limits is cut, with a mark.
    """
    sandbox = _sandbox(tuple(sorted(templates.items())), reader)
    sandbox.begin()
    chunks: list[str] = []
    try:
        # One at a time, so that what was written before the room ran out is kept.
        for chunk in sandbox.get_template(name).generate(**variables):
            chunks.append(chunk)  # noqa: PERF402
    except RenderOverflow:
        chunks.append(CUT)
    except Exception as error:
        raise _template_error(error, name, templates) from error
    return tidy_text("".join(chunks))


@lru_cache(maxsize=8)
def _sandbox(templates: tuple[tuple[str, str], ...], reader: Reader) -> TemplateSandbox:
    """Return the environment of a protocol's templates, which is compiled once for each kind of reader."""
    return TemplateSandbox(dict(templates), reader)


def tidy_text(text: str) -> str:
    """Fences on lines of their own, a blank line before each heading, never more than one, and none around."""
    parts = _FENCE.split(text)
    prose = f"\n{OPEN}\n".join(part.replace(OPEN, "").replace(CLOSE, "") for part in parts[::2])
    pieces = _BLANKS.sub("\n\n", _HEADING.sub("\n\n", prose)).strip("\n").split(OPEN)
    joined = "".join(piece for pair in zip(pieces, [*parts[1::2], ""], strict=True) for piece in pair)
    return joined.strip("\n") + "\n"


def _template_error(error: Exception, name: str, templates: Mapping[str, str]) -> ProtocolError:
    where, line = name, 0
    for frame, number in walk_tb(error.__traceback__):
        if frame.f_code.co_filename in templates:
            where, line = frame.f_code.co_filename, number
    if isinstance(error, TemplateSyntaxError):
        where, line = error.name or where, error.lineno
    place = f"template {where}, line {line}" if line else f"template {where}"
    match error:
        case RenderLimit():
            reason = f"it {error}"
        case RecursionError():
            reason = "it is nested too deeply, or includes or calls itself without end"
        case TemplateNotFound():
            reason = f"there is no template '{error.name}'"
        case _:
            reason = (str(error) or type(error).__name__).rstrip(".")
    return ProtocolError(f"{place}: {reason}; correct it, then run `treadle protocol check`", code="protocol.template")
