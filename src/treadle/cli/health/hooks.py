"""The hook: whether agents' programs call it, and whether they would."""

import shutil
import subprocess
from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.hooks.installing import is_found, there
from treadle.hooks.programs import Program, claude, codex, users_claude
from treadle.hooks.trust import trusted

_INSTALL: Final = "`treadle hook install --agent {}`"
_TRUST: Final = "start `codex`, then `/hooks`, and trust what calls `treadle hook`"


async def hook_lines(project: Project | None, *, told: bool = False) -> list[Line]:
    """A line for each program whose settings call the hook; with `told`, also for those that do not."""
    claudes = [users_claude(), *([claude(project.root)] if project else [])]
    lines = [await _line(program, project) for program in (*claudes, codex())]
    found = [line for line in lines if line is not None]
    if told and not any(line.what == "hook claude" for line in found):
        found.insert(0, missing("hook claude", "not installed", _INSTALL.format("claude"), code="hook.not_installed"))
    if told and not any(line.what == "hook codex" for line in found):
        found.append(missing("hook codex", "not installed", _INSTALL.format("codex"), code="hook.not_installed"))
    return found


async def _line(program: Program, project: Project | None) -> Line | None:
    """How a program's hook is; None if it has none."""
    what, again = f"hook {program.name}", _INSTALL.format(program.name)
    try:
        events = there(program)
    except TreadleError as error:
        return warn(what, str(error), "mend the file", code=error.code)
    if not events:
        return None
    lacking = [event for event in program.events if event not in events]
    if lacking:
        return warn(what, f"{program.file} calls it, but not for {', '.join(lacking)}", again, code="hook.incomplete")
    if lost := next((command for command in events.values() if not is_found(command)), ""):
        return warn(what, f"{program.file} calls `{lost}`, and there is no such program", again, code="hook.incomplete")
    if program.name == "codex":
        return await _codex(what, program, project)
    if project and not program.is_users and not _is_committed(project, program):
        return warn(
            what, f"{program.file}: in force in your checkout, not in lanes", "commit the file", code="hook.uncommitted"
        )
    return ok(what, f"{program.file}: {', '.join(events)}")


async def _codex(what: str, program: Program, project: Project | None) -> Line:
    path = shutil.which("codex")
    folder = project.root if project else program.file.parent
    found = await trusted(path, folder) if path else None
    if found is None:
        return warn(
            what, f"{program.file} calls it; whether Codex does so, it does not say", _TRUST, code="hook.untrusted"
        )
    if found.waiting or not found.events:
        return warn(
            what,
            f"{program.file} calls it, but nobody has trusted it yet: Codex skips it silently",
            _TRUST,
            code="hook.untrusted",
        )
    return ok(what, f"{program.file}: {', '.join(found.events)}, trusted")


def _is_committed(project: Project, program: Program) -> bool:
    """Whether the file is in the latest commit as it lies there."""
    path = program.file.relative_to(project.root).as_posix()
    git = shutil.which("git")
    if git is None:
        return False
    found = subprocess.run([git, "show", f"HEAD:./{path}"], cwd=project.root, capture_output=True, check=False)
    return found.returncode == 0 and found.stdout == program.file.read_bytes()
