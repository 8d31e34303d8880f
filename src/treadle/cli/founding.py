"""What `treadle init` would do to a project, and doing it: nothing that is there is changed."""

import os
from pathlib import Path

import msgspec

from treadle.cli import library
from treadle.cli.files import write_new
from treadle.cli.left_off import stories_left_off
from treadle.config.agents import PROGRAMS, find_agent
from treadle.config.detect.found import Found
from treadle.config.detect.project import detect
from treadle.config.kinds import Value
from treadle.config.load import load_settings
from treadle.config.model import Toolchain
from treadle.config.own_files import own_files
from treadle.config.project import Project, make_local
from treadle.config.starter import Chosen, chosen_for, starter
from treadle.errors import TreadleError
from treadle.git.users_files import look_at
from treadle.protocol.model import Protocol
from treadle.runtime.placed import Placed
from treadle.toolchains.fitness import Lack, lacks
from treadle.toolchains.toolchain import completed
from treadle.views.left_off import LeftOff
from treadle.views.story_faults import faults_of
from treadle.views.story_files import first_files


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was detected, what is to be written, what is left as it is, and what to do next."""

    found: list[Found]
    agents: list[str]
    files: dict[str, str]
    kept: list[str]
    shown: list[str] = []
    """Those of all these that show how the work stands; runs write them, and no commit needs them."""
    faults: dict[str, list[str]] = {}
    """What is wrong with those of them that are there already."""
    toolchain: Toolchain
    """What holds once everything is written: of a file that is there, what it says."""
    left_off: list[LeftOff] = []
    """Stories that are in the middle, by the word of such files."""
    lacks: list[Lack] = []
    """What runs cannot do without; of the given protocol, or of the one that runs have by default."""
    protocol: Protocol | None = None
    named: str = ""
    """As it was named, or the path that was given."""

    @property
    def main(self) -> Found | None:
        return self.found[0] if self.found else None

    @property
    def optional(self) -> list[str]:
        """The commands that the protocol uses where there are any, and that nobody has an answer to yet."""
        derived = {"test", "collect", "api_dump"}  # needed, or known for the languages that Treadle reads itself
        wanted = self.protocol.toolchain if self.protocol else ()
        return [name for name in wanted if name not in derived and not self.toolchain.command(name)]

    @property
    def differing(self) -> dict[str, tuple[Value, Value]]:
        """What a file that is there says otherwise than the project's files do: both, by the name of the setting."""
        found = {name.partition(".")[2]: chosen.value for name, chosen in chosen_for(self.main).items()}
        said = {name: getattr(self.toolchain, name) for name in found}
        return {name: (said[name], value) for name, value in found.items() if said[name] != value}


def plan(project: Project, protocol: str | None) -> Plan:
    """What is to be done here."""
    found, shown = detect(project.root, os.environ), dict[str, str]()
    agents = [program.name for program in PROGRAMS if find_agent(program.name)]
    loaded = library.opened(protocol).protocol if protocol else None
    wanted = {project.file.name: _settings(found, agents, loaded, protocol)}
    if protocol and loaded:
        wanted |= own_files(library.folder(protocol))
        wanted |= (shown := first_files(loaded, project.root.name))
    there = [name for name in wanted if _is_there(project.root / name)]
    for name in wanted.keys() - there:
        _refuse_way_out(project.root, project.root / name)
    config = load_settings(project, os.environ).config(loaded.name if loaded else "")
    is_kept = project.file.name in there
    toolchain = completed(config.toolchain, project.root) if is_kept else _with_found(config.toolchain, found)
    return Plan(
        found=found,
        agents=agents,
        files={name: text for name, text in wanted.items() if name not in there},
        kept=there,
        shown=sorted(shown),
        faults={name: lines for name in shown if name in there and (lines := _faults(project.root, name, loaded))},
        toolchain=toolchain,
        left_off=stories_left_off(project, loaded) if loaded else [],
        lacks=_lacks(loaded, config.protocol, toolchain),
        protocol=loaded,
        named=protocol or "",
    )


def carry_out(project: Project, plan: Plan) -> None:
    """Writes the files of a plan, all or none, and the folder for what is this checkout's alone."""
    paths = {project.root / name: text for name, text in plan.files.items()}
    for path in paths:
        _refuse_way_out(project.root, path)
    make_local(project)
    placed = Placed(project.local)
    begun: list[Path] = []
    try:
        for path, text in paths.items():
            _make_folder(path.parent)
            write_new(path, text)
            begun.append(path)
        for name in [name for name in plan.shown if name in plan.files]:
            placed.note(name, plan.files[name].encode())
    except BaseException:
        for path in begun:
            path.unlink(missing_ok=True)
        raise


def _refuse_way_out(root: Path, path: Path) -> None:
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise TreadleError(
            f"{path.parent} is a link that leads out of the project; remove it, then try again", code="file.link"
        )


def _faults(root: Path, name: str, protocol: Protocol | None) -> list[str]:
    data = look_at(root, name)
    return faults_of(name, data, protocol) if protocol and data is not None else []


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreadleError(f"{folder} cannot be made: {error.strerror}", code="file.unwritable") from None


def _settings(found: list[Found], agents: list[str], loaded: Protocol | None, protocol: str | None) -> str:
    chosen = chosen_for(found[0] if found else None)
    if agents:
        chosen["agents.default"] = Chosen(agents[0], f"found on this machine: {', '.join(agents)}")
    if protocol:
        chosen["protocol.default"] = Chosen(protocol, "given to `treadle init`")
    return starter(chosen, loaded)


def _lacks(loaded: Protocol | None, default: str, toolchain: Toolchain) -> list[Lack]:
    """What checks lack; nothing of a default protocol that does not load, which is for others to say."""
    try:
        return lacks(loaded or library.opened(default).protocol, toolchain, has_file=True)
    except TreadleError:
        return []


def _with_found(toolchain: Toolchain, found: list[Found]) -> Toolchain:
    """Settings as they are once what was found is written down."""
    chosen = {name.partition(".")[2]: it.value for name, it in chosen_for(found[0] if found else None).items()}
    return msgspec.structs.replace(toolchain, **chosen)


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()
