"""The project's own commands: `build`, `format`, `lint`, `post_check`.

A command that fails on the run's base commit already is not charged to the work, except for files that the run has
changed and that the command did not name there.
"""

import re
import shlex
from collections.abc import Container
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.evidence.checks.contract import of_command
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, note, problem
from treadle.evidence.subject import Subject
from treadle.toolchains.results import CommandResult

_SHELL: Final = re.compile(r"[*?\[\]{}~!#\n]|(?:^|&&)\s*\w+=")
"""Shell syntax other than command separators: patterns, comments, variables."""
_LEADING: Final = 4
"""Words at the start of a line among which a tool names a file: `a.go:1:2: …`, `--> a.py:1`, `Would reformat: a.py`."""
_SIGNS: Final = "\"'`()[]"
_PLACE: Final = re.compile(r":\d.*|::.*|\(\d[\d,]*\)?.*")
"""The suffix of a file name in a tool's output: a line, a test, or `(line,column)`."""


async def build(s: Subject) -> CheckOutcome:
    """The build command succeeds."""
    return await _command(s, "build", code="build.failing")


async def format_(s: Subject) -> CheckOutcome:
    """The formatter finds nothing."""
    return await _command(s, "format", code="format.failing")


async def lint(s: Subject) -> CheckOutcome:
    """The linter finds nothing."""
    return await _command(s, "lint", code="lint.failing")


async def _command(s: Subject, name: str, *, code: str) -> CheckOutcome:
    built = await s.measure.command(name, await measured_tree(s))
    if built is None:
        return conclude(
            notes=[note(f"the project has no {name} command (`toolchain.{name}`)", code="check.no_command")]
        )
    done = of_command(built, name, code=code)
    if done.ok:
        return done
    before = await s.measure.command(name, await _start_tree(s))
    return await _charged(s, done, built, before, needs_names=name == "build")


async def post_check(s: Subject) -> CheckOutcome:
    """The project's own line succeeds: plain commands by themselves, anything else in a shell."""
    tree = await measured_tree(s)
    last = conclude()
    notes: list[CheckProblem] = []
    for command in (commands := commands_of(s.arg)):
        line = s.arg if len(commands) == 1 else ""
        built = await s.measure.run(command, tree)
        last = of_command(built, "post_check", line, code="post_check.failing")
        if not last.ok:
            before = await s.measure.run(command, await _start_tree(s))
            last = await _charged(s, last, built, before, needs_names=True)
        if not last.ok:
            return last
        notes += last.notes
    return msgspec.structs.replace(last, notes=tuple(notes))


async def _start_tree(s: Subject) -> str:
    return await s.git.tree(await s.start())


async def _charged(
    s: Subject, done: CheckOutcome, now: CommandResult, before: CommandResult | None, *, needs_names: bool
) -> CheckOutcome:
    """Return the outcome of a failed command, without the failures that the run's base commit has too.

    A build, or a line that a project wrote for one step, may fail on the base because the work is not there yet: with
    `needs_names`, only a command that names the files at fault is compared.
    """
    if before is None or before.is_well or (now.ended, before.ended) != ("done", "done"):
        return done
    start = await s.start()
    then, files = await s.git.entries(start), await s.entries()
    named, known = named_files(now.output, files), named_files(before.output, then)
    fresh = [path for path in named if path not in known and then.get(path) != files[path]]
    if fresh:
        (whole,) = done.problems
        new = [problem("was not named on the base commit", path, code=whole.code) for path in fresh]
        return msgspec.structs.replace(done, problems=(whole, *new))
    if not named and (needs_names or known or now.exit != before.exit):
        return done  # another failure than that of the base, or one that cannot be compared
    where = f", with {join_names(sorted(named))}" if named else ""
    said = f"`{shlex.join(now.command)}` fails on the base commit, too{where}; it does not count against this work"
    return conclude(notes=[note(said, code="baseline.lint")], ran=done.ran)


def named_files(output: str, files: Container[str]) -> list[str]:
    """The files of a tree that a tool names at the start of lines, as `a.py`, `./a.py:3` or by an absolute path."""
    named: dict[str, None] = {}
    for line in output.splitlines():
        words = [_PLACE.sub("", word) for word in line.split(maxsplit=_LEADING)[:_LEADING]]
        plain = [word.lstrip(_SIGNS).rstrip(f"{_SIGNS}:;,.…") for word in words]
        paths = (path for word in (line.strip(), *words, *plain) for path in _paths(word))
        named |= dict.fromkeys([path for path in paths if path in files][:1])
    return list(named)


def _paths(word: str) -> list[str]:
    """A word as a path below the checkout; of an absolute path, each end, as checkouts lie in various places."""
    path = PurePosixPath(word)
    if not path.is_absolute():
        return [str(path)]
    parts = path.parts[1:]
    return ["/".join(parts[at:]) for at in range(len(parts))]


def commands_of(line: str) -> list[list[str]]:
    """Return the commands to run for a line, in order; the first failure ends them."""
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
