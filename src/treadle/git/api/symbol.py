"""What a reader of some language finds in a file: exported names, each with how it is used and what it does."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

LONGEST: Final = 500
"""Characters of a signature that are shown; a longer one ends with a hash of the whole."""
WHOLE: Final = "file"
"""The signature of a file that counts as one name."""


class Symbol(msgspec.Struct, frozen=True):
    """An exported name: how it is used, and a hash of what it does."""

    signature: str
    body: str


Api = dict[str, Symbol]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one file exports."""

    symbols: Api
    links: dict[str, str] = {}
    """Names that it passes on, each with where it has it from; `*` stands for all there."""
    is_private: bool = False
    """Nobody is meant to use this file itself; what it defines counts where another file passes it on."""
    broken: str = ""
    """Why it could not be understood; then its one name is that of the file."""


def symbol(signature: str, body: str = "") -> Symbol:
    """A symbol with its body as a hash, and its signature in a length that can be shown."""
    shown = signature if len(signature) <= LONGEST else f"{signature[:LONGEST]}… #{_hash(signature)[:8]}"
    return Symbol(shown, _hash(body) if body else "")


def joined(one: Symbol, other: Symbol) -> Symbol:
    """A name that is defined more than once: overloads, a getter and its setter, or one for each platform."""
    signatures = dict.fromkeys((one.signature, other.signature))
    return symbol("; ".join(signatures), f"{one.body}{other.body}")


def merged(all_: Iterable[Mapping[str, Symbol]]) -> Api:
    """Several sets of names as one."""
    found: Api = {}
    for some in all_:
        for name, one in some.items():
            found[name] = joined(found[name], one) if name in found else one
    return found


def whole_file(path: str, source: bytes, broken: str = "") -> Reading:
    """A file that is not understood counts as one name."""
    said = f"{WHOLE} ({broken})" if broken else WHOLE
    return Reading(symbols={path: Symbol(said, hashlib.sha256(source).hexdigest())}, broken=broken)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
