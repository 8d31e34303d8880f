"""What `treadle init` would do to a project, and doing it: nothing that is there is changed."""

import os
from pathlib import Path

import msgspec

from treadle.cli import library
from treadle.cli.files import write_new
from treadle.cli.programs import find_program
from treadle.config.agents import PROGRAMS
from treadle.config.detect.found import Found
from treadle.config.detect.project import detect
from treadle.config.load import load_settings
from treadle.config.own_files import own_files
from treadle.config.project import Project, make_local
from treadle.config.starter import Chosen, chosen_for, starter
from treadle.errors import TreadleError
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.model import Protocol


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was detected, what is to be written, what is left as it is, and what to do next."""

    found: list[Found]
    agents: list[str]
    files: dict[str, str]
    kept: list[str]
    answered: list[str] = []
    """The commands that the settings have."""
    protocol: Protocol | None = None

    @property
    def main(self) -> Found | None:
        return self.found[0] if self.found else None

    @property
    def unanswered(self) -> list[str]:
        """The commands that the protocol asks for and that nobody has an answer to yet."""
        derived = {"collect", "api_dump"}  # known for the kinds and languages that Treadle reads itself
        wanted = self.protocol.toolchain if self.protocol else ("test",)
        return [name for name in wanted if name not in self.answered and name not in derived]


def plan(project: Project, protocol: str | None) -> Plan:
    """What is to be done here."""
    found = detect(project.root)
    agents = [program.name for program in PROGRAMS if find_program(program.name)]
    loaded = library.opened(protocol).protocol if protocol else None
    wanted = {project.file.name: _settings(found, agents, loaded, protocol)}
    if protocol:
        wanted |= own_files(library.folder(protocol))
    there = [name for name in wanted if _is_there(project.root / name)]
    return Plan(
        found=found,
        agents=agents,
        files={name: text for name, text in wanted.items() if name not in there},
        kept=there,
        answered=_answered(project, found[0] if found else None),
        protocol=loaded,
    )


def carry_out(project: Project, plan: Plan) -> None:
    """Writes the files of a plan, all or none, and the folder for what is this checkout's alone."""
    paths = {project.root / name: text for name, text in plan.files.items()}
    for path in paths:
        if not path.parent.resolve().is_relative_to(project.root.resolve()):
            raise TreadleError(f"{path.parent} is a link that leads out of the project; remove it, then try again")
    make_local(project)
    begun: list[Path] = []
    try:
        for path, text in paths.items():
            _make_folder(path.parent)
            write_new(path, text)
            begun.append(path)
    except BaseException:
        for path in begun:
            path.unlink(missing_ok=True)
        raise


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreadleError(f"{folder} cannot be made: {error.strerror}") from None


def _settings(found: list[Found], agents: list[str], loaded: Protocol | None, protocol: str | None) -> str:
    chosen = chosen_for(found[0] if found else None)
    if agents:
        chosen["agents.default"] = Chosen(agents[0], f"found on this machine: {', '.join(agents)}")
    if protocol:
        chosen["protocol.default"] = Chosen(protocol, "given to `treadle init`")
    return starter(chosen, loaded)


def _answered(project: Project, main: Found | None) -> list[str]:
    """The commands that are known once everything is written: the settings that are there count, not the guesses."""
    if not _is_there(project.file):
        return list(main.commands) if main else []
    toolchain = load_settings(project, os.environ).config().toolchain
    return [name for name in TOOLCHAIN if toolchain.command(name)]


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()
