"""`treadle hook`: install the hook in the settings of agents' programs, remove it, and show whether it is in force.

Calls of the hook, at the end of every turn of an agent, do not come through here: see `hook_call`.
"""

import asyncio
import difflib
import shutil
import subprocess
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from treadle.cli.checkup import Health, Line, format_checkup, missing, ok, warn
from treadle.cli.options import JsonOption
from treadle.cli.output import print_json
from treadle.config.project import Project, find_project, open_project
from treadle.errors import TreadleError
from treadle.hooks.installation import (
    HookProgram,
    SettingsChange,
    ask_codex,
    claude,
    codex,
    installed_commands,
    is_found,
    own_command,
    to_install,
    to_uninstall,
    users_claude,
    write_change,
)
from treadle.protocol.findings import suggest

app = typer.Typer(invoke_without_command=True, pretty_exceptions_enable=False)
_AGENT = Annotated[
    list[str] | None,
    typer.Option(
        "--agent", help="Change only this program: claude or codex; repeatable. By default all that are on your PATH."
    ),
]
_HOOKED_AGENT = Annotated[
    list[str] | None,
    typer.Option("--agent", help="Change only this program: claude or codex; repeatable. By default both."),
]
_USER = Annotated[
    bool,
    typer.Option("--user", help="Change your user settings of Claude Code, instead of this project's settings."),
]
_DRY = Annotated[bool, typer.Option("--dry-run", help="Print the changes, and make none.")]


@app.callback()
def hook(
    context: typer.Context,
    legacy: Annotated[
        bool,
        typer.Option(
            "--legacy",
            help="Also read NEEDS CLARIFICATION, CONSTITUTION VIOLATION and SCOPE WARNING in a HANDOFF.md "
            "without front matter.",
        ),
    ] = False,
) -> None:
    """Check the answer of an agent that wants to stop.

    The agent's program calls this command with JSON on standard input. An agent that works on no step may always stop.

    Exit code 0: the agent may stop; 2: it must continue, and standard error says why.
    """
    if context.invoked_subcommand is None:
        from treadle.cli.hook_call import main

        raise typer.Exit(main(legacy=legacy))


@app.command()
def install(
    agent: _AGENT = None,
    user: _USER = False,
    legacy: Annotated[bool, typer.Option("--legacy", help="Install the hook as `treadle hook --legacy`.")] = False,
    dry_run: _DRY = False,
) -> None:
    """Register the hook in the settings of Claude Code and Codex. Change nothing else there."""
    for program in choose_programs(agent, user=user):
        change = to_install(program, own_command(legacy=legacy))
        advice = _TRUST_CODEX if program.name == "codex" else "" if program.is_users else _COMMIT
        done = f"the hook is in {program.file}"
        typer.echo(_apply(change, done + (f"\n  {advice}" if advice else ""), f"{done} already", dry_run=dry_run))


@app.command()
def uninstall(agent: _HOOKED_AGENT = None, user: _USER = False, dry_run: _DRY = False) -> None:
    """Remove the hook from the settings of Claude Code and Codex. Change nothing else there."""
    for program in choose_programs(agent, user=user, every=True):
        change = to_uninstall(program)
        gone = "" if change.after else "; the file held nothing else, so Treadle has removed it"
        done = f"the hook is no longer in {program.file}{gone}"
        typer.echo(_apply(change, done, f"the hook is not in {program.file}", dry_run=dry_run))


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show for each program whether it has the hook, and what is missing."""
    lines = asyncio.run(hook_lines(find_project(), every=True))
    if as_json:
        print_json(Health(lines=tuple(lines)))
    else:
        typer.echo("\n".join(format_checkup(lines)))


# Choose the programs to change, install or remove the hook, and describe the change.

_KNOWN = ("claude", "codex")
_TRUST_CODEX = (
    "Codex runs a hook only after you have trusted it: start `codex`, then `/hooks`; "
    "`treadle hook status` shows whether you have"
)
_COMMIT = "commit it, so that the lanes of runs have it, too"
_INSTALL: Final = "`treadle hook install --agent {}`"


def choose_programs(names: Sequence[str] | None, *, user: bool, every: bool = False) -> list[HookProgram]:
    """Return the programs to change: the named ones, else the installed ones, or all with `every`."""
    for name in names or ():
        if name not in _KNOWN:
            near = suggest(name, _KNOWN)
            raise TreadleError(
                f"Treadle has no hook for '{name[:80]}'; {f'{near} ' if near else ''}choose claude or codex",
                code="agent.unknown",
            )
    meant = [name for name in _KNOWN if name in (names or _KNOWN) and (names or every or shutil.which(name))]
    if not meant:
        raise TreadleError(
            "neither claude nor codex is on your PATH; `treadle hook install --agent claude` installs it anyway",
            code="agent.missing",
        )
    return [codex() if name == "codex" else users_claude() if user else claude(open_project().root) for name in meant]


def _apply(change: SettingsChange, done: str, unchanged: str, *, dry_run: bool) -> str:
    """Write a change of settings, or with `dry_run` describe it; return a sentence about it."""
    title, file = change.program.title, str(change.program.file)
    if change.is_none:
        return f"{title}: {unchanged}"
    if dry_run:
        lines = difflib.unified_diff(change.before.splitlines(), change.after.splitlines(), file, file, lineterm="")
        return "\n".join([f"{title}: would change {file}", *lines])
    write_change(change)
    return f"{title}: {done}"


# Doctor's lines about the hook: whether the programs' settings name it, and whether the programs would call it.

_FIX_TRUST: Final = "start `codex`, then `/hooks`, and trust the entries that call `treadle hook`"


async def hook_lines(project: Project | None, *, every: bool = False) -> list[Line]:
    """Return a line for each program that calls the hook; with `every`, also for programs that do not."""
    claudes = [users_claude(), *([claude(project.root)] if project else [])]
    lines: list[Line] = []
    for programs in (claudes, [codex()]):
        found = [line for program in programs if (line := await _program_line(program, project))]
        if every and not found:
            name = programs[0].name
            fix = _INSTALL.format(name)
            found = [missing(f"hook {name}", "not installed", fix, code="hook.not_installed", required=False)]
        lines += found
    return lines


async def _program_line(program: HookProgram, project: Project | None) -> Line | None:
    """Check the hook in the settings of a program; None if it has none."""
    what, again = f"hook {program.name}", _INSTALL.format(program.name)
    try:
        events = installed_commands(program)
    except TreadleError as error:
        return warn(what, str(error), "repair the file", code=error.code)
    if not events:
        return None
    if lacking := [event for event in program.events if event not in events]:
        return warn(what, f"{program.file} calls it, but not for {', '.join(lacking)}", again, code="hook.incomplete")
    if lost := next((command for command in events.values() if not is_found(command)), ""):
        return warn(what, f"{program.file} calls `{lost}`, and there is no such program", again, code="hook.incomplete")

    if program.name == "codex":
        path = shutil.which("codex")
        folder = project.root if project else program.file.parent
        found = await ask_codex(path, folder) if path else None
        if found is None:
            detail = f"{program.file} calls it; Codex does not say whether it trusts the hook"
            return warn(what, detail, _FIX_TRUST, code="hook.untrusted")
        if found.waiting or not found.events:
            detail = f"{program.file} calls it, but you have not trusted it yet: Codex skips it silently"
            return warn(what, detail, _FIX_TRUST, code="hook.untrusted")
        return ok(what, f"{program.file}: {', '.join(found.events)}, trusted")

    if project and not program.is_users and not _is_committed(project, program):
        detail = f"{program.file}: in force in your checkout, not in lanes"
        return warn(what, detail, "commit the file", code="hook.uncommitted")
    return ok(what, f"{program.file}: {', '.join(events)}")


def _is_committed(project: Project, program: HookProgram) -> bool:
    """Whether the latest commit has the file with its present content."""
    git = shutil.which("git")
    if git is None:
        return False
    path = program.file.relative_to(project.root).as_posix()
    found = subprocess.run([git, "show", f"HEAD:./{path}"], cwd=project.root, capture_output=True, check=False)
    return found.returncode == 0 and found.stdout == program.file.read_bytes()
