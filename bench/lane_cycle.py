"""One cycle of a lane by Treadle's own ports, with agents that take no time, and how often tests were run in it."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from immutables import Map

from bench.lane_project import Cycle, command, write
from treadle.config.model import ToolchainSettings as Settings
from treadle.config.project import Project
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.merge_verifier import MergeVerifier
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.git.effects import GitEffects
from treadle.git.lanes import LaneRules, ProjectRepository, open_git
from treadle.kernel.commands import RunAgent, RunChecks, RunEffect
from treadle.kernel.state import Activity, Instance, Slot, State
from treadle.ports import Case, Outcome
from treadle.prompts.scope import scope
from treadle.protocol.items import Json, content_ref
from treadle.protocol.load import load
from treadle.protocol.model import CheckRef
from treadle.toolchains.results import CollectedTests, TestRun
from treadle.toolchains.toolchain import ProjectToolchain, tests_of

CHILD, SIBLING = "root/calc", "root/other"
SPEC: dict[str, Json] = {
    "id": "calc",
    "description": "adds numbers",
    "acceptanceCriteria": [{"id": "AC-1", "text": "adds"}],
    "targetPath": "src/calc",
    "testPath": "tests/calc",
}
RED = "checkpoint scope scope_tests build manifest red"
GREEN = "checkpoint scope build green manifest tests_unmodified no_undefined"


class Counted(ProjectTools):
    """Tools that count the runs of tests, by the stage that asked for them."""

    def __init__(self, toolchain: ProjectToolchain) -> None:
        super().__init__(toolchain)
        self.stage = ""
        self.runs: Counter[str] = Counter()

    async def test(
        self,
        path: Path,
        ids: tuple[str, ...] | None = None,
        files: tuple[str, ...] | None = None,
        limit: float | None = None,
        *,
        test_limit: float | None = None,
        mirrors: bool = True,
    ) -> TestRun:
        self.runs[self.stage] += 1
        return await super().test(path, ids, files, limit, test_limit=test_limit, mirrors=mirrors)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        self.runs[self.stage] += 1
        return await super().collect(path, files)


class _Payloads:
    def __init__(self) -> None:
        self._values: dict[str, Json] = {}

    def put(self, value: Json) -> str:
        ref = content_ref(value)
        self._values[ref] = value
        return ref

    def get(self, ref: str) -> Json:
        return self._values[ref]


class Room:
    """A project that runs can be made in; it stays open, as it does in the orchestrator's process."""

    def __init__(self, opened: ProjectRepository, tools: Counted) -> None:
        self.opened, self.tools = opened, tools
        self.facts = RepositoryFacts(opened.lanes, opened.checkouts)
        self.protocol = load("v3")


async def open_room(root: Path) -> Room:
    settings = Settings(kind="pytest", timeout=600, test=command())
    toolchain = ProjectToolchain(settings=settings, root=root, tests=tests_of(settings, root, None))
    return Room(await open_git(Project(root), lambda *_: LaneRules()), Counted(toolchain))


class CycleRun:
    """A run with one root and two children; the kernel's part is played here."""

    def __init__(self, room: Room, run: str, measured: Path) -> None:
        self._room, self._run = room, run
        self._payloads = _Payloads()
        self._insts: dict[str, Instance] = {}
        self._acts: dict[str, Activity] = {}
        self._seq = 1
        for inst in ("root", CHILD, SIBLING):
            self._add(inst)
        cache = Cache(measured, bytes(32))
        self._verifier = ClaimVerifier(room.facts, room.tools, cache, scope)
        self._effects = GitEffects(
            room.opened.lanes,
            room.opened.checkouts,
            lambda job, case: MergeVerifier(room.facts, room.tools, cache, job, case),
            lambda _inst: [],
        )

    async def go(self, work: Cycle) -> None:
        """Lane, commit, red, green, squash merge, rebase of the sibling."""
        await self._room.opened.integration.trunk(self._run, 1_700_000_000_000)
        await self._claim("sibling", SIBLING, "tests", "TestsReady", work.sibling, "checkpoint")
        await self._claim("red", CHILD, "tests", "TestsReady", work.tests, RED)
        await self._claim("green", CHILD, "impl", "TestsPassed", work.impl, GREEN)
        merged = await self._effect("merge", CHILD, "merge")
        rebased = await self._effect("rebase", SIBLING, "rebase")
        if (merged.exit, rebased.exit) != ("MergeComplete", "RebaseClean"):
            raise AssertionError(f"{merged} {rebased}")
        await self._room.opened.lanes.close(self._run)

    @property
    def _state(self) -> State:
        return State(
            run=self._run, seq=self._seq, started=1_700_000_000_000, insts=Map(self._insts), acts=Map(self._acts)
        )

    def _add(self, inst: str) -> None:
        parent, _, key = inst.rpartition("/")
        given = Slot(self._payloads.put(SPEC))
        self._insts[inst] = Instance(inst, len(self._insts) + 1, "node", given, parent=parent, key=key)

    def _case(self) -> Case:
        return Case(protocol=self._room.protocol, state=self._state, payloads=self._payloads)

    async def _claim(self, stage: str, inst: str, step: str, exit_: str, files: Mapping[str, str], checks: str) -> None:
        self._room.tools.stage = stage
        refs = tuple(CheckRef(name=word) for word in checks.split())
        common: dict[str, Any] = {
            "id": f"{inst}:{step}#1.1",
            "inst": inst,
            "graph": "node",
            "step": step,
            "visit": 1,
            "attempt": 1,
            "inputs": {"in": (self._insts[inst].input.ref,)},
        }
        agent = RunAgent(**common, role="x", attempts=5, lane=step)
        lane = await self._room.opened.lanes.open(self._state, agent)
        write(lane.path, dict(files))
        self._acts[agent.id] = Activity(agent, phase="verifying")
        job = RunChecks(**common, checks=refs, exit=exit_, payload_ref=self._payloads.put({}))
        verdict = await self._verifier.verify(job, self._case())
        if not all(one.ok for one in verdict.results):
            raise AssertionError(verdict.report)
        del self._acts[agent.id]
        self._seq += 1
        self._insts[inst].slots[f"{step}.{exit_}"] = Slot(self._payloads.put(dict(verdict.fields)), seq=self._seq)
        self._insts[inst].last[step] = exit_

    async def _effect(self, stage: str, inst: str, effect: str) -> Outcome:
        self._room.tools.stage = stage
        steps = self._room.protocol.graphs["node"].steps
        step = next(name for name, one in steps.items() if one.effect == effect)
        job = RunEffect(id=f"{inst}:{step}#1.1", inst=inst, graph="node", step=step, visit=1, attempt=1, effect=effect)
        done = await self._effects.perform(job, self._case())
        self._seq += 1
        return done
