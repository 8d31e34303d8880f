"""Which scope `--scope` asks for: a named one, bounds, or a named one with other bounds."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.simulate.bounds import LEAST, misfits, out_of_range
from treadle.simulate.scope import Scope
from treadle.simulate.scopes import SMALL

SETTABLE: Final = ("graph", *LEAST)
ANY: Final = "any"


def scope_of(protocol: Protocol, named: Mapping[str, Scope], words: Iterable[str]) -> Scope:
    """The scope of `leaf`, of `attempts=2 depth=1 widths=0,2 graph=cycle`, or of `leaf attempts=3`."""
    given = [word for text in words for word in text.split()]
    base = named[given[0]] if given and given[0] in named else named[SMALL.name]
    bounds = given[1:] if given and given[0] in named else given
    settings: dict[str, Any] = {}
    for key, value in (_setting(word, named) for word in bounds):
        if key in settings:
            raise TreadleError(f"the scope says {key} twice; say it once", code="usage.value")
        settings[key] = value
    scope = msgspec.structs.replace(base, name=" ".join(given) or base.name, **settings)
    for problem in (*out_of_range(scope), *misfits(protocol, scope)):
        raise TreadleError(problem, code="usage.value")
    return scope


def _setting(word: str, named: Mapping[str, Scope]) -> tuple[str, Any]:
    key, _, value = word.partition("=")
    if key not in SETTABLE or not value:
        hint = suggest(key, [*SETTABLE, *named])
        keys = ", ".join(f"{it}=…" for it in SETTABLE)
        raise TreadleError(
            f"'{word}' is no scope{f' ({hint})' if hint else ''}; write {', '.join(named)}, or {keys}",
            code="usage.value",
        )
    if key == "graph":
        return key, value
    if key == "budgets" and value == ANY:
        return key, None
    numbers = tuple(_number(key, part) for part in value.split(","))
    if len(numbers) > 1 and key != "widths":
        raise TreadleError(f"{word}: {key} is one number, such as {key}=1", code="usage.value")
    return key, numbers if key == "widths" else numbers[0]


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        more = f", or {ANY}" if key == "budgets" else ""
        raise TreadleError(
            f"{key}={text}: {key} is a whole number of at least {LEAST[key]}{more}", code="usage.value"
        ) from None
