"""The project's own commands: `build`, `format`, `lint`, `post_check`."""

import re
import shlex
from typing import Final

from treadle.evidence.checks.contract import of_command
from treadle.evidence.findings import Found, found, note
from treadle.evidence.frozen import measured_tree
from treadle.evidence.subject import Subject

_SHELL: Final = re.compile(r"[*?\[\]{}~!#\n]|(?:^|&&)\s*\w+=")
"""What only a shell understands, beside what divides commands: patterns, comments, variables."""


async def build(s: Subject) -> Found:
    """The build command succeeds."""
    return await _command(s, "build", code="build.failing")


async def format_(s: Subject) -> Found:
    """The formatter finds nothing."""
    return await _command(s, "format", code="format.failing")


async def lint(s: Subject) -> Found:
    """The linter finds nothing."""
    return await _command(s, "lint", code="lint.failing")


async def _command(s: Subject, name: str, *, code: str) -> Found:
    built = await s.measure.command(name, await measured_tree(s))
    if built is None:
        return found(notes=[note(f"the project has no {name} command (`toolchain.{name}`)", code="check.no_command")])
    return of_command(built, name, code=code)


async def post_check(s: Subject) -> Found:
    """The project's own line succeeds: plain commands by themselves, anything else in a shell."""
    tree = await measured_tree(s)
    last = found()
    for command in (commands := commands_of(s.arg)):
        line = s.arg if len(commands) == 1 else ""
        last = of_command(await s.measure.run(command, tree), "post_check", line, code="post_check.failing")
        if not last.ok:
            return last
    return last


def commands_of(line: str) -> list[list[str]]:
    """What is run for a line, up to the first that fails."""
    return ([] if _SHELL.search(line) else words_of(line)) or [["sh", "-c", line]]


def words_of(text: str) -> list[list[str]]:
    """The commands that a text joins by `&&`; none if it needs a shell for anything else."""
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&`$")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return []
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            commands.append([])
        elif word and all(char in "();<>|&`$" for char in word):
            return []
        else:
            commands[-1].append(word)
    return commands if all(commands) else []
