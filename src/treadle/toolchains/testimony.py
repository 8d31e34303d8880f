"""What the witness in the test process tells: its lines, checked one by one, and made into results of tests."""

import hashlib
import hmac
import json
from typing import Any, Final

import msgspec

from treadle.protocol.test_paths import is_test
from treadle.toolchains.results import MAX_MESSAGE, Kind, Phase, TestResult, Verdict

MAX_LINE: Final = 64_000_000
_MAX_LIST: Final = 100
_WORST: Final[dict[Verdict, int]] = {"passed": 0, "xpassed": 1, "skipped": 2, "xfailed": 3, "error": 4, "failed": 5}


class Testimony:
    """Everything that one run's witness has said so far."""

    __test__ = False

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self.collected: dict[str, tuple[str, int]] = {}
        self.chosen: tuple[str, ...] | None = None
        self.tests: dict[str, TestResult] = {}
        self._seconds: dict[str, float] = {}
        self._raised: dict[tuple[str, str], set[str]] = {}
        """By test and phase, the places at which a failure was seen before any hook could look at it."""
        self._called: set[str] = set()
        self.running = ""
        """The test that has begun and not ended."""
        self.canaries: dict[str, str] = {}
        self.mirrored: list[str] = []
        self.exit: int | None = None
        self.foreign: list[str] = []
        """The exit code that was announced at the end; None: there was no end."""
        self.bent: list[str] = []
        self.tampering: list[str] = []
        self.noted: list[str] = []
        self.hiding: dict[str, str] = {}
        self.problems: list[str] = []
        self.has_begun = False

    def hear(self, line: bytes) -> None:
        """Take one line; one that is not the witness's own counts against the run."""
        signature, _, body = line.rstrip(b"\n").partition(b" ")
        expected = hashlib.blake2s(b"%d %s" % (self._number, body), key=self._key).hexdigest()
        if not hmac.compare_digest(signature, expected.encode()):
            _note(self.bent, "something other than the witness wrote to the witness's line")
            return
        self._number += 1
        said = json.loads(body)  # unlike others it takes halves of characters, which tests may well print
        getattr(self, f"_hear_{said.pop('what')}")(**_clean(said))

    def _hear_hello(self, pytest: str, python: str, early: list[str]) -> None:  # noqa: ARG002
        self.has_begun = True
        for name in early:
            _note(self.noted, f"{name} of the checkout was imported before the witness")

    def _hear_collected(self, id: str, file: str, line: int) -> None:
        self.collected[id] = (file, line)

    def _hear_uncollected(self, id: str, outcome: str, kind: Kind, message: str) -> None:
        verdict: Verdict = "skipped" if outcome == "skipped" else "error"
        self.tests[id] = TestResult(
            id=id,
            verdict=verdict,
            phase="collect",
            kind=kind,
            message=message[:MAX_MESSAGE],
            file=id.partition("::")[0],
        )

    def _hear_chosen(self, ids: list[str]) -> None:
        self.chosen = tuple(ids)

    def _hear_start(self, id: str) -> None:
        self.running = id

    def _hear_finish(self, id: str) -> None:
        self.running = ""
        if id not in self.tests:
            _note(self.bent, f"{id} was begun and ended without having been run")
        elif self.tests[id].verdict == "passed" and id not in self._called:
            _note(self.bent, f"{id} passed without having been called")

    def _hear_came(self, id: str, when: str, place: str, how: str) -> None:
        if when == "call":
            self._called.add(id)
        places = self._raised.setdefault((id, when), set())
        places.add(place) if how == "failed" else places.discard(place)

    def _hear_phase(self, id: str, when: Phase, outcome: str, raw: str, **more: Any) -> None:
        has_raised = bool(self._raised.pop((id, when), None))
        is_failed = (raw == "failed" and outcome != "failed") or (has_raised and outcome == "passed")
        if is_failed and not more["xfail"]:
            _note(self.bent, f"{id} failed in {when} and was reported as {outcome}")
        verdict = _verdict(when, outcome, xfail=more["xfail"])
        kind = _kind(when, more["kind"], more["places"])
        self._add(id, verdict, when, kind, more["message"] if verdict != "passed" else "", more["seconds"])

    def _add(self, id: str, verdict: Verdict, when: Phase, kind: Kind, message: str, seconds: float) -> None:
        known = self.tests.get(id)
        duration = self._seconds[id] = self._seconds.get(id, 0.0) + seconds
        if not known and verdict == "passed" and when != "call":
            return  # that it could be set up says nothing about the test
        if known and _WORST[known.verdict] >= _WORST[verdict]:
            self.tests[id] = msgspec.structs.replace(known, duration=duration)
            return
        file, line = self.collected.get(id, ("", 0))
        self.tests[id] = TestResult(
            id=id,
            verdict=verdict,
            phase=when,
            kind=kind,
            message=message[:MAX_MESSAGE],
            file=file,
            line=line,
            duration=duration,
        )

    def _hear_changed(self, id: str, when: str, made: str, outcome: str) -> None:
        _note(self.bent, f"{id} was {made} in {when} and was then made {outcome}")

    def _hear_canary(self, token: str, verdict: str) -> None:
        self.canaries[token] = verdict

    def _hear_mirror(self, id: str, line: int, text: str, verdict: str) -> None:
        if verdict == "failed":
            self.mirrored.append(id)
        elif verdict == "passed":
            _note(self.bent, f"{id} passes whatever value it expects (line {line}: {text})")

    def _hear_swallowed(self, id: str) -> None:
        _note(self.bent, f"{id} passes whatever it does: what its assertions raise is swallowed around it")

    def _hear_tampering(self, text: str) -> None:
        _note(self.tampering, text)

    def _hear_noted(self, text: str) -> None:
        _note(self.noted, text)

    def _hear_hides(self, name: str, file: str) -> None:
        if len(self.hiding) < _MAX_LIST:
            self.hiding[file] = name

    def _hear_left(self, exit: int, id: str) -> None:
        where = f"in {id}" if id else "outside of any test"
        _note(self.tampering, f"os._exit({exit}) was called {where}")
        if id and self.running == id:
            self._add(id, "failed", "call", "exit", f"os._exit({exit}) ended the run", 0.0)

    def _hear_end(self, exit: int, strangers: list[str]) -> None:
        self.exit, self.foreign = exit, strangers
        if strangers:
            names = ", ".join(strangers[:5])
            self.problems.append(f"imported from your own checkout instead of the one under test: {names}")

    def timed_out(self, seconds: float) -> None:
        """The test that runs had to be ended from outside."""
        if self.running:
            message = f"it did not end within {seconds:g} s, and was ended with the whole run"
            self._add(self.running, "failed", "call", "timeout", message, seconds)


def _verdict(when: Phase, outcome: str, *, xfail: bool) -> Verdict:
    if outcome == "skipped":
        return "xfailed" if xfail else "skipped"
    if outcome == "failed":
        return "xpassed" if xfail else "failed" if when == "call" else "error"
    return "xpassed" if xfail and when == "call" else "passed"


def _kind(when: Phase, kind: Kind, places: list[str]) -> Kind:
    """What is not implemented in a fixture is missing only if the code under test says so, and no file of the tests."""
    is_missing = bool(places) and all(place and not is_test(place) for place in places)
    return "fixture" if when == "setup" and kind == "not_implemented" and not is_missing else kind


def _clean(value: Any) -> Any:
    """Text that can be written down: halves of characters are replaced."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return value


def _note(notes: list[str], text: str) -> None:
    if text not in notes and len(notes) < _MAX_LIST:
        notes.append(text)
