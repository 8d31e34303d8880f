"""The lines of `treadle doctor` about the toolchain: installed programs, versions, and fitness for a protocol's checks.

`treadle run` refuses by the same lines.
"""

import asyncio
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli import library
from treadle.cli.checkup import Line, failed, missing, ok, warn
from treadle.cli.programs import ask_git, ask_program, find_program
from treadle.config.detection import missing_packages, runtime_packages
from treadle.config.model import Config, ToolchainSettings
from treadle.config.project import Project
from treadle.enclosures.selection import CONTAINER, INSTALL_BOX
from treadle.engines.baseline import collect_base, count_generated
from treadle.errors import TreadleError
from treadle.evidence.findings import join_names
from treadle.git.files import temporary_folder
from treadle.protocol.alone import select_part, selectable_names
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.model import Protocol
from treadle.protocol.paths import is_test
from treadle.protocol.reach import Reach
from treadle.toolchains.apart import NO_NAMESPACE, mounting_program
from treadle.toolchains.fitness import (
    can_run_apart,
    commands_of,
    cures,
    find_lacks,
    grade_lack,
    needs_tests,
    where_to_set,
)
from treadle.toolchains.node_apart import find_old_node
from treadle.toolchains.process import command_environment
from treadle.toolchains.toolchain import canary_fault, complete_settings

# The parts of a protocol that can run before the project's tools satisfy all its checks.


def advise_parts_ahead(name: str, protocol: Protocol, settings: ToolchainSettings) -> list[str]:
    """Name the parts of a protocol that the tools can already check; empty if there are none. `name` may be a path."""
    table = library.read_protocol_terms(name)
    found = {word: select_part(protocol, word, table) for word in selectable_names(protocol, table)}
    fit = [word for word, it in found.items() if not find_lacks(it.protocol, settings, has_file=True, within=it.reach)]
    return [f"possible before that: {', '.join(f'`--only {word}`' for word in fit)}"] if fit else []


_VERSION: Final = {"go": "version", "java": "-version"} | dict.fromkeys(
    "pytest ruff black flake8 mypy node npm pnpm yarn bun cargo make mvn gradle uv poetry pdm"
    " golangci-lint vitest jest mocha eslint prettier biome tsc".split(),
    "--version",
)
_OWN: Final = (
    "create a virtual environment for the project (`python3 -m venv .venv`), install its test tools there, and set "
    "`toolchain.test` to `{root}/.venv/bin/python -m pytest`"
)
_OF_NODE: Final = ("node", "npm", "npx", "pnpm", "yarn", "bun", "env")
"""Programs that start the tests of a package.json."""
_IMPORT: Final = r"""(from|import|require\(|import\()[[:space:]]*['"][^'"]+['"]"""
_SCRIPTS: Final = (*(f"*.{ending}" for ending in "js mjs cjs jsx ts mts cts tsx".split()), ":(exclude)*.config.*")
_PACKAGE: Final = re.compile(r"""['"]((?:@[\w.-]+/)?[\w.-]+)[^'"]*['"]""")
_NAMED: Final = ("build", "lint", "format")
_MODULES: Final = ("pytest", "ruff", "black", "flake8", "mypy")


async def toolchain_lines(
    config: Config, project: Project, protocol: Protocol | None, within: Reach | None = None
) -> list[Line]:
    """Check each toolchain command, and the needs of the protocol's checks, which make commands required.

    With `within`, the reach of a run, return lines only for commands that this run requires.
    """
    settings = complete_settings(config.toolchain, project.root)
    required = commands_of(protocol, settings, within, advisory=True) if protocol else frozenset({"test"})
    if protocol and needs_tests(protocol, within):  # its agents write code, and are handed what the settings name
        required |= {name for name in _NAMED if config.toolchain.command(name)}
    names = [name for name in TOOLCHAIN if name in required or within is None]
    named = {name: words for name in names if (words := settings.command(name, root=str(project.root)))}

    lines: list[Line] = []
    has_file = project.file.exists()
    if protocol and (lacks := find_lacks(protocol, settings, has_file=has_file, within=within)):
        fixes = [*cures(lacks), *(advise_parts_ahead(config.protocol, protocol, settings) if within is None else ())]
        what = "; ".join(lack.what for lack in lacks)
        lines.append(missing(f"checks of {protocol.name}", what, "; ".join(fixes), code="toolchain.unfit"))
    elif protocol and (lack := grade_lack(protocol, settings, config.verification.minimum, within)):
        lines.append(missing("grade of criteria", *lack, code="toolchain.grade"))
    elif not settings.test:
        fix = f"set `toolchain.test` {where_to_set(has_file=has_file)}"
        lines.append(warn("toolchain test", "no command to run the tests with", fix, code="toolchain.missing"))

    if protocol and can_run_apart(settings) and (within is None or config.verification.minimum == "proved"):
        lines.append(await _apart_line(config, settings))

    if config.workspace.driver == CONTAINER:  # the programs of this machine say nothing about the image
        lines += [ok(f"toolchain {name}", f"{words[0]}, in the image") for name, words in named.items()]
    else:
        with temporary_folder("scratch") as scratch:
            tried = (
                _command_line(name, words, project.root, scratch, required=name in required)
                for name, words in named.items()
            )
            commands = await asyncio.gather(*tried)
        lines += commands
        if within is None and "test" in named and not any(line.state == "missing" for line in commands):
            lines += await _package_lines(settings, project.root, required="test" in required)
            lines.append(await _canary_line(settings, project.root, required="test" in required))
            lines += await _collection_lines(msgspec.structs.replace(config, toolchain=settings), project)

    if within is None and config.environment.generated:
        try:
            count = await count_generated(project, config)
            lines.append(ok("generated files", f"{count} for each lane"))
        except TreadleError as error:
            if error.code.startswith("generated."):  # else no commit yet, or no repository: other lines report that
                lines.append(failed("generated files", error))
    return lines


async def _command_line(name: str, words: tuple[str, ...], root: Path, scratch: Path, *, required: bool) -> Line:
    """Check that the program of a command is there, and starts."""
    what, shown = f"toolchain {name}", " ".join(words[:3])
    path = find_program(words[0], root)
    if path is None:
        fix = _new_environment(words, root) if _is_python(words) else _installing(words, name)
        return missing(what, f"the program '{words[0]}' was not found", fix, code="env.missing", required=required)
    if _is_python(words):  # a broken interpreter may still print its version, and no module of it is at fault
        answer = await ask_program([path, "-c", "pass"], cwd=root, env=command_environment(scratch))
        if not answer.is_well and not answer.is_late:
            why = answer.first_line or f"it ended with {answer.code}"
            detail = f"the interpreter {words[0]} does not work: `-c pass` fails: {why}"
            return missing(what, detail, _new_environment(words, root), code="env.interpreter", required=required)
    question = version_question(words)
    if question is None:
        return ok(what, path)
    answer = await ask_program([path, *question], cwd=root, env=command_environment(scratch))
    if answer.is_late:
        return warn(what, f"{shown}: {answer.first_line}", "see why it takes so long", code="toolchain.slow")
    if not answer.is_well:
        return missing(
            what, f"{shown}: {answer.first_line}", _installing(words, name), code="env.broken", required=required
        )
    detail = f"{answer.first_line} ({path})"
    if name == "test" and is_treadles_own(path, root):
        return warn(what, f"{detail}, which is Treadle's own environment", _OWN, code="toolchain.own")
    return ok(what, detail)


async def _apart_line(config: Config, settings: ToolchainSettings) -> Line:
    """Check whether tests can run apart from the code here; required if criteria must be proved."""
    what = "judge and subject"
    if not config.toolchain.apart:
        if config.verification.minimum != "proved":
            return ok(what, "tests and code share a process (`toolchain.apart` is off)")
        why, fix = "tests and code share a process", "set `toolchain.apart = true`"
    elif config.workspace.driver == CONTAINER:
        why, fix = "in a container, tests and code share a process", "set `workspace.driver` to `worktree`"
    elif settings.kind != "pytest" and (why := await find_old_node(settings.test[0])):
        fix = "install a newer node"
    elif await mounting_program():
        return ok(what, "tests of criteria run apart from the code")
    else:
        why, fix = NO_NAMESPACE, INSTALL_BOX
    if config.verification.minimum == "proved":
        fix = f'{fix}, or set `verification.minimum = "observed"`'
        return missing(what, why, fix, code="toolchain.grade")
    return warn(what, f"criteria can be `observed` at most: {why}", fix, code="box.missing")


async def _package_lines(settings: ToolchainSettings, root: Path, *, required: bool) -> list[Line]:
    """Check whether the packages of package.json are installed; those that code or tests import are required.

    Development packages that only other files import (a linter's settings, tests of types) are optional.
    """
    if Path(settings.test[0]).name not in _OF_NODE and "node_modules" not in " ".join(settings.test):
        return []
    absent, command = missing_packages(root)
    if not absent:
        return []
    answer = await ask_git(root, "grep", "-zoE", _IMPORT, "--", *_SCRIPTS)
    found = [line.partition("\0")[::2] for line in answer.text.splitlines()]
    imports = [(path, match[1]) for path, words in found if (match := _PACKAGE.search(words))]
    used = {name for path, name in imports if is_test(path) or name in runtime_packages(root)}
    what = "toolchain packages"
    if needed := [name for name in absent if name in used]:
        detail = f"code imports packages of package.json that are not installed: {join_names(needed)}"
        return [missing(what, detail, command, code="env.missing", required=required)]
    return [
        warn(what, f"packages of package.json are not installed: {join_names(absent)}", command, code="env.missing")
    ]


async def _canary_line(settings: ToolchainSettings, root: Path, *, required: bool) -> Line:
    """Check that tests of our own, run by the project's test tool, end as they must."""
    what = "toolchain canaries"
    why = await canary_fault(settings, root)
    if why is None:
        return ok(what, f"none for {settings.kind or 'this test tool'}; Treadle tried nothing")
    if not why:
        return ok(what, "the test tool reports passing and failing canaries correctly")
    fix = f"see what `{' '.join(settings.command('test', root=str(root))[:3])}` prints, and repair or replace it"
    return missing(what, why, fix, code="env.canaries", required=required)


async def _collection_lines(config: Config, project: Project) -> list[Line]:
    """Check that the project's own command, with its own options, lists the tests of the last commit."""
    what = "toolchain tests"
    if config.toolchain.kind not in ("pytest", "gotest"):  # others list tests only by running them
        return []
    try:
        count, why = await collect_base(project, config)
    except TreadleError as error:
        # Otherwise there is no commit yet, or no repository: other lines report that.
        return [failed(what, error)] if error.code == "env.generated" else []
    if why:
        fix = "install what the test tool needs, or correct its options"
        return [missing(what, f"the tests of the last commit cannot be listed: {why}", fix, code="env.tests")]
    return [ok(what, f"{count} found on the last commit")] if count else []


def is_treadles_own(path: str, root: Path) -> bool:
    """Whether a program is of the environment that Treadle is installed in, and that is not the project's."""
    is_apart = sys.prefix != sys.base_prefix and not Path(sys.prefix).is_relative_to(root)
    return is_apart and Path(path).parent.resolve() == Path(sys.executable).parent.resolve()


def version_question(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the arguments that make a program print its version; None if it is not safe to ask."""
    program = Path(words[0]).name
    if _is_python(words):
        module = words[2] if words[1:2] == ("-m",) and len(words) > 2 else ""
        return ("-m", module, "--version") if module in _MODULES else ("--version",)
    return (_VERSION[program],) if program in _VERSION else None


def _is_python(words: tuple[str, ...]) -> bool:
    """Whether a command starts an interpreter; a link or a wrapper of any name is known by the `-m` after it."""
    return Path(words[0]).name.startswith("python") or words[1:2] == ("-m",)


def _new_environment(words: tuple[str, ...], root: Path) -> str:
    """Advise how to get a working interpreter: a new environment, or another Python."""
    folder = (root / words[0]).parent.parent
    if "/" not in words[0] or not ((folder / "pyvenv.cfg").is_file() or not folder.exists()):
        return f"install {Path(words[0]).name} again, or correct `toolchain` in treadle.toml"
    made = shlex.quote(str(folder))
    return f"make the environment again (`python3 -m venv --clear {made}`), and install the project's packages into it"


def _installing(words: tuple[str, ...], name: str) -> str:
    """Return the command that installs the program; a linter or formatter may be dropped from the settings instead."""
    instead = f", or take `toolchain.{name}` out of treadle.toml" if name in ("lint", "format") else ""
    if words[1:2] == ("-m",) and len(words) > 2:
        if words[2].partition(".")[0] in sys.stdlib_module_names:  # it is part of Python, and no package
            return f"see what `{' '.join(words[:3])}` prints, or correct `toolchain` in treadle.toml{instead}"
        return f"{words[0]} -m pip install {words[2]}{instead}"
    if "node_modules" in words[0]:
        return f"npm install{instead}"
    return f"install {Path(words[0]).name}, or correct `toolchain` in treadle.toml{instead}"
