"""The languages whose exports are understood, one reader each; of any other, a file is one name."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from treadle.git.api.symbol import Api, Reading, whole_file
from treadle.protocol.test_paths import is_test

LARGEST: Final = 500_000
"""Bytes of a file that is read; a larger one was hardly written by hand."""
_OTHERS: Final = frozenset(
    """
    .c .cc .cpp .cs .dart .ex .exs .graphql .h .hpp .hs .java .kt .lua .ml .mli .php .proto .rb .rs .scala .svelte
    .swift .vue .zig
    """.split()
)
Read = Callable[[str, bytes], Reading]
_REMEMBERED: Final = 100_000


# A reader's library is loaded when the first file of its language is read: most commands need none.


def _python(path: str, source: bytes) -> Reading:
    from treadle.git.api.python import read  # noqa: PLC0415

    return read(path, source)


def _script(path: str, source: bytes) -> Reading:
    from treadle.git.api.javascript import read  # noqa: PLC0415

    return read(path, source)


def _go(path: str, source: bytes) -> Reading:
    from treadle.git.api.go import read  # noqa: PLC0415

    return read(path, source)


READERS: Final[dict[str, Read]] = {
    **dict.fromkeys((".py", ".pyi"), _python),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), _script),
    ".go": _go,
}


@lru_cache(maxsize=_REMEMBERED)
def is_source(path: str) -> bool:
    """Whether a file may export anything."""
    suffix = PurePosixPath(path).suffix
    return (suffix in READERS or suffix in _OTHERS) and not is_test(path)


def is_understood(path: str) -> bool:
    """Whether what a file exports can be read name by name."""
    return PurePosixPath(path).suffix in READERS


def read_api(path: str, source: bytes) -> Reading:
    """What a file exports. One that is not understood, or cannot be parsed, counts as one name: its path."""
    reader = READERS.get(PurePosixPath(path).suffix)
    if not is_source(path):
        return Reading(symbols={})
    if reader is None:
        return whole_file(path, source)
    if len(source) > LARGEST:
        return whole_file(path, source, f"too large to be read: more than {LARGEST} bytes")
    try:
        return reader(path, source)
    except SyntaxError as error:
        return whole_file(path, source, f"cannot be parsed: line {error.lineno or 1}: {error.msg}")
    except Exception as error:  # noqa: BLE001, RUF100 - whatever odd source makes of a library, a merge goes on
        return whole_file(path, source, f"cannot be parsed: {type(error).__name__}: {error}"[:300])


def api_of(path: str, source: bytes) -> Api:
    """What a file exports by itself, whoever passes it on."""
    reading = read_api(path, source)
    return {} if reading.is_private else reading.symbols
