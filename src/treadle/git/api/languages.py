"""The languages with a reader for exports; a file of any other language counts as one name.

The readers load heavy libraries, so each is imported when it meets the first file of its language. They return
`FileExports`: exported names, each with its signature and a hash of its body.
"""

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.protocol.paths import is_test

# The result of a reader: exported names, each with its signature and a hash of its body.

LONGEST: Final = 500
"""The length at which a displayed signature is cut; a longer one ends with a hash of the whole."""
WHOLE: Final = "file"
"""The signature of a file that counts as one name."""


class Symbol(msgspec.Struct, frozen=True):
    """An exported name: its signature and a hash of its body."""

    signature: str
    body: str


Api = dict[str, Symbol]


class FileExports(msgspec.Struct, frozen=True, kw_only=True):
    """The exports of one file."""

    symbols: Api
    links: dict[str, str] = {}
    """Re-exported names, each with its origin; `*` stands for all names there."""
    is_private: bool = False
    """The file is not meant to be imported; its definitions count where another file re-exports them."""
    broken: str = ""
    """The reason why the file could not be parsed; it then counts as one name, its path."""


def make_symbol(signature: str, body: str = "") -> Symbol:
    """Return a symbol with a hashed body and a signature short enough to display."""
    shown = signature if len(signature) <= LONGEST else f"{signature[:LONGEST]}… #{_hash(signature)[:8]}"
    return Symbol(shown, _hash(body) if body else "")


def merge_apis(all_: Iterable[Mapping[str, Symbol]]) -> Api:
    """Merge several sets of names into one.

    A name may have several definitions: overloads, a getter and its setter, or one for each platform.
    """
    found: Api = {}
    for some in all_:
        for name, one in some.items():
            if earlier := found.get(name):
                signatures = dict.fromkeys((earlier.signature, one.signature))
                one = make_symbol("; ".join(signatures), f"{earlier.body}{one.body}")  # noqa: PLW2901
            found[name] = one
    return found


def whole_file(path: str, source: bytes, broken: str = "") -> FileExports:
    """Return the exports of a file without a reader: one name, its path."""
    signature = f"{WHOLE} ({broken})" if broken else WHOLE
    return FileExports(symbols={path: Symbol(signature, hashlib.sha256(source).hexdigest())}, broken=broken)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


LARGEST: Final = 500_000
"""The size limit in bytes of a file to parse; a larger one was hardly written by hand."""
_OTHERS: Final = frozenset(
    """
    .c .cc .cpp .cs .dart .ex .exs .graphql .h .hpp .hs .java .kt .lua .ml .mli .php .proto .rb .rs .scala .svelte
    .swift .vue .zig
    """.split()
)
_REMEMBERED: Final = 100_000


READERS: Final = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), "javascript"),
    ".go": "go",
}
"""The module of this package that reads files with a suffix."""


@lru_cache(maxsize=_REMEMBERED)
def is_source(path: str) -> bool:
    """Whether a file may export anything."""
    suffix = PurePosixPath(path).suffix
    return (suffix in READERS or suffix in _OTHERS) and not is_test(path)


def is_understood(path: str) -> bool:
    """Whether a reader exists for the file's language."""
    return PurePosixPath(path).suffix in READERS


def read_api(path: str, source: bytes) -> FileExports:
    """Return the exports of a file; one without a reader, or with a syntax error, counts as one name: its path."""
    if not is_source(path):
        return FileExports(symbols={})
    if not is_understood(path):
        return whole_file(path, source)
    if len(source) > LARGEST:
        return whole_file(path, source, f"too large to be read: more than {LARGEST} bytes")
    try:
        # A reader's library is loaded with the first file of its language: most commands need none.
        reader = import_module(f"treadle.git.api.{READERS[PurePosixPath(path).suffix]}")
        found: FileExports = reader.read(path, source)
        return found
    except SyntaxError as error:
        return whole_file(path, source, f"cannot be parsed: line {error.lineno or 1}: {error.msg}")
    except Exception as error:  # noqa: BLE001, RUF100 - whatever odd source makes of a library, a merge goes on
        return whole_file(path, source, f"cannot be parsed: {type(error).__name__}: {error}"[:300])


# Python's module names.


@lru_cache(maxsize=100_000)
def module_name(path: str) -> str:
    """`src/shop/cart.py` → `shop.cart`, `shop/__init__.py` → `shop`."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] in ("src", "lib") and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_private(module: str) -> bool:
    """Whether a module is private: a part of its name starts with one underscore."""
    return any(part.startswith("_") and not part.startswith("__") for part in module.split("."))


def is_python(path: str) -> bool:
    """Whether a file is a Python module."""
    return path.endswith((".py", ".pyi"))
