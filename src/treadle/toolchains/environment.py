"""The environment of the project's commands, built from nothing: no variable of ours decides how tests run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_KEPT: Final = (
    "HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ SSL_CERT_FILE SSL_CERT_DIR XDG_CACHE_HOME JAVA_HOME GOPATH GOROOT"
    " GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME PYENV_ROOT NVM_DIR"
).split()
_FIXED: Final = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def environment(scratch: Path, ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a command of the project sees; everything temporary goes to `scratch`."""
    known = os.environ if ours is None else ours
    entries = [entry for entry in known.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "LANG": "C.UTF-8",
        **{name: known[name] for name in _KEPT if name in known},
        **_FIXED,
        "PATH": os.pathsep.join(entries),
        "TMPDIR": str(temporary),
    }
