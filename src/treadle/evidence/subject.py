"""The subject of the checks: a claim, the commit that its activity left, its base, and measurements of it.

Also the facts that every check reads from the past of an instance: its accepted exits with their payloads and commits,
its contract suite, and the lines that a diff adds.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol

import msgspec

from treadle.evidence.measurements import ActivityMeasurements
from treadle.evidence.project_facts import RepositoryFacts
from treadle.evidence.source_text import decode_source
from treadle.git.checkpoint import Checkpoint
from treadle.git.trees import PathChange, TreeEntry
from treadle.kernel.commands import RunChecks
from treadle.kernel.instances import ROOT
from treadle.kernel.state import Instance
from treadle.ports import Case
from treadle.protocol import model
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef, Graph, Step, tag_of
from treadle.protocol.paths import TestPaths, clean_path, path_fault

# The accepted exits of an instance: their payloads, their commits, and which of them wrote tests.

_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_MOST_TESTS: Final = 500
WRITES_TESTS: Final = frozenset({"scope_tests", "red", "red_one", "still_red_on_skeleton"})


class AcceptedExit(msgspec.Struct, frozen=True):
    """An exit that was accepted, as its slot keeps it."""

    step: str
    exit: str
    seq: int
    payload: Mapping[str, Json]


def payload(case: Case, ref: str) -> Mapping[str, Json]:
    """A payload's fields; none where there is nothing to have fields."""
    value = case.payloads.get(ref) if ref else None
    return value if isinstance(value, dict) else {}


def accepted_exits(case: Case, inst: Instance) -> list[AcceptedExit]:
    """Return the accepted exits of an instance, oldest first; of each exit, only the latest."""
    slots = [(name.rpartition("."), slot) for name, slot in inst.slots.items()]
    own = [(step, exit_, slot) for (step, _, exit_), slot in slots if exit_ and not exit_.startswith("!")]
    ordered = sorted(own, key=lambda one: one[2].seq)
    return [AcceptedExit(step, exit_, slot.seq, payload(case, slot.ref)) for step, exit_, slot in ordered]


def commit_of(case: Case, one: AcceptedExit) -> str:
    """The commit that an exit stands for: the field that git fills in with one."""
    declared = case.protocol.exits.get(one.exit)
    names = [name for name, field in declared.fields.items() if field.by == "git"] if declared else []
    values = [value for name in names if isinstance(value := one.payload.get(name), str)]
    return next((value for value in values if _COMMIT.match(value)), "")


def accepted_commits(case: Case, inst: Instance) -> list[tuple[AcceptedExit, str]]:
    """Accepted exits that stand for a commit, oldest first."""
    return [(one, commit) for one in accepted_exits(case, inst) if (commit := commit_of(case, one))]


def gates(step: Step, key: str) -> tuple[CheckRef, ...]:
    """The checks that an exit had to pass."""
    return step.gates.get(key) or step.gates.get(tag_of(key)) or ()


def is_gated_by(graph: Graph, one: AcceptedExit, *names: str) -> bool:
    """Whether one of these checks stood before an exit, and could refuse."""
    step = graph.steps.get(one.step)
    return step is not None and any(ref.name in names and not ref.advisory for ref in gates(step, one.exit))


def children_inputs(case: Case, inst: Instance) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the group and the input of each live or merged child; a plan that names no children keeps these."""
    merged = {one.id for one in merged_children(case, inst.id)}
    for name, group in inst.groups.items():
        members = [] if group.mapped else [case.state.insts[id_] for id_ in group.members.values()]
        for child in sorted((one for one in members if one.live or one.id in merged), key=lambda one: one.key):
            yield name, payload(case, child.input.ref)


def merged_children(case: Case, inst: str) -> list[Instance]:
    """The children that have been merged: an exit of theirs that proves the contract was accepted."""
    exits = {name for name, one in case.protocol.exits.items() if one.proves == "contract"}
    below = [one for one in case.state.insts.values() if one.parent == inst]
    return [one for one in below if any(tag_of(name.rpartition(".")[2]) in exits for name in one.slots)]


def paths_of_tests(
    case: Case, inst: Instance, configured: tuple[str, ...], collecting: tuple[str, ...] = ()
) -> TestPaths:
    """Return the rule for which files are tests: by name, by the test paths of the input, by the settings.

    `collecting`: folders of doubtful name in which there are tests.
    """
    record = case.protocol.types.get(case.protocol.graphs[inst.graph].input[1])
    fields, given = record.fields if record else {}, payload(case, inst.input.ref)
    named = [given.get(name) for name, field in fields.items() if field.type == "path" and "test" in name.lower()]
    folders = [clean_path(one) for one in named if isinstance(one, str) and not path_fault(one)]
    return TestPaths(tuple(folders), configured, collecting)


class StepScope(Protocol):
    """The write and read scope of a step: globs relative to the root of the repository."""

    @property
    def writes(self) -> tuple[str, ...]: ...

    @property
    def stubs(self) -> tuple[str, ...]: ...

    @property
    def hidden(self) -> tuple[str, ...]: ...

    @property
    def refused(self) -> tuple[str, ...]: ...


ScopeOf = Callable[[model.Protocol, str, str, Mapping[str, Json]], StepScope]
"""The scope of a step (protocol, graph, step) for an instance with this input."""


class ProofSoFar(msgspec.Struct, frozen=True):
    """The proof about an instance in the log, from before the activity under examination."""

    failed: frozenset[str] = frozenset()
    """Tests that accepted work has shown failing for the right reason."""
    skeletons: tuple[str, ...] = ()
    """Commits of its accepted plans, the first one first: the code before each implementation."""
    apart: Mapping[str, str] = {}
    """The tests that were seen red with judge and subject apart, each with the commit on which that was decided."""


ProofOf = Callable[[str], ProofSoFar]
"""The proof so far of an instance, by its id."""


def no_proof(_inst: str) -> ProofSoFar:
    """Return an empty proof, for callers without a log."""
    return ProofSoFar()


class Subject(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A claim (or a check step) under examination."""

    job: RunChecks
    case: Case
    git: RepositoryFacts
    measure: ActivityMeasurements
    work: Checkpoint
    """The lane as a commit; for a step without a lane, the instance's head, compared with where it started."""
    has_lane: bool
    scope_of: ScopeOf
    proof_of: ProofOf = no_proof
    arg: str = ""
    """The argument of the check that is running."""
    test_folders: tuple[str, ...] = ()
    """Folders such as `specs` that hold tests at the base of this activity; elsewhere, they belong to the product."""

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
        """The instance's input."""
        return payload(self.case, self.inst.input.ref)

    @cached_property
    def scope(self) -> StepScope:
        return self.scope_of(self.case.protocol, self.job.graph, self.job.step, self.input)

    @cached_property
    def proof(self) -> ProofSoFar:
        """The proof by earlier activities."""
        return self.proof_of(self.job.inst)

    @cached_property
    def tests(self) -> TestPaths:
        """The rule for which files are tests, with the test paths of the input and of the settings."""
        return paths_of_tests(self.case, self.inst, self.measure.settings.test_paths, self.test_folders)

    @cached_property
    def is_frozen(self) -> bool:
        """Whether this claim may not have touched any test."""
        return any(ref.name == "tests_unmodified" for ref in (*gates(self.step, self.job.exit), *self.step.checks))

    async def origin(self) -> str:
        """The commit that the instance started from; it moves when the instance is rebased."""
        return await self.git.origin(self.case.state, self.job.inst)

    async def start(self) -> str:
        """The commit that the run started from."""
        return await self.git.start(self.case.state.run)

    async def base(self) -> str:
        """The commit that the work of the whole run is based on; it moves when the run is rebased."""
        return await self.git.origin(self.case.state, ROOT)

    async def touched_since(self, commit: str) -> set[str]:
        """Every path that was touched since a commit."""
        return {path for change in await self.git.changes(commit, self.work.commit) for path in change.touched}

    async def written_since(self, commit: str) -> list[str]:
        """The files that were added or modified since a commit."""
        return [one.path for one in await self.git.changes(commit, self.work.commit) if one.kind != "deleted"]

    def paths(self) -> tuple[str, ...]:
        """Every path that was touched."""
        return self.work.paths

    def changed_files(self) -> tuple[PathChange, ...]:
        """Return the added and modified files, without deleted ones."""
        return tuple(change for change in self.work.changed if change.kind != "deleted")

    def changed_tests(self) -> list[str]:
        """Return the added and modified test files."""
        return [change.path for change in self.changed_files() if self.tests.is_test(change.path)]

    async def entries(self, commit: str = "") -> dict[str, TreeEntry]:
        """The files of a commit; of the recorded one if none is named."""
        return await self.git.entries(commit or self.work.commit)

    async def text(self, path: str, commit: str = "") -> str | None:
        """A file's text in a commit."""
        data = await self.git.show(commit or self.work.commit, path)
        return None if data is None else decode_source(path, data)

    async def texts(self, paths: Sequence[str], commit: str = "") -> dict[str, str]:
        """Read many files at once; a missing file has an empty text."""
        found = await self.git.shows(commit or self.work.commit, paths)
        return {path: decode_source(path, data or b"") for path, data in found.items()}

    async def text_of_tests(self) -> str:
        """The text of all test files, without manifests and other data; of very many files, the first ones."""
        paths = [path for path in await self.entries() if self.tests.is_test(path) and not path.endswith(".json")]
        return "\n".join((await self.texts(paths[:_MOST_TESTS])).values())


# The contract suite of an instance: its path, and its test files.

_NO_TESTS: Final = (".json", ".md", ".txt", ".yaml", ".yml", ".toml", ".ini", "__init__.py", "conftest.py")


def contract_place(s: Subject) -> str:
    """Return the path of the contract suite, from the claim or from the newest accepted exit that names one."""
    said = [s.case.claim, *(one.payload for one in reversed(accepted_exits(s.case, s.inst)))]
    return next((place for each in said if (place := _place_in(each))), "")


def _place_in(fields: Mapping[str, Json]) -> str:
    values = [value for name, value in fields.items() if "contract" in name.lower() and value]
    return next((value for value in values if isinstance(value, str)), "")


async def contract_files(s: Subject) -> list[str]:
    """The test files of the contract suite: the file that is named, or those in the folder."""
    return await _files(s, contract_place(s))


async def planned_contract(s: Subject) -> list[str]:
    """The test files that the contract suite had when it was accepted; none if nothing accepted names one."""
    for one in reversed(accepted_exits(s.case, s.inst)):
        place, commit = _place_in(one.payload), commit_of(s.case, one)
        if place and commit:
            return await _files(s, place, commit)
    return []


async def _files(s: Subject, place: str, commit: str = "") -> list[str]:
    place = place.rstrip("/")
    entries = await s.entries(commit) if place else {}
    inside = [path for path in entries if path.startswith(f"{place}/") and s.tests.is_test(path)]
    return [place] if place in entries else sorted(path for path in inside if not path.endswith(_NO_TESTS))


# Parses a unified diff: the added lines, with their current line numbers.

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


def added_lines(diff: str) -> Iterator[tuple[str, int, str]]:
    """File, number and text of every line that a diff adds."""
    file, number, left = "", 0, 0
    for line in diff.split("\n"):  # other signs that end a line for Python do not for git
        if not left and line.startswith("+++ "):
            file = line[4:].strip().strip('"').removeprefix("b/")
        elif match := _HUNK.match(line):
            number, left = int(match[1]), int(match[2] or 1)
        elif left and line.startswith("+"):
            yield file, number, line[1:]
            number, left = number + 1, left - 1
        elif left and not line.startswith(("-", "\\")):
            number, left = number + 1, left - 1
