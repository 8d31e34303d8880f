"""pytest, in depth: run in a clean checkout, with a witness inside and every verdict confirmed from three sides."""

import asyncio
import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.agreement import disagreements, problem_of_exit
from treadle.toolchains.environment import environment
from treadle.toolchains.files import read_bytes
from treadle.toolchains.junit_report import JunitCase, read_junit
from treadle.toolchains.process import COUNT, Finished, run, scratch_folder
from treadle.toolchains.pytest_command import KNOWN_PLUGINS, WITNESS, arguments, is_module
from treadle.toolchains.results import Collected, TestRun, Verdict
from treadle.toolchains.rewritten import rewritten, stamps
from treadle.toolchains.sandbox import find_sandbox
from treadle.toolchains.testimony import MAX_LINE, Testimony
from treadle.toolchains.witness_line import THROUGH_A_PIPE, VARIABLE, witness_line

_GRACE: Final = 5.0
"""How long a test that ran out of time may take to notice."""
_BIRDS: Final[tuple[Verdict, ...]] = ("passed", "failed", "error")
MIRRORS: Final = 10
_INSIDE: Final = "the code under test runs in the process of its tests: what it does there is watched, not prevented"


class Pytest(msgspec.Struct, frozen=True, kw_only=True):
    """A project that is tested by pytest."""

    command: tuple[str, ...]
    root: Path
    """The user's own checkout, whose environment is used and whose code is not."""
    timeout: float = 600.0
    test_timeout: float | None = None
    """Seconds for one test; None: half of what the run has."""
    plugins: tuple[str, ...] = KNOWN_PLUGINS
    """Entry points (`pytest11`) that are loaded if they are installed; no others are."""
    mirrors: int = MIRRORS
    """Of how many tests a copy that expects something else is run, and must fail."""
    sandbox: Enclosure | None = None
    """None: the best that works here."""

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run the tests of a checkout: all, those with some ids, or those in some files."""
        with scratch_folder() as scratch:
            return await _Run(self, path.resolve(), scratch, ids, files, collect_only=False).result()

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The tests of a checkout, without running them."""
        with scratch_folder() as scratch:
            it = _Run(self, path.resolve(), scratch, None, files, collect_only=True)
            ran = await it.result()
        return Collected(
            ids=ran.collected,
            errors={id: test for id, test in ran.tests.items() if test.verdict == "error"},
            problems=ran.problems,
            bent=ran.bent,
            tampering=ran.tampering,
            limits=ran.limits,
            output=ran.output,
            never_began=ran.never_began,
        )


async def _bounded(listening: asyncio.Task[None]) -> None:
    """Hear the rest; nobody is left to say more, unless somebody slipped away with the line in hand."""
    with suppress(TimeoutError):
        await asyncio.wait_for(listening, _GRACE)


class _Run:
    """One run, from the order to the verdicts."""

    def __init__(
        self,
        settings: Pytest,
        checkout: Path,
        scratch: Path,
        ids: tuple[str, ...] | None,
        files: tuple[str, ...] | None,
        *,
        collect_only: bool,
    ) -> None:
        self.settings, self.checkout, self.scratch = settings, checkout, scratch
        self.ids, self.collect_only = ids, collect_only
        self.files = tuple(dict.fromkeys([*(files or ()), *(id.partition("::")[0] for id in ids or ())]))
        self.key = secrets.token_bytes(32)
        self.testimony = Testimony(self.key)
        self.canaries = {} if collect_only else {secrets.token_hex(8): want for want in _BIRDS}
        self.seconds = settings.test_timeout or settings.timeout / 2
        self.stop = asyncio.Event()
        self._is_apart = settings.sandbox is not None and settings.sandbox.is_apart

    async def result(self) -> TestRun:
        problems = tuple(f"{file} is not in the checkout" for file in self.files if not self._is_there(file))
        if problems:
            return TestRun(command=self.settings.command, exit=None, duration=0.0, ended="missing", problems=problems)
        options = arguments(self.checkout, self.scratch, files=self.files, collect_only=self.collect_only)
        command = (*self.settings.command, *options)
        handed_over = await asyncio.to_thread(stamps, self.checkout)
        finished = await self._execute(command)
        self.testimony.bent += await asyncio.to_thread(rewritten, self.checkout, handed_over)
        return self._judge(command, finished)

    def _is_there(self, file: str) -> bool:
        path = (self.checkout / file).resolve()
        return path.is_relative_to(self.checkout) and path.exists()

    async def _execute(self, command: tuple[str, ...]) -> Finished:
        sandbox = self.settings.sandbox or await find_sandbox()
        order = json.dumps(self._order()).encode()
        with witness_line(order, self.scratch, is_apart=sandbox.is_apart) as line:
            env = environment(self.scratch) | {
                "PYTHONPATH": str(WITNESS),
                "PYTHONSAFEPATH": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                VARIABLE: line.address,
            }
            listening = asyncio.create_task(self._listen(line.reading))
            watching = asyncio.create_task(self._watch())
            try:
                return await run(
                    command,
                    cwd=self.checkout,
                    env=env,
                    timeout=self.settings.timeout,
                    sandbox=sandbox,
                    scratch=self.scratch,
                    readable=(WITNESS,),
                    fds=line.fds,
                    stop=self.stop,
                )
            finally:
                watching.cancel()
                line.hang_up()
                await _bounded(listening)
                self._count()

    def _order(self) -> dict[str, Any]:
        places = SystemRandom()
        birds = [
            {"token": token, "want": want, "place": places.random(), "name": f"test_{secrets.token_hex(4)}"}
            for token, want in self.canaries.items()
        ]
        return {
            "key": self.key.hex(),
            "name": secrets.token_hex(8),
            "checkout": str(self.checkout),
            "root": str(self.settings.root.resolve()),
            "kept": str(self.scratch / "report"),
            "module": is_module(self.settings.command),
            "plugins": list(self.settings.plugins),
            "ids": None if self.ids is None else list(self.ids),
            "timeout": self.seconds,
            "canaries": birds,
            "mirrors": self.settings.mirrors,
            "seed": secrets.token_hex(16),
        }

    async def _listen(self, reading: int) -> None:
        """Hear the witness until nobody holds its line any more."""
        reader = asyncio.StreamReader(limit=MAX_LINE)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
        )
        try:
            while line := await reader.readline():
                self.testimony.hear(line)
        except ValueError:
            self.testimony.bent.append("the witness's line was flooded")
            self.stop.set()
        finally:
            transport.close()

    def _count(self) -> None:
        COUNT.get()(len(self.testimony.tests), len(self.testimony.chosen or self.testimony.collected))

    async def _watch(self) -> None:
        """End the run if a test neither ends in its time nor notices that it is over."""
        current, since = "", time.monotonic()
        while True:
            await asyncio.sleep(0.2)
            self._count()
            if self.testimony.running != current:
                current, since = self.testimony.running, time.monotonic()
            if current and time.monotonic() - since > self.seconds + _GRACE:
                self.testimony.timed_out(self.seconds)
                self.stop.set()

    def _judge(self, command: tuple[str, ...], finished: Finished) -> TestRun:
        testimony = self.testimony
        if finished.ended == "timeout":
            testimony.timed_out(finished.duration)
        return TestRun(
            command=command,
            exit=finished.exit,
            duration=finished.duration,
            ended=finished.ended,
            tests=testimony.tests,
            collected=tuple(testimony.collected),
            chosen=testimony.chosen or (),
            output=finished.output,
            problems=tuple(self._problems(finished)),
            bent=tuple(self._bent(finished)),
            tampering=tuple(testimony.tampering),
            noted=tuple(testimony.noted),
            hiding=testimony.hiding,
            foreign=tuple(testimony.foreign),
            mirrored=tuple(testimony.mirrored),
            limits=(_INSIDE, *([THROUGH_A_PIPE] if self._is_apart else [])),
            isolation=finished.isolation,
            never_began=finished.ended == "missing" or (finished.exit is not None and not testimony.has_begun),
        )

    def _problems(self, finished: Finished) -> list[str]:
        found = list(self.testimony.problems)
        if finished.ended == "timeout":
            named = f" in {self.testimony.running}" if self.testimony.running else ""
            found.append(f"the run did not end in its time{named}")
        elif finished.ended != "done":
            found.append(f"{self.settings.command[0]}: {finished.detail}")
        if finished.exit is not None and (said := problem_of_exit(finished.exit)):
            found.append(said)
        if finished.exit is not None and not self.testimony.has_begun:
            apart = " Does the engine share this machine's files?" if self._is_apart else ""
            found.append(f"the witness could not be loaded: is this pytest 7 or later, on Python 3.8 or later?{apart}")
        if self.ids is not None and self.testimony.chosen is not None:
            found += (f"{id} was not collected" for id in self.ids if id not in self.testimony.chosen)
        return found

    def _bent(self, finished: Finished) -> list[str]:
        found = list(self.testimony.bent)
        if finished.exit is not None and not self.collect_only:
            found += disagreements(self.testimony, self._report(), finished.exit, self.canaries)
        elif finished.exit is not None and self.testimony.has_begun and self.testimony.exit is None:
            found.append(f"the process ended with {finished.exit} before all tests were collected")
        elif finished.ended == "killed":
            found.append("the process was killed before the run ended")
        return found

    def _report(self) -> list[JunitCase] | None:
        data = read_bytes(self.scratch / "report" / "junit.xml")
        try:
            return None if data is None else read_junit(data)
        except ValueError:
            return None
