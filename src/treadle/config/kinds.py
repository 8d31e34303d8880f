"""The kinds of values that settings have: from what TOML holds to what the program uses.

A parser raises a `ValueError` with a phrase that fits after the key's name; it never repeats a whole value.
"""

import math
import re
import shlex
from collections.abc import Callable, Collection
from typing import Final, NoReturn
from urllib.parse import urlsplit

import msgspec

from treadle.config.agents import STARTED, parse_agent
from treadle.protocol.answers.paths import clean_path, is_pattern, path_fault
from treadle.protocol.findings import suggest

Value = str | int | float | bool | tuple[str, ...] | None
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES: Final = {"b": 1, "kb": 1000, "mb": 10**6, "gb": 10**9, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_LARGEST: Final = 2**53
_DESKTOPS: Final = ("dbus", "glib", "gnome", "kde", "qt", "macosx", "windows", "syslog")
"""Kinds of Apprise addresses that stand for this machine."""
_POSTED: Final = ("json", "xml", "form")
"""Those that are posted to a program, which may be on this machine."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,499}")
_NETWORK: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_ROOT: Final = "{root}"
_AMOUNT: Final = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_PRICES: Final = re.compile(rf"{_AMOUNT} in, {_AMOUNT} out(?:, {_AMOUNT} cached)?", re.ASCII)


class Kind(msgspec.Struct, frozen=True):
    """A kind of value: what people call it, and how it is read."""

    name: str
    read: Callable[[object], Value]


def _mistaken(wanted: str, value: object) -> NoReturn:
    raise ValueError(f"must be {wanted}, not {called(value)}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        _mistaken("text", value)
    if not value.strip() or not value.isprintable():
        raise ValueError("must be text on one line, and not empty")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        _mistaken("true or false", value)
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _mistaken("a number", value)
    if not math.isfinite(value) or not 0 <= value <= _LARGEST:
        raise ValueError("must be a number from 0 on")
    return float(value)


def whole(least: int) -> Kind:
    """A whole number, not below a least one."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            _mistaken("a whole number", value)
        if not least <= value <= _LARGEST:
            raise ValueError(f"must be at least {least}" if value < least else "is too large")
        return value

    return Kind(f"whole number from {least} on", read)


def choice(*words: str) -> Kind:
    """One of a few words."""
    return Kind(" or ".join(f"`{word}`" for word in words), lambda value: _one_of(_text(value), words))


def _one_of(word: str, words: Collection[str]) -> str:
    if word not in words:
        hint = suggest(word, words) or f"write one of {', '.join(words)}"
        raise ValueError(f"cannot be '{word[:40]}' ({hint})")
    return word


def subset(*words: str) -> Kind:
    """Some of a few words."""
    return Kind(
        f"list of {', '.join(f'`{word}`' for word in words)}",
        lambda value: tuple(dict.fromkeys(_one_of(_text(word), words) for word in _list(value))),
    )


def _measure(value: object, units: dict[str, int], example: str) -> int:
    if isinstance(value, str):
        number, unit = _split(value)
        if number and unit in units:
            return _measure(int(number) * units[unit], units, example)
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    raise ValueError(f"must be {example}")


def _split(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"\s*([0-9]{1,12})\s*([A-Za-z]{1,3})\s*", text)
    return (match[1], match[2].lower()) if match else ("", "")


def _command(value: object) -> tuple[str, ...]:
    """A program and its arguments: a list, or text that is split as a shell would, without being given to one."""
    if isinstance(value, list | tuple):
        words = tuple(_argument(word) for word in value)
        if not words or not words[0]:
            raise ValueError("must name a program first")
        return words
    text = _text(value)
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        operators = [word for word in lexer if word and set(word) <= set("();<>|&")]
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"cannot be split into words: {str(error).lower()}; write a list of words") from None
    if operators or "$(" in text or "`" in text:
        raise ValueError("is started without a shell; put what needs one into a script, or write a list of words")
    if not words[0]:
        raise ValueError("must name a program first")
    if words[0].startswith("~") or re.match(r"\w+=", words[0]):
        raise ValueError("is started without a shell; write the program's path in full, or `env NAME=value PROGRAM`")
    return words


def _agent(value: object) -> str:
    agent = parse_agent(_text(value))
    if agent.kind in STARTED:
        _command(agent.argument)
    return str(agent)


def _prices(value: object) -> str:
    text = _text(value)
    if not parse_prices(text):
        raise ValueError("must be US dollars for a million tokens, such as '1.25 in, 10 out, 0.125 cached'")
    return text


def parse_prices(text: str) -> tuple[float, ...]:
    """What a million tokens cost that go in, come out, and (if that is told) come from the cache; else nothing."""
    found = _PRICES.fullmatch(text.strip())
    return tuple(float(number) for number in found.groups() if number) if found else ()


def _argument(value: object) -> str:
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError("must be a list of texts")


def _list(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        _mistaken("a list", value)
    return list(value)


def _variables(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_variable(_text(word)) for word in _list(value)))


def _variable(name: str) -> str:
    if "=" in name:
        raise ValueError("takes names of variables, not their values")
    if not _VARIABLE.fullmatch(name):
        raise ValueError(f"has '{name[:40]}', which is not the name of a variable")
    if name.upper().startswith("TREADLE_"):
        raise ValueError(f"has '{name[:40]}': Treadle sets those itself")
    return name


def _url(value: object) -> str:
    text = _text(value)
    if text.startswith("env:"):
        _variable(text.removeprefix("env:"))
        return text
    parts = urlsplit(text)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise ValueError("must be an https:// address, or `env:NAME` for one that is in a variable")
    return text


def _channels(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_channel(_text(word)) for word in _list(value)))


def _channel(text: str) -> str:
    """An address without a secret in it, or the variable that holds one: those of chats are credentials."""
    if text.startswith("env:"):
        _variable(text.removeprefix("env:"))
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    here = parts.hostname in ("localhost", "127.0.0.1", "::1") and not parts.username
    if parts.scheme in _DESKTOPS or (parts.scheme in _POSTED and here):
        return text
    raise ValueError("takes `env:NAME` for addresses that are in a variable, or desktops such as `dbus://`")


def _prefix(value: object) -> str:
    text = _text(value)
    parts = text.split("/")
    if not all(
        re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part) and not part.endswith((".", ".lock")) for part in parts
    ):
        raise ValueError("must be the beginning of a branch's name, such as `treadle` or `bots/treadle`")
    if ".." in text:
        raise ValueError("must not have two dots in a row")
    return text


def _pattern(value: object) -> str:
    text = _text(value)
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        raise ValueError("must be a path inside the project")
    return text


def _path(value: object) -> str:
    text = _text(value)
    if fault := path_fault(text) or ("is a pattern; name a folder or a file" if is_pattern(text) else ""):
        raise ValueError(f"has a path that {fault}")
    return clean_path(text)


def _image(value: object) -> str:
    text = _text(value)
    if not _IMAGE.fullmatch(text):
        raise ValueError("must name an image, such as `python:3.12-slim`")
    return text


def _network(value: object) -> str:
    text = _text(value)
    if text == "host":
        raise ValueError("cannot be 'host': everything that listens on this machine would be within reach")
    if not _NETWORK.fullmatch(text):
        raise ValueError("must be `default`, `none`, or the name of a network that the engine knows")
    return text


def _places(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_place(_text(word)) for word in _list(value)))


def _place(text: str) -> str:
    inner = text.removeprefix(_ROOT)
    if not inner.startswith("/") or ".." in inner.split("/") or not inner.strip("/"):
        raise ValueError(f"has '{text[:80]}'; write whole paths, such as `/opt/tools` or `{_ROOT}/.venv`")
    return text


def _folders(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_folder(_text(word)) for word in _list(value)))


def _folder(text: str) -> str:
    inner = text.removeprefix("~")
    if not inner.startswith("/") or ".." in inner.split("/") or not inner.strip("/"):
        raise ValueError(f"has '{text[:80]}'; write whole paths, such as `~/.cache/uv` or `/opt/models`")
    return text


def called(value: object) -> str:
    """What people call a TOML value's type."""
    names: dict[type, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(type(value), "a list" if isinstance(value, list | tuple) else "a table")


TEXT: Final = Kind("text", _text)
FLAG: Final = Kind("`true` or `false`", _flag)
MONEY: Final = Kind("number", _number)
PRICES: Final = Kind("prices", _prices)
SECONDS: Final = Kind(
    "seconds, or `90s`, `10m`, `2h`", lambda v: _measure(v, _SECONDS, "seconds, or text such as 90s, 10m, 2h")
)
SIZE: Final = Kind("bytes, or `64kB`, `16MB`", lambda v: _measure(v, _BYTES, "bytes, or text such as 64kB, 16MB"))
COMMAND: Final = Kind("command: text, or a list of words", _command)
AGENT: Final = Kind("agent", _agent)
NAMES: Final = Kind("list of names", lambda value: tuple(dict.fromkeys(_text(word) for word in _list(value))))
VARIABLES: Final = Kind("list of variables' names, `*` at the end for any", _variables)
CHANNELS: Final = Kind("list of `env:NAME`, or of desktops such as `dbus://`", _channels)
URL: Final = Kind("https address, or `env:NAME`", _url)
PREFIX: Final = Kind("beginning of a branch's name", _prefix)
PATTERN: Final = Kind("path or pattern", _pattern)
PATHS: Final = Kind("list of paths", lambda value: tuple(dict.fromkeys(_path(word) for word in _list(value))))
IMAGE: Final = Kind("image", _image)
NETWORK: Final = Kind("`default`, `none`, or a network's name", _network)
PLACES: Final = Kind("list of whole paths", _places)
FOLDERS: Final = Kind("list of whole paths, or below `~/`", _folders)
