"""`{spec[targetPath]}`: values of an activity's context in the texts of a script, looked up and never computed."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.errors import PortError
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json

NAMES: Final = (
    "run act instance graph step role mode visit attempt max_attempts spec parameters permissions inputs".split()
)
_NAME: Final = "|".join(NAMES)
_PLACEHOLDER: Final = re.compile(rf"(\{{)?\{{({_NAME})((?:\[[^\[\]{{}}]{{1,200}}\])*)\}}(?(1)\}}|)")
_KEY: Final = re.compile(r"\[([^\[\]]+)\]")
_BROKEN: Final = re.compile(rf"\{{({_NAME})(\[[^\]}}]*|\[\]|\.[\w.]+|\[[^\]]*\]\.[\w.]+)\}}")


def faults(text: str) -> Iterator[tuple[str, str]]:
    """What looks like a placeholder and is none: the message, and what to do."""
    for found in _BROKEN.finditer(text):
        yield (
            f"'{found[0]}' is no placeholder",
            f"write `{{{found[1]}[name]}}`, one pair of brackets for each step down",
        )


def fill(value: Json, context: Mapping[str, Json]) -> Json:
    """A value with its placeholders filled in; a text that is nothing but a placeholder becomes the value itself."""
    match value:
        case str():
            whole = _PLACEHOLDER.fullmatch(value)
            return find(context, whole[2], whole[3]) if whole and not whole[1] else fill_text(value, context)
        case list():
            return [fill(each, context) for each in value]
        case dict():
            return {fill_text(key, context): fill(each, context) for key, each in value.items()}
        case _:
            return value


def fill_text(text: str, context: Mapping[str, Json]) -> str:
    """A text with its placeholders filled in; what is no text is written as JSON."""

    def filled(found: re.Match[str]) -> str:
        if found[1]:
            return f"{{{found[2]}{found[3]}}}"
        value = find(context, found[2], found[3])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return _PLACEHOLDER.sub(filled, text)


def find(context: Mapping[str, Json], name: str, keys: str) -> Json:
    """The value that a name and its keys lead to; a `PortError` tells where there is none."""
    if name not in context:
        raise PortError(
            f"the placeholder '{{{name}{keys}}}' finds no '{name}' in the context of this activity",
            code="agent.placeholder",
        )
    value, way = context[name], name
    for key in _KEY.findall(keys):
        value = _step(value, key, way)
        way += f"[{key}]"
    return value


def _step(value: Json, key: str, way: str) -> Json:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and key.isascii() and key.isdecimal() and len(key) < 9 and int(key) < len(value):
        return value[int(key)]
    if isinstance(value, dict):
        hint = suggest(key, value) or f"there are {', '.join(sorted(value)[:20])}"
    else:
        hint = f"it is a list of {len(value)}, counted from 0" if isinstance(value, list) else "it has nothing below it"
    raise PortError(f"the placeholder '{{{way}[{key}]}}' finds no '{key}' in {way} ({hint})", code="agent.placeholder")
