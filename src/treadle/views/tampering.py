"""What somebody has made of a file that is a view of a run, in a few words."""

from typing import Any, Final

import msgspec

from treadle.prompts.foreign import inline

_SHOWN: Final = 3
_VALUE: Final = 60


def difference(path: str, there: bytes, ours: str) -> str:
    """How a file differs from what the log says: the fields, if it has any; empty if that cannot be told."""
    if not path.endswith(".json"):
        return ""
    try:
        theirs = msgspec.json.decode(there, type=dict[str, Any])
    except msgspec.DecodeError as error:
        return f"it is no JSON object any more: {inline(str(error), _VALUE * 2)}"
    except UnicodeDecodeError:
        return "it is not UTF-8 any more"
    log = msgspec.json.decode(ours, type=dict[str, Any])
    names = [name for name in {**log, **theirs} if theirs.get(name) != log.get(name)]
    told = [f"{inline(name, _VALUE)} {_said(theirs, name)}, not {_said(log, name)}" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(told)}{more}"


def _said(values: dict[str, Any], name: str) -> str:
    return inline(msgspec.json.encode(values[name]).decode(), _VALUE) if name in values else "missing"
