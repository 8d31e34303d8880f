"""What checks look at: a claim, the commit that its activity left, where that came from, and measurements of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import msgspec

from treadle.evidence.measure import Measure
from treadle.evidence.needs import Git
from treadle.evidence.past import gates, payload
from treadle.git.record import Recorded
from treadle.git.trees import Change, Entry
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import Instance
from treadle.ports import Case
from treadle.protocol import model
from treadle.protocol.answers.paths import clean_path, path_fault
from treadle.protocol.items import Json
from treadle.protocol.test_paths import TestPaths


class Scope(Protocol):
    """What a step may write and see: globs relative to the root of the repository."""

    @property
    def writes(self) -> tuple[str, ...]: ...

    @property
    def stubs(self) -> tuple[str, ...]: ...

    @property
    def hidden(self) -> tuple[str, ...]: ...

    @property
    def refused(self) -> tuple[str, ...]: ...


ScopeOf = Callable[[model.Protocol, str, str, Mapping[str, Json]], Scope]
"""The scope of a step (protocol, graph, step) for an instance with this input."""


class Subject(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A claim (or a check step) under examination."""

    job: RunChecks
    case: Case
    git: Git
    measure: Measure
    work: Recorded
    """The lane as a commit; for a step without a lane, the instance's head, compared with where it started."""
    has_lane: bool
    scope_of: ScopeOf
    arg: str = ""
    """The argument of the check that is running."""

    @cached_property
    def inst(self) -> Instance:
        return self.case.state.insts[self.job.inst]

    @cached_property
    def graph(self) -> model.Graph:
        return self.case.protocol.graphs[self.job.graph]

    @cached_property
    def step(self) -> model.Step:
        return self.graph.steps[self.job.step]

    @cached_property
    def input(self) -> Mapping[str, Json]:
        """What the instance was given."""
        return payload(self.case, self.inst.input.ref)

    @cached_property
    def scope(self) -> Scope:
        return self.scope_of(self.case.protocol, self.job.graph, self.job.step, self.input)

    @cached_property
    def tests(self) -> TestPaths:
        """Which files are tests; what the input or the settings call so is, too."""
        record = self.case.protocol.types.get(self.graph.input[1])
        fields = record.fields if record else {}
        named = [
            self.input.get(name) for name, field in fields.items() if field.type == "path" and "test" in name.lower()
        ]
        given = [clean_path(one) for one in named if isinstance(one, str) and not path_fault(one)]
        return TestPaths(tuple(given), self.measure.settings.test_paths)

    @cached_property
    def is_frozen(self) -> bool:
        """Whether this claim may not have touched any test."""
        return any(ref.name == "tests_unmodified" for ref in (*gates(self.step, self.job.exit), *self.step.checks))

    def paths(self) -> tuple[str, ...]:
        """Every path that was touched."""
        return self.work.paths

    def changed_files(self) -> tuple[Change, ...]:
        """What was added or changed and is still there."""
        return tuple(change for change in self.work.changed if change.kind != "deleted")

    async def entries(self, commit: str = "") -> dict[str, Entry]:
        """The files of a commit; of the recorded one if none is named."""
        return await self.git.entries(commit or self.work.commit)

    async def text(self, path: str, commit: str = "") -> str | None:
        """A file's text in a commit."""
        data = await self.git.show(commit or self.work.commit, path)
        return None if data is None else data.decode(errors="replace")

    async def texts(self, paths: Sequence[str], commit: str = "") -> dict[str, str]:
        """Many files' texts, read together; what is no file has none."""
        found = await self.git.shows(commit or self.work.commit, paths)
        return {path: (data or b"").decode(errors="replace") for path, data in found.items()}
