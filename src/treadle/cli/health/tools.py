"""The commands of the toolchain: whether their programs are there, and which versions they are.

Only programs that are known to answer `--version` are asked; a script of the project might do anything.
"""

import asyncio
from pathlib import Path
from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program
from treadle.config.project import Project
from treadle.config.settings import Settings
from treadle.enclosures.opening import CONTAINER
from treadle.protocol.checks.declarations import TOOLCHAIN

_VERSION: Final = {"go": "version", "java": "-version"} | dict.fromkeys(
    "pytest ruff black flake8 mypy node npm pnpm yarn bun cargo make mvn gradle uv poetry pdm"
    " golangci-lint vitest jest mocha eslint prettier biome tsc".split(),
    "--version",
)
_MODULES: Final = ("pytest", "ruff", "black", "flake8", "mypy")


async def toolchain_lines(settings: Settings, project: Project | None) -> list[Line]:
    """A line for each command that the settings have; one that says so if there is none to test with."""
    config = settings.config()
    root = project.root if project else Path.cwd()
    named = [(name, config.toolchain.command(name, root=str(root))) for name in TOOLCHAIN]
    if config.workspace.driver == CONTAINER:  # what is on this machine says nothing about the image
        lines = [ok(f"toolchain {name}", f"{words[0]}, in the image") for name, words in named if words]
    else:
        lines = await asyncio.gather(*(_command(name, words, root) for name, words in named if words))
    if not config.toolchain.test:
        return [
            warn("toolchain test", "no command to run the tests with", "`treadle init`, or set `toolchain.test`"),
            *lines,
        ]
    return list(lines)


async def _command(name: str, words: tuple[str, ...], root: Path) -> Line:
    what = f"toolchain {name}"
    path = find_program(words[0], root)
    if path is None:
        return missing(what, f"there is no program '{words[0]}'", _advice(words), required=name == "test")
    question = version_question(words)
    if question is None:
        return ok(what, path)
    said = await ask([path, *question], cwd=root)
    if not said.is_well:
        return missing(what, f"{' '.join(words[:3])}: {said.first_line}", _advice(words), required=name == "test")
    return ok(what, f"{said.first_line} ({path})")


def version_question(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The arguments that make a command's program tell its version; None if it had better not be asked."""
    program = Path(words[0]).name
    if program.startswith("python"):
        module = words[2] if words[1:2] == ("-m",) and len(words) > 2 else ""
        return ("-m", module, "--version") if module in _MODULES else ("--version",)
    return (_VERSION[program],) if program in _VERSION else None


def _advice(words: tuple[str, ...]) -> str:
    if words[1:2] == ("-m",) and len(words) > 2:
        return f"{words[0]} -m pip install {words[2]}"
    if "node_modules" in words[0]:
        return "npm install"
    return f"install {Path(words[0]).name}, or mend `toolchain` in treadle.toml"
