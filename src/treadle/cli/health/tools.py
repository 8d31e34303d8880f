"""The commands of the toolchain: whether their programs are there, and which versions they are.

Only programs that are known to answer `--version` are asked; a script of the project might do anything.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli.ahead import can_be_done
from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program
from treadle.config.model import Config, Toolchain
from treadle.config.project import Project
from treadle.enclosures.opening import CONTAINER
from treadle.engines.baseline import collect_base
from treadle.errors import TreadleError
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.model import Protocol
from treadle.protocol.reach import Reach
from treadle.toolchains.canary_trial import canary_fault
from treadle.toolchains.environment import environment
from treadle.toolchains.fitness import commands_of, cures, lacks, needs_tests, where_to_set
from treadle.toolchains.process import scratch_folder
from treadle.toolchains.toolchain import completed

_VERSION: Final = {"go": "version", "java": "-version"} | dict.fromkeys(
    "pytest ruff black flake8 mypy node npm pnpm yarn bun cargo make mvn gradle uv poetry pdm"
    " golangci-lint vitest jest mocha eslint prettier biome tsc".split(),
    "--version",
)
_OWN: Final = (
    "give the project an environment of its own (`python3 -m venv .venv`, with its test tools in it), and set "
    "`toolchain.test` to `{root}/.venv/bin/python -m pytest`"
)
_NAMED: Final = ("build", "lint", "format")
_MODULES: Final = ("pytest", "ruff", "black", "flake8", "mypy")


async def toolchain_lines(
    config: Config, project: Project, protocol: Protocol | None, within: Reach | None = None
) -> list[Line]:
    """A line for each command there is, and what is lacking for the checks of a protocol; it makes them required.

    `within`: what a run can come to; then there are lines for what it requires, and for nothing else.
    """
    settings = completed(config.toolchain, project.root)
    required = commands_of(protocol, settings, within, advisory=True) if protocol else frozenset({"test"})
    if protocol and needs_tests(protocol, within):  # its agents write code, and are handed what the settings name
        required |= {name for name in _NAMED if config.toolchain.command(name)}
    names = [name for name in TOOLCHAIN if name in required or within is None]
    named = {name: settings.command(name, root=str(project.root)) for name in names}
    if config.workspace.driver == CONTAINER:  # what is on this machine says nothing about the image
        lines = [ok(f"toolchain {name}", f"{words[0]}, in the image") for name, words in named.items() if words]
    else:
        with scratch_folder() as scratch:
            tried = (
                _command(name, words, project.root, scratch, required=name in required)
                for name, words in named.items()
                if words
            )
            lines = await asyncio.gather(*tried)
        if within is None and named.get("test") and not any(line.state == "missing" for line in lines):
            lines += await _canaries(settings, project.root, required="test" in required)
            lines += await _collection(msgspec.structs.replace(config, toolchain=settings), project)
    return [*_lacking(config.protocol, settings, project, protocol, within), *lines]


def _lacking(
    name: str, settings: Toolchain, project: Project, protocol: Protocol | None, within: Reach | None
) -> list[Line]:
    if protocol and (found := lacks(protocol, settings, has_file=project.file.exists(), within=within)):
        fixes = [*cures(found), *(can_be_done(name, protocol, settings) if within is None else ())]
        what, fix = "; ".join(lack.what for lack in found), "; ".join(fixes)
        return [missing(f"checks of {protocol.name}", what, fix, required=True, code="toolchain.unfit")]
    if settings.test:
        return []
    fix = f"set `toolchain.test` {where_to_set(has_file=project.file.exists())}"
    return [warn("toolchain test", "no command to run the tests with", fix, code="toolchain.missing")]


async def _command(name: str, words: tuple[str, ...], root: Path, scratch: Path, *, required: bool) -> Line:
    what = f"toolchain {name}"
    path = find_program(words[0], root)
    if path is None:
        return missing(
            what, f"there is no program '{words[0]}'", _advice(words, name), required=required, code="env.missing"
        )
    question = version_question(words)
    if question is None:
        return ok(what, path)
    said = await ask([path, *question], cwd=root, env=environment(scratch))
    if said.is_late:
        return warn(
            what, f"{' '.join(words[:3])}: {said.first_line}", "see why it takes so long", code="toolchain.slow"
        )
    if not said.is_well:
        detail = f"{' '.join(words[:3])}: {said.first_line}"
        return missing(what, detail, _advice(words, name), required=required, code="env.broken")
    if name == "test" and is_treadles(path, root):
        return warn(what, f"{said.first_line} ({path}), which is Treadle's own environment", _OWN, code="toolchain.own")
    return ok(what, f"{said.first_line} ({path})")


async def _canaries(settings: Toolchain, root: Path, *, required: bool) -> list[Line]:
    """Whether tests of our own, run by the project's test tool, end as they must."""
    what = "toolchain canaries"
    why = await canary_fault(settings, root)
    if why is None:
        return []
    if not why:
        return [ok(what, "a test that passes and canaries that must fail are told apart")]
    fix = f"see what `{' '.join(settings.command('test', root=str(root))[:3])}` prints, and mend or replace it"
    return [missing(what, why, fix, required=required, code="env.canaries")]


async def _collection(config: Config, project: Project) -> list[Line]:
    """Whether the project's own command, with its own options, lists the tests of the last commit."""
    what = "toolchain tests"
    if config.toolchain.kind not in ("pytest", "gotest"):  # others list tests only by running them
        return []
    try:
        count, why = await collect_base(project, config)
    except TreadleError:  # no commit yet, or no repository: other lines say so
        return []
    if not why:
        return [ok(what, f"{count} found on the last commit")] if count else []
    fix = "install what the test tool needs, or mend its options"
    return [
        missing(what, f"the tests of the last commit cannot be listed: {why}", fix, required=True, code="env.tests")
    ]


def is_treadles(path: str, root: Path) -> bool:
    """Whether a program is of the environment that Treadle is installed in, and that is not the project's."""
    is_apart = sys.prefix != sys.base_prefix and not Path(sys.prefix).is_relative_to(root)
    return is_apart and Path(path).parent.resolve() == Path(sys.executable).parent.resolve()


def version_question(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The arguments that make a command's program tell its version; None if it had better not be asked."""
    program = Path(words[0]).name
    if program.startswith("python"):
        module = words[2] if words[1:2] == ("-m",) and len(words) > 2 else ""
        return ("-m", module, "--version") if module in _MODULES else ("--version",)
    return (_VERSION[program],) if program in _VERSION else None


def _advice(words: tuple[str, ...], name: str = "") -> str:
    """What helps: to install the program; the run can do without a linter and a formatter."""
    instead = f", or take `toolchain.{name}` out of treadle.toml" if name in ("lint", "format") else ""
    return f"{_installing(words)}{instead}"


def _installing(words: tuple[str, ...]) -> str:
    if words[1:2] == ("-m",) and len(words) > 2:
        return f"{words[0]} -m pip install {words[2]}"
    if "node_modules" in words[0]:
        return "npm install"
    return f"install {Path(words[0]).name}, or mend `toolchain` in treadle.toml"
