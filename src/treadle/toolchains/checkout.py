"""Commands of the project in a checkout, of which nothing but output and exit code is wanted."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.environment import environment
from treadle.toolchains.files import read_text
from treadle.toolchains.process import Finished, Listen, run
from treadle.toolchains.sandbox import find_sandbox


async def run_in(
    path: Path,
    command: tuple[str, ...],
    *,
    scratch: Path,
    timeout: float,
    sandbox: Enclosure | None = None,
    readable: tuple[Path, ...] = (),
    listen: Listen | None = None,
    more: Mapping[str, str] | None = None,
) -> Finished:
    """Run one of the project's commands in a checkout, in the best sandbox that works here; `more`: its environment."""
    path = path.resolve()
    return await run(
        command,
        cwd=path,
        env=environment(scratch) | _own_sources(path, command) | dict(more or {}),
        timeout=timeout,
        sandbox=sandbox or await find_sandbox(),
        scratch=scratch,
        readable=readable,
        listen=listen,
    )


def _own_sources(path: Path, command: tuple[str, ...]) -> dict[str, str]:
    """An environment may have the project installed as a link to the user's own checkout; this one goes before it."""
    is_python = Path(command[0]).name.startswith("python") or (path / "pyproject.toml").is_file()
    usual = [path / "src"] if is_python else []
    folders = [folder for folder in dict.fromkeys([*_linked_folders(path, command), *usual]) if folder.is_dir()]
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))} if folders else {}


def _linked_folders(path: Path, command: tuple[str, ...]) -> Iterator[Path]:
    """The folders of this checkout that stand for those of the user's, to which the command's environment has links.

    The checkout lies below the user's, or the link belongs to another project.
    """
    environment_folder = Path(command[0]).parent.parent
    if not (environment_folder / "pyvenv.cfg").is_file():
        return
    for file in sorted(environment_folder.glob("lib/python*/site-packages/*.pth")):
        for line in read_text(file).splitlines():
            linked = Path(line.strip()) if line.startswith("/") else None
            for root in path.parents:
                if linked and (root / ".treadle").is_dir() and linked.resolve().is_relative_to(root):
                    yield path / linked.resolve().relative_to(root)


def problems_of(command: tuple[str, ...], finished: Finished) -> list[str]:
    """Why a command did not end by itself, if so."""
    if finished.ended == "timeout":
        return [f"{command[0]} did not end within {finished.duration:.0f} s"]
    if finished.ended == "missing":
        return [f"{command[0]} could not be started: {finished.detail}; install it (a run keeps its settings)"]
    return [f"{command[0]}: {finished.detail}"] if finished.ended == "killed" else []
