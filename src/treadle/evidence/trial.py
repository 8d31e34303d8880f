"""Plays wrong implementations against new tests, and keeps count of what they did not notice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from treadle.evidence.examples import Example
from treadle.evidence.subject import Subject
from treadle.evidence.wrong_implementations import Wrong
from treadle.git.trees import Entry
from treadle.protocol.items import Json
from treadle.toolchains.results import TestRun
from treadle.toolchains.test_names import function_of

_LEAST: Final = 10.0
_FACTOR: Final = 5.0

Groups = Mapping[str, Sequence[str]]
"""By criterion, or under an empty name for all, the tests."""
Known = Mapping[str, Sequence[Example]]
"""By test, without its parameters, its examples."""


class Trial:
    """The groups of tests, and the wrong implementations that each of them has met.

    Most are refuted by an example that is written down. That is believed only after a run has said the same once, and
    not at all where the tests have the means to put something in a function's place.
    """

    def __init__(
        self,
        s: Subject,
        run: TestRun,
        on: str,
        sources: Mapping[str, str],
        groups: Groups,
        known: Known,
        *,
        may_be_replaced: bool,
    ) -> None:
        self._s, self._on, self._sources, self._groups, self._known = s, on, sources, groups, known
        self._believes, self._probed = not may_be_replaced, False
        self._runs = 0
        self.limit = min(max(_LEAST, _FACTOR * run.duration), float(s.measure.settings.timeout))
        self.passing: dict[str, list[Wrong]] = {name: [] for name in groups}
        self.met: dict[str, list[Wrong]] = {name: [] for name in groups}
        self.contradicted: dict[str, tuple[Wrong, Example]] = {}
        """Tests that pass with what one of their examples contradicts."""
        self._late: set[str] = set()

    @property
    def facts(self) -> dict[str, Json]:
        """How it was done, for the evidence."""
        late: list[Json] = [name or "all" for name in sorted(self._late)]
        return {
            "tried": max(map(len, self.met.values()), default=0),
            "runs": self._runs,
            "seconds_each": round(self.limit, 1),
            **({"out_of_time": late} if late else {}),
        }

    async def play(self, wrong: Wrong, names: Iterable[str]) -> None:
        """One wrong implementation against some groups; those that ran out of time once are left alone."""
        asked = {name: self._groups[name] for name in names if name not in self._late}
        for name in asked:
            self.met[name].append(wrong)
        believes = self._believes and self._probed
        open_ = {name: tests for name, tests in asked.items() if not (believes and any(self._refuting(wrong, tests)))}
        if open_:
            self._count(wrong, open_, await self._run(wrong, open_))
            self._probed = True

    async def _run(self, wrong: Wrong, groups: Groups) -> TestRun:
        entries = await self._s.entries(self._on)
        made = {path: wrong.program(source) for path, source in self._sources.items()}
        programs = {path: program.encode() for path, program in made.items() if program is not None}
        ids = await self._s.git.blobs(list(programs.values()))
        files: dict[str, Entry | None] = {
            path: Entry(entries[path].mode, id_, path) for path, id_ in zip(programs, ids, strict=True)
        }
        tree = await self._s.git.with_files(self._on, files)
        tests = sorted({id_ for listed in groups.values() for id_ in listed})
        self._runs += 1
        return await self._s.measure.suite(tree, ids=tests, limit=self.limit, mirrors=False)

    def _count(self, wrong: Wrong, groups: Groups, done: TestRun) -> None:
        for name, tests in groups.items():
            if not done.bent and all(id_ in done.passed for id_ in tests):
                self.passing[name].append(wrong)
            if _is_late(done, tests):
                self._late.add(name)
        for test, example in self._refuting(wrong, [] if done.bent else sorted(done.passed)):
            self._believes = False
            self.contradicted.setdefault(test, (wrong, example))

    def _refuting(self, wrong: Wrong, tests: Iterable[str]) -> Iterable[tuple[str, Example]]:
        for test in dict.fromkeys(function_of(id_) for id_ in tests):
            for one in self._known.get(test, ()):
                if wrong.is_refuted_by(one):
                    yield test, one


def _is_late(done: TestRun, tests: Sequence[str]) -> bool:
    hung = any((one := done.tests.get(id_)) is not None and one.kind == "timeout" for id_ in tests)
    return hung or (done.ended == "timeout" and any(id_ not in done.tests for id_ in tests))
