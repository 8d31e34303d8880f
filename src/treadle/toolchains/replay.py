"""Repeat calls that tests made of the code, as a user would make them: in a plain interpreter, without any test.

A subject (`apart.py`) can find out that it is one: by its modules, frames, descriptors, parent or age. So a sample of
the calls that passing tests made is repeated, each call in an interpreter of its own, on a copy of the code without
tests, by a short program that holds nothing of ours while the call runs. Code that recognises the tests ends otherwise.

Honest code ends otherwise, too, if it depends on chance, time, identity or place. So every call is repeated twice, and
these two differ in all that may legitimately vary: folder, host, user, process numbers, hash seed, name of the program.
Only if both agree with each other, and not with the tests, the call is suspect. Then it is made again, alone, in new
subjects like that of the tests: a call that ends otherwise there depends on what the test did before. The suspect calls
that end there as they did in the tests are repeated several more times in plain interpreters, and have to agree again.
"""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from treadle.git.files import temporary_folder
from treadle.toolchains.apart import (
    NO_NAMESPACE,
    SEAM,
    SubjectSettings,
    mounting_program,
    subject_environment,
    walled_off,
)
from treadle.toolchains.process import BoundedOutput
from treadle.toolchains.results import CallDifference, CallRecord, CallReplay, RecordedCall

SAMPLE: Final = 12
_SUSPECTS: Final = 3
_ASKED: Final = 3
"""How often a suspect call is made again in a subject; one that ends by chance as before seldom does so thrice."""
_CONFIRMED: Final = 6
"""How often a suspect call is repeated again in plain interpreters."""
_TIMEOUT: Final = 30.0
_PATIENCE: Final = 30
"""How much longer than a call that does nothing a call may take, where that is more than the timeout: on a busy machine
an interpreter may need seconds to start.
"""
_AT_ONCE: Final = min(4, os.cpu_count() or 1)
_MAX_OUTPUT: Final = 64_000
_SHOWN: Final = 300
_TOPS: Final = ("/srv", "/mnt", "/media", "/var/tmp", "/tmp")
_WORDS: Final = "amber basil cedar dune ember flint grove heron iris juniper kestrel lotus maple nettle olive".split()
_OURS: Final = ("GIT_TERMINAL_PROMPT",)
"""Variables of a subject that no user's shell has."""
_SHELL: Final = """\
ulimit -c 0; ulimit -v 6291456; n=$1; shift
while [ $n -gt 0 ]; do : & n=$((n-1)); done; wait
sh -c '"$@"; exit' sh "$@"; exit"""
"""Starts a program from a shell, as a user would, with process numbers that vary."""
_HEAD: Final = """\
try:
    {imports}
    _args, _kwargs = [], {{}}
    _args, _kwargs = {args}, {kwargs}
    _outcome = "value", {function}(*_args, **_kwargs)
except BaseException as _error:
    _outcome = "raised", _error
"""
_TAIL: Final = """
import json, os
os.write(1, b"\\n" + json.dumps(plain_outcome(*_outcome, _args, _kwargs)).encode() + b"\\n")
os._exit(0)
"""
_CONTROL: Final = '["new", "builtins", "abs", [-7], {}]'
_SEVEN: Final = '["value", 7, [-7]]'

Again = Callable[[Sequence[RecordedCall], tuple[str, ...]], Awaitable[Sequence[str]]]
"""Makes calls again in a subject, and returns their outcomes: the calls, and a program for each."""


# Programs: the JSON of a recorded call as an expression of Python.


def call_text(call: str) -> str:
    """Return a recorded call as Python."""
    return _expression(json.loads(call))


def call_program(call: str) -> str:
    """Return the program that makes a recorded call; it leaves the outcome in `_outcome`."""
    data = json.loads(call)
    _, _, _, args, kwargs = data
    imports = f"import {', '.join(dict.fromkeys(_modules(data)))}"
    texts = {"args": _list(args), "kwargs": _keywords(kwargs), "function": _function(data)}
    return _HEAD.format(imports=imports, **texts)


def _expression(data: Any) -> str:
    if not isinstance(data, list):
        return repr(data)
    tag, *rest = data
    if tag == "new":
        named = [f"{name}={_expression(one)}" for name, one in rest[3].items()]
        return f"{_function(data)}({', '.join([*map(_expression, rest[2]), *named])})"
    if tag == "i":
        return str(hex(int(rest[0], 16)))
    if tag in ("float", "complex"):
        return rest[0] if rest[0].strip("-0123456789.e") == "" else f"{tag}({rest[0]!r})"
    if tag in ("bytes", "bytearray"):
        value = bytes.fromhex(rest[0])
        return repr(value) if tag == "bytes" else f"bytearray({value!r})"
    if tag == "repr":
        return str(rest[1])
    if tag == "dict":
        return f"{{{', '.join(f'{_expression(key)}: {_expression(value)}' for key, value in rest)}}}"
    inside = _list(rest)
    return inside if tag == "list" else f"{tag}({inside})"


def _list(values: Sequence[Any]) -> str:
    return f"[{', '.join(map(_expression, values))}]"


def _keywords(values: dict[str, Any]) -> str:
    return f"{{{', '.join(f'{name!r}: {_expression(value)}' for name, value in values.items())}}}"


def _function(data: list[Any]) -> str:
    _, module, path, *_ = data
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise ValueError(f"{module}.{path} is no name")
    return f"{module}.{path}"


def _modules(data: Any) -> Iterator[str]:
    """Yield the modules that an expression needs."""
    if isinstance(data, list) and data:
        if data[0] in ("new", "repr"):
            yield data[1]
        for one in data[1:]:
            yield from _modules(one)
    elif isinstance(data, dict):
        for one in data.values():
            yield from _modules(one)


# Outcomes.


def read_outcome(output: bytes) -> str:
    """Return the outcome at the end of a program's output, in the form of the recorder; empty if there is none.

    The program is hostile: nothing but JSON of the right shape counts, and all else is no outcome.
    """
    line = output.rstrip().rpartition(b"\n")[2]
    with suppress(ValueError, RecursionError):
        found = json.loads(line.decode("ascii"))
        if isinstance(found, list) and len(found) > 2 and found[0] in ("value", "raised", "other"):
            return json.dumps(found)
    return ""


def is_same(recorded: str, other: str) -> bool:
    """Whether two outcomes agree, as far as their parts are values in both."""
    if recorded == other:
        return True
    if not other:
        return False
    ours, theirs = json.loads(recorded), json.loads(other)
    if ours[0] == "other" or len(ours) != len(theirs) or json.dumps(ours[:2]) != json.dumps(theirs[:2]):
        return False
    return all(_agree(one, two) for one, two in zip(ours[2:], theirs[2:], strict=True))


def _agree(ours: Any, theirs: Any) -> bool:
    if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
        return False
    pairs = zip(ours, theirs, strict=True)
    return all(one is None or two is None or json.dumps(one) == json.dumps(two) for one, two in pairs)


def outcome_text(outcome: str, beside: str) -> str:
    """Describe an outcome, beside another one of the same call."""
    if not outcome:
        return "ends without an answer, or not in time"
    found = json.loads(outcome)
    try:
        if beside and json.loads(beside)[:-1] == found[:-1]:
            return f"leaves its arguments as {_cut(_list(found[-1]))}"
        if found[0] == "value":
            return f"returns {_cut(_expression(found[1]))}"
        if found[0] == "raised":
            return f"raises {_cut(str(found[1]).removeprefix('builtins.'))}({_cut(_list(found[2])[1:-1])})"
    except (TypeError, ValueError, LookupError, AttributeError):
        return "returns something malformed"
    return f"returns a {_cut(str(found[1]))}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# Plain interpreters.


class PlainPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of one round of repetitions."""

    command: tuple[str, ...]
    """Bubblewrap's, up to the program."""
    folder: str
    env: dict[str, str]
    name: str
    """The program's name for itself."""


class PlainInterpreters:
    """Makes calls in plain interpreters, on a copy of the code."""

    def __init__(
        self, program: str, settings: SubjectSettings, path: Sequence[str], scratch: Path, draw: Random
    ) -> None:
        self._program, self._settings, self._scratch, self._draw = program, settings, scratch, draw
        self._path = [one for one in path if (settings.subject / one).is_dir()]
        self._tail = (SEAM / "treadle_seam" / "plain.py").read_text(encoding="utf-8") + _TAIL
        self.other_users = False
        self.timeout = _TIMEOUT
        self._rounds = 0

    async def works(self) -> bool:
        """Make a call that needs no code of the project, and measure how long that takes here."""
        began = time.monotonic()
        found = await self.outcomes([_CONTROL])
        self.timeout = max(self.timeout, _PATIENCE * (time.monotonic() - began))
        return found == [_SEVEN]

    async def outcomes(self, calls: Sequence[str]) -> list[str]:
        """Make each call once, in an interpreter of its own, in any order; return the outcomes in the given order."""
        place, gate = self._place(), asyncio.Semaphore(_AT_ONCE)
        order = [*enumerate(calls)]
        self._draw.shuffle(order)
        found = dict[int, str]()

        async def make(number: int, call: str) -> None:
            async with gate:
                found[number] = await self._outcome(place, call)

        await asyncio.gather(*(make(*one) for one in order))
        return [found[number] for number in range(len(calls))]

    def _place(self) -> PlainPlace:
        draw, settings, words = self._draw, self._settings, walled_off(self._program, self._settings)
        kept = [Path(os.path.realpath(settings.program[0])), Path(settings.program[0]), settings.root]
        tops = [Path(one) for one in _TOPS if Path(one).is_dir() and not Path(one).is_symlink()]
        tops = [one for one in tops if not any(path.is_relative_to(one) for path in kept)] or [settings.checkout]
        top = tops[self._rounds % len(tops)]
        self._rounds += 1
        folder = top / draw.choice(_WORDS) / f"{draw.choice(_WORDS)}-{draw.randrange(100)}"
        words += ("--tmpfs", top, "--ro-bind", settings.subject, folder, "--chdir", folder)
        words += ("--hostname", f"{draw.choice(_WORDS)}{draw.randrange(100)}")
        if self.other_users:
            user = str(draw.randrange(2000, 60000))
            words += ("--unshare-user", "--uid", user, "--gid", user)
        env = {name: text for name, text in subject_environment(self._scratch).items() if name not in _OURS}
        env |= {"PWD": str(folder), "SHLVL": str(draw.randrange(1, 4)), "SHELL": draw.choice(["/bin/bash", "/bin/zsh"])}
        return PlainPlace(command=tuple(map(str, words)), folder=str(folder), env=env, name=f"{draw.choice(_WORDS)}.py")

    async def _outcome(self, place: PlainPlace, call: str) -> str:
        path = [str(Path(place.folder, one)) for one in self._path]
        head = f"import sys\nsys.argv[:] = [{place.name!r}]\nsys.path[:0] = {path!r}\n"
        words = [*place.command, "--", "/bin/sh", "-c", _SHELL, "sh", str(self._draw.randrange(20, 120))]
        words += [*self._settings.program, "-c", f"{head}{call_program(call)}{self._tail}"]
        nowhere = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd="/",
            env=place.env,
            stdin=nowhere,
            stdout=asyncio.subprocess.PIPE,
            stderr=nowhere,
            start_new_session=True,
        )
        output = BoundedOutput(_MAX_OUTPUT)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self.timeout):
                while chunk := await process.stdout.read(1 << 16):
                    output.add(chunk)
                await process.wait()
        except TimeoutError:
            return ""
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # as `running_subject` does
                await process.wait()
        return read_outcome(str(output).encode("ascii", "replace"))


# One replay, from the record to the differences.


async def replay_calls(
    settings: SubjectSettings, record: CallRecord, again: Again, seed: str, passed: Collection[str]
) -> CallReplay:
    """Repeat a sample of recorded calls of the tests that passed; `settings.subject` is replaced by a copy."""
    if not (program := await mounting_program()):
        return CallReplay(problem=NO_NAMESPACE)
    calls = _distinct(one for one in record.calls if one.test in passed)
    draw = Random(seed)
    chosen = draw.sample(calls, min(len(calls), SAMPLE))
    incomparable = record.others
    if not chosen:
        return CallReplay(recorded=len(calls), incomparable=incomparable)
    with temporary_folder("scratch") as scratch:
        copy = scratch / "code"
        await asyncio.to_thread(_copy, settings.subject, copy, draw.randrange(40, 400))
        seen = msgspec.structs.replace(settings, subject=copy, hidden=(*settings.hidden, scratch, SEAM))
        plainly = PlainInterpreters(program, seen, record.path, scratch, draw)
        plainly.other_users = bool(await mounting_program("--unshare-user", "--uid", "4242", "--gid", "4242"))
        limits = () if plainly.other_users else ("calls were repeated under the same user: no user namespaces here",)
        if not await plainly.works():
            return CallReplay(recorded=len(calls), problem="no plain interpreter works in a namespace of its own here")
        texts = [one.call for one in chosen]
        first, second = await plainly.outcomes(texts), await plainly.outcomes(texts)
        suspects: list[tuple[RecordedCall, str]] = []
        for one, here, there in zip(chosen, first, second, strict=True):
            if is_same(one.outcome, here) and is_same(one.outcome, there):
                continue
            if here == there and len(suspects) < _SUSPECTS:
                suspects.append((one, here))
            else:
                incomparable += 1
        differences = await _confirmed(suspects, plainly, again)
    return CallReplay(
        recorded=len(calls),
        replayed=len(chosen),
        incomparable=incomparable + len(suspects) - len(differences),
        differences=tuple(differences),
        limits=limits,
    )


def _distinct(calls: Iterator[RecordedCall]) -> list[RecordedCall]:
    """Return each call once; a call that ended in two ways depends on more than its arguments."""
    found: dict[str, RecordedCall | None] = {}
    for one in calls:
        known = found.setdefault(one.call, one)
        if known is not None and known.outcome != one.outcome:
            found[one.call] = None
    return [one for one in found.values() if one is not None]


async def _confirmed(
    suspects: Sequence[tuple[RecordedCall, str]], plainly: PlainInterpreters, again: Again
) -> list[CallDifference]:
    """Return the suspects that end in the same two ways again: alone in subjects, and in plain interpreters."""
    if not suspects:
        return []
    calls = [one for one, _ in suspects]
    asked = [one for one in calls for _ in range(_ASKED)]
    answers = await again(calls, tuple(call_program(one.call) for one in asked))
    if len(answers) != len(asked):
        return []
    by_call = {one.call: [two for it, two in zip(asked, answers, strict=True) if it is one] for one in calls}
    left = [(one, end) for one, end in suspects if all(is_same(one.outcome, two) for two in by_call[one.call])]
    for number in range(_CONFIRMED):
        if not left or (number and not any(end for _, end in left)):
            break  # calls without an answer take all their time: once more is enough, if the machine is no slower now
        await plainly.works()
        ends = await plainly.outcomes([one.call for one, _ in left])
        left = [(one, end) for (one, end), now in zip(left, ends, strict=True) if now == end]
    return [
        CallDifference(
            test=one.test,
            call=_cut(call_text(one.call)),
            in_tests=outcome_text(one.outcome, end),
            elsewhere=outcome_text(end, one.outcome),
        )
        for one, end in left
    ]


def _copy(source: Path, copy: Path, days: int) -> None:
    """Copy the code, without its repository, and as old as any checkout of a user may be."""
    shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    then = time.time() - days * 86_400
    for folder, _, files in os.walk(copy):
        for name in files:
            os.utime(Path(folder, name), (then, then), follow_symlinks=False)
