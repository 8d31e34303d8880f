"""Which programs the hook is put into, and how that is told."""

import difflib
import shutil
from collections.abc import Sequence

from treadle.config.project import open_project
from treadle.errors import TreadleError
from treadle.hooks.installing import Change, carry_out, own_command, to_install, to_uninstall
from treadle.hooks.programs import Program, claude, codex, users_claude
from treadle.protocol.findings import suggest

_KNOWN = ("claude", "codex")
_TRUST = (
    "Codex runs a hook only after you have trusted it: start `codex`, then `/hooks`; "
    "`treadle hook status` says whether it does"
)
_COMMIT = "commit it, so that the lanes of runs have it, too"


def chosen(names: Sequence[str] | None, *, user: bool, every: bool = False) -> list[Program]:
    """The programs that are meant: those that are named, or those that are installed, or every one."""
    for name in names or ():
        if name not in _KNOWN:
            near = suggest(name, _KNOWN)
            raise TreadleError(
                f"no hook can be put into '{name[:80]}'; {f'{near} ' if near else ''}there are claude, codex",
                code="agent.unknown",
            )
    meant = [name for name in _KNOWN if name in (names or _KNOWN) and (names or every or shutil.which(name))]
    if not meant:
        raise TreadleError(
            "neither claude nor codex is on your PATH; `treadle hook install --agent claude` does it anyway",
            code="agent.missing",
        )
    return [_program(name, user=user) for name in meant]


def _program(name: str, *, user: bool) -> Program:
    if name == "codex":
        return codex()
    return users_claude() if user else claude(open_project().root)


def install_for(program: Program, *, legacy: bool, dry_run: bool) -> str:
    """Put the hook into a program's settings; what is said about it."""
    change = to_install(program, own_command(legacy=legacy))
    if change.is_none:
        return f"{program.title}: the hook is in {program.file} already"
    if dry_run:
        return _shown(change)
    carry_out(change)
    advice = _TRUST if program.name == "codex" else "" if program.is_users else _COMMIT
    return f"{program.title}: the hook is in {program.file}" + (f"\n  {advice}" if advice else "")


def uninstall_for(program: Program, *, dry_run: bool) -> str:
    """Take the hook out of a program's settings; what is said about it."""
    change = to_uninstall(program)
    if change.is_none:
        return f"{program.title}: the hook is not in {program.file}"
    if dry_run:
        return _shown(change)
    carry_out(change)
    gone = "" if change.after else ", which had nothing else and is removed"
    return f"{program.title}: the hook is no longer in {program.file}{gone}"


def _shown(change: Change) -> str:
    file = str(change.program.file)
    lines = difflib.unified_diff(change.before.splitlines(), change.after.splitlines(), file, file, lineterm="")
    return "\n".join([f"{change.program.title}: would change {file}", *lines])
