"""Where a path of a project really leads, if links stand in its way."""

import os
from functools import partial
from pathlib import Path

from treadle.config.project import Project
from treadle.protocol.answers.paths import Fault, path_fault


def links_of(project: Project) -> Fault:
    """Tells why a path cannot be worked with in a project's checkout, because of links."""
    return partial(_fault, Path(os.path.realpath(project.root)))


def _fault(root: Path, path: str) -> str:
    real = Path(os.path.realpath(root / path))
    if real == root / path:
        return ""
    if not real.is_relative_to(root):
        link = _link(root, path)
        return f"leads out of the repository: {link} is a link to {os.path.realpath(root / link)}; name a folder inside"
    inside = path_fault(real.relative_to(root).as_posix())
    return f"leads through a link to {real.relative_to(root)}, which {inside}" if inside else ""


def _link(root: Path, path: str) -> str:
    """The first part of a path that is a link."""
    parts = path.split("/")
    ways = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    return next((way for way in ways if (root / way).is_symlink()), path)
