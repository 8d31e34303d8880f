"""A systemd user unit that serves a project from now on."""

import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from treadle.cli.files import write_again
from treadle.config.project import Project
from treadle.errors import TreadleError

_MARK: Final = "# written by `treadle serve --install`"
_UNIT: Final = """{mark}
[Unit]
Description=Treadle drives the runs of {root}

[Service]
WorkingDirectory={root}
ExecStart={python} -m treadle serve
Environment={path}
Restart=on-failure
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""


def install_unit(project: Project) -> str:
    """Write the unit of a project; what was done, and what is left to do."""
    root = str(project.root)
    if not root.isprintable():
        raise TreadleError(f"{root!a}: systemd takes no such path; move the project", code="service.path")
    folder, name = _units(), _unit_name(project)
    folder.mkdir(parents=True, exist_ok=True)
    text = _UNIT.format(
        mark=_MARK,
        root=_escaped(root),
        python=_quoted(sys.executable),
        path=_quoted(f"PATH={os.environ.get('PATH', os.defpath)}"),
    )
    write_again(folder / name, text, lambda beginning: beginning.startswith(_MARK))
    return (
        f"{folder / name} is written. Start it now and at every login:\n"
        f"  systemctl --user daemon-reload\n  systemctl --user enable --now {name}\n"
        f"What it does: journalctl --user -u {name} -f\n"
        "To go on while nobody is logged in: loginctl enable-linger"
    )


def installed_unit(project: Project) -> Path | None:
    """The unit of a project, if `treadle serve --install` has written one."""
    path = _units() / _unit_name(project)
    try:
        return path if path.read_text(encoding="utf-8", errors="replace").startswith(_MARK) else None
    except OSError:
        return None


def remove_unit(project: Project) -> None:
    """Remove the unit of a project, and the links by which systemd starts it at login."""
    if path := installed_unit(project):
        links = (link for link in path.parent.glob(f"*.wants/{path.name}") if link.is_symlink())
        for one in (*links, path):
            one.unlink(missing_ok=True)


def _unit_name(project: Project) -> str:
    name = re.sub("[^a-z0-9]+", "-", project.root.name.lower()) or "project"
    return f"treadle-{name}-{_digest(str(project.root))}.service"


def _units() -> Path:
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "systemd" / "user"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:6]


def _escaped(text: str) -> str:
    """As systemd reads it: `%` begins a specifier."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'
