"""The kinds of values that settings have, and the parsers that convert them from TOML.

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
from treadle.protocol.findings import suggest
from treadle.protocol.paths import clean_path, is_pattern, path_fault

Value = str | int | float | bool | tuple[str, ...] | None
_LARGEST: Final = 2**53


class Kind(msgspec.Struct, frozen=True):
    """A kind of value: its name for people, and its parser."""

    name: str
    read: Callable[[object], Value]


def toml_type_name(value: object) -> str:
    """Return the type of a TOML value in plain words."""
    names: dict[type, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(type(value), "a list" if isinstance(value, list | tuple) else "a table")


def _wrong_type(wanted: str, value: object) -> NoReturn:
    raise ValueError(f"must be {wanted}, not {toml_type_name(value)}")


# Numbers, words and lists of them.


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        _wrong_type("true or false", value)
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _wrong_type("a number", value)
    if not math.isfinite(value) or not 0 <= value <= _LARGEST:
        raise ValueError("must be a number from 0 on")
    return float(value)


def whole(least: int) -> Kind:
    """Return the kind of a whole number with a lower bound."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            _wrong_type("a whole number", value)
        if not least <= value <= _LARGEST:
            raise ValueError(f"must be at least {least}" if value < least else "is too large")
        return value

    return Kind(f"whole number from {least} on", read)


def _amount(units: dict[str, int], wanted: str) -> Callable[[object], int]:
    """Return the kind of a whole number, or of a number with one of some units after it."""

    def read(value: object) -> int:
        match = re.fullmatch(r"\s*([0-9]{1,12})\s*([A-Za-z]{1,3})\s*", value) if isinstance(value, str) else None
        if match and match[2].lower() in units:
            value = int(match[1]) * units[match[2].lower()]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
            raise ValueError(f"must be {wanted}")
        return value

    return read


def _text(value: object) -> str:
    if not isinstance(value, str):
        _wrong_type("text", value)
    if not value.strip() or not value.isprintable():
        raise ValueError("must be text on one line, and not empty")
    return value


def _list_of(read: Callable[[object], str]) -> Callable[[object], tuple[str, ...]]:
    def read_list(value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            _wrong_type("a list", value)
        return tuple(dict.fromkeys(read(word) for word in value))

    return read_list


def _one_of(words: Collection[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        word = _text(value)
        if word not in words:
            hint = suggest(word, words) or f"write one of {', '.join(words)}"
            raise ValueError(f"cannot be '{word[:40]}' ({hint})")
        return word

    return read


def choice(*words: str) -> Kind:
    """One of a few words."""
    return Kind(" or ".join(f"`{word}`" for word in words), _one_of(words))


def subset(*words: str) -> Kind:
    """Return the kind of a list of some of a few words."""
    return Kind(f"list of {', '.join(f'`{word}`' for word in words)}", _list_of(_one_of(words)))


# Programs and agents.


def _command(value: object) -> tuple[str, ...]:
    """Parse a program and its arguments: a list, or text split by the rules of a shell; no shell runs it."""
    if isinstance(value, list | tuple):
        if not all(isinstance(word, str) and "\0" not in word for word in value):
            raise ValueError("must be a list of texts")
        if not value or not value[0]:
            raise ValueError("must name a program first")
        return tuple(value)
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


_PRICE: Final = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_PRICES: Final = re.compile(rf"{_PRICE} in, {_PRICE} out(?:, {_PRICE} cached)?", re.ASCII)


def parse_prices(text: str) -> tuple[float, ...]:
    """Parse the price of a million tokens: input, output and, if present, cached; empty if the text is no price."""
    match = _PRICES.fullmatch(text.strip())
    return tuple(float(number) for number in match.groups() if number) if match else ()


def _prices(value: object) -> str:
    text = _text(value)
    if not parse_prices(text):
        raise ValueError("must be US dollars for a million tokens, such as '1.25 in, 10 out, 0.125 cached'")
    return text


# Variables and addresses.

_DESKTOPS: Final = ("dbus", "glib", "gnome", "kde", "qt", "macosx", "windows", "syslog")
"""Kinds of Apprise addresses that stand for this machine."""
_POSTED: Final = ("json", "xml", "form")
"""Kinds that post to a program, which may be on this machine."""
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")


def _variable(value: object) -> str:
    name = _text(value)
    if "=" in name:
        raise ValueError("takes names of variables, not their values")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*?", name):
        raise ValueError(f"has '{name[:40]}', which is not the name of a variable")
    if name.upper().startswith("TREADLE_"):
        raise ValueError(f"has '{name[:40]}': Treadle sets those itself")
    return name


def _url(value: object) -> str:
    text = _text(value)
    if text.startswith("env:"):
        return f"env:{_variable(text.removeprefix('env:'))}"
    parts = urlsplit(text)
    is_local = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise ValueError("must be an https:// address, or `env:NAME` for one that is in a variable")
    return text


def _channel(value: object) -> str:
    """Parse a channel: an address without a secret, or `env:NAME`; the addresses of chats are credentials."""
    text = _text(value)
    if text.startswith("env:"):
        return f"env:{_variable(text.removeprefix('env:'))}"
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    is_local = parts.scheme in _POSTED and parts.hostname in _THIS_MACHINE and not parts.username
    if parts.scheme not in _DESKTOPS and not is_local:
        raise ValueError("takes `env:NAME` for addresses that are in a variable, or desktops such as `dbus://`")
    return text


# Paths, branches, images and networks.


def _prefix(value: object) -> str:
    text = _text(value)
    for part in text.split("/"):
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part) or part.endswith((".", ".lock")):
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


def _glob(value: object) -> str:
    text = _text(value)
    bare = text.removeprefix("!")
    if fault := path_fault(bare):
        raise ValueError(f"has a pattern that {fault}")
    if bare.rpartition("/")[2].startswith(".env"):
        raise ValueError(f"has '{text[:80]}', which usually holds credentials; agents get none")
    return text


def _whole_path(start: str, examples: str) -> Callable[[object], str]:
    """Return a reader of absolute paths, or of paths below a prefix that stands for a folder."""

    def read(value: object) -> str:
        text = _text(value)
        inner = text.removeprefix(start)
        if not inner.startswith("/") or ".." in inner.split("/") or not inner.strip("/"):
            raise ValueError(f"has '{text[:80]}'; write whole paths, such as {examples}")
        return text

    return read


def _image(value: object) -> str:
    text = _text(value)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,499}", text):
        raise ValueError("must name an image, such as `python:3.12-slim`")
    return text


def _network(value: object) -> str:
    text = _text(value)
    if text == "host":
        raise ValueError("cannot be 'host': everything that listens on this machine would be within reach")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", text):
        raise ValueError("must be `default`, `none`, or the name of a network that the engine knows")
    return text


_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES: Final = {"b": 1, "kb": 1000, "mb": 10**6, "gb": 10**9, "kib": 1024, "mib": 1024**2, "gib": 1024**3}

TEXT: Final = Kind("text", _text)
FLAG: Final = Kind("`true` or `false`", _flag)
MONEY: Final = Kind("number", _number)
PRICES: Final = Kind("prices", _prices)
SECONDS: Final = Kind("seconds, or `90s`, `10m`, `2h`", _amount(_SECONDS, "seconds, or text such as 90s, 10m, 2h"))
SIZE: Final = Kind("bytes, or `64kB`, `16MB`", _amount(_BYTES, "bytes, or text such as 64kB, 16MB"))
COMMAND: Final = Kind("command: text, or a list of words", _command)
AGENT: Final = Kind("agent", _agent)
NAMES: Final = Kind("list of names", _list_of(_text))
VARIABLES: Final = Kind("list of variables' names, `*` at the end for any", _list_of(_variable))
CHANNELS: Final = Kind("list of `env:NAME`, or of desktops such as `dbus://`", _list_of(_channel))
URL: Final = Kind("https address, or `env:NAME`", _url)
PREFIX: Final = Kind("beginning of a branch's name", _prefix)
PATTERN: Final = Kind("path or pattern", _pattern)
PATHS: Final = Kind("list of paths", _list_of(_path))
GLOBS: Final = Kind("list of paths or patterns; `!` before one excludes", _list_of(_glob))
IMAGE: Final = Kind("image", _image)
NETWORK: Final = Kind("`default`, `none`, or a network's name", _network)
PLACES: Final = Kind("list of whole paths", _list_of(_whole_path("{root}", "`/opt/tools` or `{root}/.venv`")))
FOLDERS: Final = Kind(
    "list of whole paths, or below `~/`", _list_of(_whole_path("~", "`~/.cache/uv` or `/opt/models`"))
)
