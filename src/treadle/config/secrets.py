"""Secrets: settings that look like credentials are refused, and the keys that agents are lent are redacted."""

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import msgspec

_SHAPES: Final = (
    ("an API key", r"\bsk-[A-Za-z0-9_-]{16,}"),
    ("a GitHub token", r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("an AWS key", r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Slack webhook, which is a credential", r"hooks\.slack\.com/(services|triggers)/\w+"),
    ("a Discord webhook, which is a credential", r"discord(app)?\.com/api/webhooks/\w+"),
    ("a Telegram bot's token", r"\b(bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}\b"),
    ("a signed token", r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("a URL with a password", r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]+@"),
)
_PATTERNS: Final = tuple((what, re.compile(pattern)) for what, pattern in _SHAPES)
_SECRET_KEYS: Final = re.compile(r"(^|[_-])(api_?key|token|password|passwd|secret|credentials?)($|[_-])", re.IGNORECASE)

ADVICE: Final = "keep it in an environment variable, and write the variable's name into `environment.pass`"


def secret_in(text: str) -> str:
    """Return the kind of credential that a text seems to contain; empty if none."""
    return next((what for what, pattern in _PATTERNS if pattern.search(text)), "")


def names_a_secret(word: str) -> bool:
    """Whether the name of a key marks its value as a credential."""
    return _SECRET_KEYS.search(word) is not None


# Redact the keys that agents use: Treadle removes them from every output and file of an agent that it keeps.

_T = TypeVar("_T")
_SECRET_VARIABLES: Final = re.compile(
    r"(key|token|secret|passw(or)?d|credentials?|authorization)s?$|(api_key|(access|auth|bearer)_token)_", re.IGNORECASE
)
_HEADERS: Final = re.compile(r"headers$", re.IGNORECASE)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://([^/\s@]*:([^/\s@]+))@", re.IGNORECASE)
"""An address with a name and a password in it, as a proxy may have one."""
_SCHEME: Final = re.compile(r"(?:basic|bearer|token)\s+(\S+)", re.IGNORECASE)
"""The authentication scheme before the key in a header."""
_ELSEWHERE: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|\{(env|file):.*\}", re.ASCII)
"""References to a key: the name of a variable or of a file."""
_LINE: Final = re.compile(r"""\s*["']?([\w.-]+)["']?\s*[:=]\s*["']?([^"'\s]+)["']?\s*""")
"""A name and its value, as YAML, TOML and headers have them."""
_SHORTEST: Final = 16
"""Characters; less is no key, and may stand anywhere."""
_LARGEST: Final = 1 << 20


class Redaction(msgspec.Struct, frozen=True, dict=True):
    """Secret values, each with the name that replaces it in texts."""

    names: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Replace the secrets in a text."""
        return self._pattern.sub(lambda match: self._mark(match[0]), text) if self.names else text

    def data(self, data: bytes) -> bytes:
        """Replace the secrets in bytes, in any encoding that is compatible with ASCII."""
        if not self.names:
            return data
        return self._bytes.sub(lambda match: self._mark(match[0].decode()).encode(), data)

    def value(self, value: _T) -> _T:
        """Replace the secrets in nested data."""
        return cast(_T, self._value(value)) if self.names else value

    def named_in(self, data: bytes) -> list[str]:
        """Return the names of the secrets that the data contains."""
        return sorted({self.names[secret.decode()] for secret in self._bytes.findall(data)}) if self.names else []

    def _mark(self, value: str) -> str:
        return f"(redacted: {self.names[value]})"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.names, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))

    @cached_property
    def _bytes(self) -> re.Pattern[bytes]:
        return re.compile(self._pattern.pattern.encode())

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self._value(key): self._value(each) for key, each in value.items()}
            case list() | tuple():
                return type(value)(map(self._value, value))
            case msgspec.Struct():
                fields = {name: self._value(getattr(value, name)) for name in value.__struct_fields__}
                return msgspec.structs.replace(value, **fields)
            case _:
                return value


NO_REDACTION: Final = Redaction()


def redaction_of(
    environ: Mapping[str, str] = os.environ, logins: Iterable[Path] = (), named: Collection[str] = ()
) -> Redaction:
    """Collect the secrets in variables and login files: values with a secret-sounding name, or with a name in
    `named`.
    """
    names = {value: name for name, value in environ.items() if _SECRET_VARIABLES.search(name) or name in named}
    names |= {value: name for name, text in environ.items() for value in _within(name, text)}
    for login in logins:
        names |= {value: f"{name} of {login.name}" for name, text in _in_login(login) for value in _secrets(name, text)}
    secret = {value: name for value, name in names.items() if len(value) >= _SHORTEST and value.isprintable()}
    return Redaction({form: name for value, name in secret.items() for form in _forms(value)})


def _within(name: str, text: str) -> Iterator[str]:
    """Yield the secrets inside a variable's text under any name: headers, addresses and JSON settings may
    contain keys.
    """
    if _HEADERS.search(name):
        yield from (word for word in text.split() if not word.endswith(":"))
    for match in _URL.finditer(text):
        yield from match.groups()
    if text.startswith("{"):
        with suppress(msgspec.DecodeError):
            for key, value in texts_in(msgspec.json.decode(text)):
                yield from _secrets(key, value)


def _secrets(name: str, text: str) -> Iterator[str]:
    """Yield a text with a secret-sounding name and the key after its scheme, and the passwords of addresses in it."""
    if _SECRET_VARIABLES.search(name) and not _ELSEWHERE.fullmatch(text):
        yield text
        yield from _SCHEME.findall(text)
    for match in _URL.finditer(text):
        yield from match.groups()


def _forms(value: str) -> Iterator[str]:
    """Yield a value as it is, and as programs escape or encode it: JSON, URL, base64, hex."""
    data = value.encode(errors="replace")
    whole = len(data) // 3 * 3  # what comes after it changes the rest
    yield value
    yield json.dumps(value)[1:-1]
    yield quote(value, safe="")
    yield from (encode(data[:whole]).decode() for encode in (b64encode, urlsafe_b64encode))
    yield from (data.hex(), data.hex().upper())


def _in_login(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a login, by name: of JSON and TOML however deep, of anything else line by line."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
    except OSError:
        return
    try:
        yield from texts_in(msgspec.toml.decode(data) if path.suffix == ".toml" else msgspec.json.decode(data))
    except msgspec.DecodeError:
        lines = data.decode(errors="replace").splitlines()
        yield from ((match[1], match[2]) for line in lines if (match := _LINE.fullmatch(line)))


def texts_in(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in nested data, with the nearest key above it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from texts_in(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each, name)
