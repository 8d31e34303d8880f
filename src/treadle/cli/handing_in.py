"""Where `treadle emit` has its answer from, and how it refuses one."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from treadle.errors import TreadleError
from treadle.results.arguments import from_arguments
from treadle.results.faulty import Faulty
from treadle.results.files import look
from treadle.results.strict_json import decode
from treadle.results.ways import Ways

STDIN: Final = "-"
_USAGE: Final = "give a FILE, - for standard input, or {} NAME with --field name=value"


def answer(
    ways: Ways, file: str | None, type_: str | None, fields: Sequence[str], option: str = "--type"
) -> object | Faulty:
    """The answer that the arguments stand for."""
    if (file is None) == (type_ is None):
        usage = _USAGE.format(option)
        raise TreadleError(
            f"nothing to hand in; {usage}" if file is None else f"either or: {usage}", code="usage.missing"
        )
    if type_ is not None:
        return from_arguments(ways, type_, fields, option)
    if fields:
        raise TreadleError(f"--field goes with {option} only; the fields of a file stand in it", code="usage.conflict")
    if file is None or file == STDIN:
        return decode(sys.stdin.buffer.read(ways.limit + 1), "the answer", ways.limit)
    return _from_file(Path(file), option, ways.limit)


def refuse(found: Faulty) -> NoReturn:
    """Say what is wrong, a line each."""
    raise TreadleError("\n  ".join(("not accepted:", *found.problems)), code="result.refused")


def _from_file(path: Path, option: str, limit: int) -> object | Faulty:
    real = Path(os.path.realpath(path))  # unlike `resolve`, it never raises
    data = look(real.parent, real.name, str(path), limit)
    if data is None:
        raise TreadleError(f"there is no file {path}; {_USAGE.format(option)}", code="file.missing")
    return data if isinstance(data, Faulty) else decode(data, str(path), limit)
