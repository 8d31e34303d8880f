"""Run tests of `node --test` with judge and subject in two processes.

Each test file has a judge, a process of node with the tests and `seam_js/judge.mjs`, and a subject of its own
(`apart.py`, `seam_js/subject.mjs`). `node --test` also runs each file in a process of its own, but hands no socket down
to it, so Treadle starts these processes itself.
"""

import asyncio
import json
import re
import secrets
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.git.files import temporary_folder
from treadle.toolchains.apart import (
    NO_NAMESPACE,
    RunningSubject,
    SubjectSettings,
    mounting_program,
    own_files,
    running_subject,
    subject_environment,
)
from treadle.toolchains.junit import Junit, JunitCase, below_checkout, judge_report, read_reports
from treadle.toolchains.node import REPORTER, is_node_test, with_files
from treadle.toolchains.process import command_environment, read_text, run
from treadle.toolchains.results import ApartRun, CommandResult, TestRun
from treadle.toolchains.sandbox import find_sandbox

SEAM_JS: Final = Path(__file__).with_name("seam_js")
_PARTS: Final = ("lane", "subject")
_STARTED: Final = "\x01"
"""What a subject prints as soon as it can answer."""
_OLDEST: Final = (22, 15)
"""The first version of node with `module.registerHooks`."""
_WITH_VALUE: Final = frozenset(
    "--import --require -r --loader --experimental-loader --conditions -C --env-file".split()
)
_LOADING: Final = _WITH_VALUE - {"--conditions", "-C", "--env-file"}
_OF_RUNNER: Final = ("--test", "--experimental-test", "--watch")
_MAX_SHOWN: Final = 1_500


class CrossingNote(msgspec.Struct, frozen=True):
    """What the judge noted of a test, or (`outside`) of a file."""

    test: str = ""
    calls: int = 0
    outside: bool = False
    uncrossable: str = ""
    failed: str = ""
    breach: str = ""


class _FileRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run of one test file."""

    file: str
    finished: CommandResult
    cases: tuple[JunitCase, ...]
    problems: tuple[str, ...]
    notes: tuple[CrossingNote, ...]
    not_started: str = ""


async def run_node_apart(
    runner: Junit, root: Path, path: Path, ids: Sequence[str], *, subject: Path, is_subject: Callable[[str], bool]
) -> ApartRun:
    """Run tests of a checkout: those with some ids, or all in the files that the command names.

    `subject` is a checkout of the same tree without its test files; the judge runs no file that `is_subject`.
    """
    began = time.monotonic()
    path, command = path.resolve(), with_files(runner.command, path.resolve())
    program = await mounting_program()
    if problem := await _obstacle(runner, program):
        run_ = TestRun(command=command, exit=None, duration=0.0, ended="missing")
        return ApartRun(run=run_, problem=problem)
    own = await asyncio.to_thread(own_files, path, is_subject)
    files = dict.fromkeys(id.partition("::")[0] for id in ids) or dict.fromkeys(word for word in command if word in own)
    judge = _Judge(runner, root.resolve(), path, subject.resolve(), own, command, program)
    ran = [await judge.run_file(file) for file in files]
    return msgspec.structs.replace(_merged(ran, command, ids), duration=time.monotonic() - began)


async def _obstacle(runner: Junit, program: str) -> str:
    """Return why tests cannot run apart here; empty if they can."""
    if not is_node_test(runner.command):
        return (
            f"of the runners of JavaScript, only `node --test` can run apart from the code: {runner.command[0]} cannot"
        )
    if runner.sandbox is not None and runner.sandbox.is_apart:
        return "in a container, judge and subject cannot be joined yet"
    return await find_old_node(runner.command[0]) or ("" if program else NO_NAMESPACE)


async def find_old_node(program: str) -> str:
    """Return why this node cannot keep tests and code apart; empty if it can."""
    version = await _node_version(program)
    if not version:
        return f"{program} cannot be started"
    least = ".".join(map(str, _OLDEST))
    found = ".".join(map(str, version))
    return f"node has to be of version {least} or later, and is of version {found}" if version < _OLDEST else ""


_versions: dict[str, tuple[int, ...]] = {}


async def _node_version(program: str) -> tuple[int, ...]:
    if program not in _versions:
        try:
            process = await asyncio.create_subprocess_exec(
                program, "--version", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
        except OSError:
            return ()
        said, _ = await process.communicate()
        found = re.match(rb"v(\d+)\.(\d+)", said)
        _versions[program] = tuple(map(int, found.groups())) if found else ()
    return _versions[program]


class _Judge:
    """Runs test files, each with a subject of its own."""

    def __init__(
        self,
        runner: Junit,
        root: Path,
        checkout: Path,
        subject: Path,
        own: list[str],
        command: tuple[str, ...],
        program: str,
    ) -> None:
        self._runner, self._root, self._checkout, self._subject = runner, root, checkout, subject
        self._own, self._node, self._program = own, command[0], program
        self._options = list(node_options(command[1:]))
        self._sources = {name: read_text(SEAM_JS / f"{name}.mjs") for name in _PARTS}

    async def run_file(self, file: str) -> _FileRun:
        with temporary_folder("scratch") as scratch:
            (scratch / "shared").mkdir()
            (scratch / "report").mkdir()
            # A file of the tests is not there for the subject, and one of the code must not be loaded by the judge.
            theirs = self._words(lambda name: name not in self._own)
            settings = SubjectSettings(
                program=(self._node, "--no-warnings", *theirs),
                boot=("-e", read_text(SEAM_JS / "boot.js")),
                sources={"scheme": f"s{secrets.token_hex(8)}", **self._sources},
                root=self._root,
                checkout=self._checkout,
                subject=self._subject,
                shared=scratch / "shared",
                hidden=(scratch, SEAM_JS, REPORTER.parent),
            )
            async with running_subject(self._program, settings, subject_environment(scratch)) as other:
                finished = await self._run_judge(file, scratch, other)
            said = str(other.output)
            report = scratch / "report" / "junit.xml"
            cases, problems = read_reports([report] if report.exists() else [])
            lines = read_text(scratch / "report" / "notes").splitlines()
            cases = [below_checkout(case, self._checkout) for case in cases]
        if finished.exit and not cases:  # as `node --test` reports a file that cannot be imported
            text = finished.output.strip()[-_MAX_SHOWN:]
            cases = [JunitCase(suites=(), classname="", name=file, file=file, statuses=("failure",), message=text)]
        return _FileRun(
            file=file,
            finished=finished,
            cases=tuple(cases),
            problems=tuple(problems),
            notes=tuple(msgspec.json.decode(line, type=CrossingNote) for line in lines),
            not_started="" if _STARTED in said else f"the subject could not be started: {said.strip()[-1000:]}",
        )

    def _words(self, is_there: Callable[[str], bool]) -> list[str]:
        """Return the command's own options, without those that load files which are not there."""
        words: list[str] = []
        for name, value in self._options:
            is_file = name in _LOADING and value.startswith((".", "/"))
            place = Path(self._checkout, value)
            inside = place.is_relative_to(self._checkout)
            if not is_file or (inside and is_there(place.resolve().relative_to(self._checkout).as_posix())):
                words += [name, value] if value else [name]
        return words

    async def _run_judge(self, file: str, scratch: Path, other: RunningSubject) -> CommandResult:
        deadline = self._runner.timeout / 2
        for side in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            other.line.setsockopt(socket.SOL_SOCKET, side, struct.pack("ll", int(deadline) or 1, 0))
        notes = scratch / "report" / "notes"
        notes.touch()
        order: dict[str, Any] = {
            "checkout": str(self._checkout),
            "own": self._own,
            "line": other.line.fileno(),
            "notes": str(notes),
            "key": f"k{secrets.token_hex(8)}",
            "deadline": deadline,
        }
        command = (
            *(self._node, "--import", (SEAM_JS / "judge.mjs").as_uri(), *self._words(lambda name: name in self._own)),
            f"--test-reporter={REPORTER}",
            f"--test-reporter-destination={scratch / 'report' / 'junit.xml'}",
            file,
        )
        env = command_environment(scratch) | {"TMPDIR": str(scratch / "shared")}
        return await run(
            command,
            cwd=self._checkout,
            env=env | {"TREADLE_SEAM": json.dumps(order)},
            timeout=self._runner.timeout,
            sandbox=self._runner.sandbox or await find_sandbox(),
            scratch=scratch,
            readable=(SEAM_JS, REPORTER.parent),
            fds=(other.line.fileno(),),
        )


def node_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a `node --test` command that also hold for other programs, with their values."""
    waiting = iter(words)
    for word in waiting:
        name, has_value, value = word.partition("=")
        if name in _WITH_VALUE:
            yield name, value if has_value else next(waiting, "")
        elif word.startswith("--test-reporter") and not has_value:
            next(waiting, "")
        elif word.startswith("-") and not word.startswith(_OF_RUNNER):
            yield word, ""


def _merged(ran: Sequence[_FileRun], command: tuple[str, ...], ids: Sequence[str]) -> ApartRun:
    ended = next((one.finished for one in ran if one.finished.exit != 0), None)
    whole = CommandResult(
        command=command,
        exit=ended.exit if ended else 0,
        ended=ended.ended if ended else "done",
        detail=ended.detail if ended else "",
        output="\n".join(one.finished.output for one in ran),
        duration=sum(one.finished.duration for one in ran),
        isolation=ran[0].finished.isolation if ran else "",
    )
    cases = [case for one in ran for case in one.cases]
    problems = [text for one in ran for text in one.problems if not one.cases]
    run_ = judge_report(whole, cases, problems, tuple(ids) or None, None)
    told: dict[str, dict[str, str]] = {"uncrossable": {}, "failed": {}, "breach": {}}
    crossed: list[str] = []
    breaches: list[str] = []
    for one in ran:
        of_file = [id for id in run_.collected if id.partition("::")[0] == one.file]
        for id, note in _by_id(one.notes, of_file):
            crossed += [id] if note.calls else []
            for what, reasons in told.items():
                if reason := getattr(note, what):
                    reasons.setdefault(id, reason)
        breaches += [note.breach for note in one.notes if note.breach]
    not_started = next((one.not_started for one in ran if one.not_started), "")
    return ApartRun(
        run=run_,
        crossed=tuple(sorted(set(crossed))),
        uncrossable=told["uncrossable"],
        failed_to_cross=told["breach"] | told["failed"],
        breaches=() if not_started else tuple(dict.fromkeys(breaches)),
        problem=not_started,
        calls=sum(note.calls for one in ran for note in one.notes),
    )


def _by_id(notes: Iterable[CrossingNote], ids: Sequence[str]) -> Iterator[tuple[str, CrossingNote]]:
    """Yield the notes with the ids of their tests; a note on a whole file with each id of the file."""
    known, times = set(ids), Counter[str]()
    names = {id.partition("::")[2].replace("::", " > "): id for id in ids}
    for note in notes:
        if note.outside:
            yield from ((id, note) for id in ids)
        elif (id := names.get(note.test, "")) in known:
            times[id] += 1
            numbered = f"{id} ({times[id]})"
            yield numbered if times[id] > 1 and numbered in known else id, note
