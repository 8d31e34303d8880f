"""What a step that is done alone finds of what others would have left for it: it must be committed."""

import asyncio
from collections.abc import Iterator
from fnmatch import fnmatchcase

from treadle.cli.repository import git
from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.protocol.alone import Alone, Missing
from treadle.protocol.items import Json


def refuse_what_is_missing(project: Project, part: Alone, value: Json, command: str) -> None:
    """A `TreadleError` that says what a step needs and is not there, and which command leaves it."""
    if not part.terms.given:
        return
    said = asyncio.run(git(project.root, "ls-tree", "-r", "--name-only", "-z", "HEAD"))
    names = said.text.split("\0") if said.is_well else []

    def is_there(path: str) -> bool:
        return any(fnmatchcase(name, path) for name in names) if "*" in path else path in names

    if lacks := list(_told(project, part.missing(value, is_there), command)):
        raise TreadleError(f"--only {part.step}: {'; '.join(lacks)}", code="spec.incomplete")


def _told(project: Project, missing: Iterator[Missing], command: str) -> Iterator[str]:
    for one in missing:
        name = one.paths[0]
        if (project.root / name).is_file():
            yield f"{name} is not committed, and a run sees only what is: commit it first"
        else:
            first = f"`{command} --only {one.by}`" if one.by else "whoever writes it"
            yield f"there is no {' and no '.join(one.paths)}; {first} comes first"
