"""A real repository with a run in it, whose claims are verified for real, for the tests of this room."""

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from immutables import Map

from tests.git.place import git, write
from treadle.config.model import ToolchainSettings as Settings
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.git.checkpoint import Recorder
from treadle.git.integration import Integration
from treadle.git.lanes import LaneRules, Lanes
from treadle.git.refs import Refs
from treadle.git.repository import open_repository
from treadle.git.slots import Checkouts
from treadle.kernel.activities import failed_checks
from treadle.kernel.commands import RunAgent, RunChecks
from treadle.kernel.state import Activity, Group, Instance, Slot, State
from treadle.ports import Case, Verdict
from treadle.prompts.scope import scope
from treadle.protocol.items import Json, content_ref
from treadle.protocol.load import load
from treadle.protocol.model import CheckRef, Protocol
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

T = TypeVar("T")
RUN = "r1"
PYTEST = (sys.executable, "-m", "pytest")
SKELETON = 'def add(a: int, b: int) -> int:\n    """The sum."""\n    raise NotImplementedError\n'
ADD = "def add(a: int, b: int) -> int:\n    return a + b\n"
TEST = "from src.calc.add import add\n\n\ndef test_adds() -> None:\n    assert add(2, 3) == 5\n"
MANIFEST = '{"spec_id": "calc", "acceptance_criteria_map": {"test_adds": "AC-1: adds"}}\n'
SPEC: dict[str, Json] = {
    "id": "calc",
    "description": "adds numbers",
    "acceptanceCriteria": [{"id": "AC-1", "text": "adds"}],
    "targetPath": "src/calc",
    "testPath": "tests/calc",
}
FILES = {"README.md": "# calc\n", "src/calc/__init__.py": "", "src/calc/add.py": SKELETON}


loaded = cache(load)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Memory:
    """Payloads, kept while a test runs."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}

    def put(self, value: Json) -> str:
        ref = content_ref(value)
        self.values[ref] = value
        return ref

    def get(self, ref: str) -> Json:
        if ref not in self.values:
            raise PortError(f"{ref} is missing")
        return self.values[ref]


class Stage:
    """A run of a protocol in a repository of its own."""

    def __init__(
        self,
        tmp_path: Path,
        protocol: str | Protocol = "v3",
        files: Mapping[str, str] = FILES,
        graph: str = "node",
        given: Mapping[str, Json] = SPEC,
        **commands: Any,
    ) -> None:
        self.root = tmp_path / "repo"
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        write(self.root, dict(files))
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "first")
        self.protocol = loaded(protocol) if isinstance(protocol, str) else protocol
        self.payloads = Memory()
        self.seq = 1
        self.insts: dict[str, Instance] = {}
        self.acts: dict[str, Activity] = {}
        self.add("root", graph, given)
        self.cache = tmp_path.parent / "known"
        self.commands = commands
        self.settings = Settings(kind="pytest", timeout=60, test=PYTEST, **commands)

    async def start(self) -> "Stage":
        project = Project(self.root)
        make_local(project)
        repository = await open_repository(project)
        self.integration = Integration(repository, Refs(repository))
        recorder = Recorder(repository)
        self.lanes = Lanes(self.integration, project.worktrees, self._rules, recorder)
        self.facts = RepositoryFacts(self.lanes, Checkouts(repository, project.worktrees))
        # without plugins, as they take their time to load
        tests = Pytest(command=PYTEST, root=self.root, timeout=60, sandbox=NONE, plugins=())
        self.tools = tools = ProjectTools(
            ProjectToolchain(settings=self.settings, root=self.root, tests=tests, sandbox=NONE)
        )
        tools.base = repr(self.commands)  # one project's results hold for the next one's equal trees
        self.verifier = ClaimVerifier(self.facts, tools, Cache(self.cache, b"key"), scope)
        return self

    def _rules(self, _state: State, job: RunAgent) -> LaneRules:
        return LaneRules(keep_work=self.protocol.graphs[job.graph].steps[job.step].keep_work)

    def add(self, inst: str, graph: str, given: Mapping[str, Json], **more: Any) -> Instance:
        """An instance; `root/a` is a child of `root`, in the group that its graph spawns."""
        parent, _, key = inst.rpartition("/")
        slot = Slot(self.payloads.put(dict(given)))
        self.insts[inst] = Instance(inst, len(self.insts) + 1, graph, slot, parent=parent, key=key, **more)
        if parent in self.insts:
            groups = self.insts[parent].groups
            groups["children"] = Group(members=groups.get("children", Group()).members.set(key, inst))
        return self.insts[inst]

    @property
    def state(self) -> State:
        return State(run=RUN, seq=self.seq, started=1_700_000_000_000, insts=Map(self.insts), acts=Map(self.acts))

    async def claim(
        self,
        step: str,
        exit_: str,
        files: Mapping[str, str | bytes | None] | None = None,
        fields: Mapping[str, Json] | None = None,
        checks: str | tuple[CheckRef, ...] | None = None,
        inst: str = "root",
        n: str = "1.1",
    ) -> Verdict:
        """An agent writes files (None: removes them) and claims an exit; what passes is accepted."""
        graph = self.protocol.graphs[self.insts[inst].graph]
        refs = graph.steps[step].gates.get(exit_, ()) if checks is None else checks
        refs = parsed(refs) if isinstance(refs, str) else refs
        visit, _, attempt = n.partition(".")
        common: dict[str, Any] = {
            "id": f"{inst}:{step}#{n}",
            "inst": inst,
            "graph": self.insts[inst].graph,
            "step": step,
        }
        numbers: dict[str, Any] = {"visit": int(visit), "attempt": int(attempt)}
        inputs: dict[str, tuple[str, ...]] = {"in": (self.insts[inst].input.ref,)}
        agent = RunAgent(**common, **numbers, inputs=inputs, role="x", attempts=5, lane=graph.steps[step].lane)
        lane = await self.lanes.open(self.state, agent)
        self.change(lane.path, files or {})
        self.acts[agent.id] = Activity(agent, phase="verifying")
        claim = dict(fields or {})
        ref = self.payloads.put(claim)
        job = RunChecks(**common, **numbers, inputs=inputs, checks=refs, exit=exit_, payload_ref=ref)
        verdict = await self.verifier.verify(job, self.case(claim))
        del self.acts[agent.id]
        self.ended(job, verdict, claim)
        return verdict

    async def check(self, step: str, checks: str, inst: str = "root", n: str = "1.1") -> Verdict:
        """A step of checks."""
        visit, _, attempt = n.partition(".")
        job = RunChecks(
            id=f"{inst}:{step}#{n}",
            inst=inst,
            graph=self.insts[inst].graph,
            step=step,
            visit=int(visit),
            attempt=int(attempt),
            checks=parsed(checks),
        )
        return await self.verifier.verify(job, self.case({}))

    def case(self, claim: Mapping[str, Json]) -> Case:
        return Case(protocol=self.protocol, state=self.state, payloads=self.payloads, claim=claim)

    @staticmethod
    def change(root: Path, files: Mapping[str, str | bytes | None]) -> None:
        write(root, {path: text for path, text in files.items() if text is not None})
        for path, text in files.items():
            if text is None:
                (root / path).unlink()

    def ended(self, job: RunChecks, verdict: Verdict, claim: dict[str, Json]) -> None:
        """The kernel takes note."""
        self.seq += 1
        inst = self.insts[job.inst]
        passed = is_accepted(job.checks, verdict)
        key = job.exit if passed else "!gate"
        value: Json = {**claim, **verdict.fields}
        if not passed:
            listed: list[Json] = [{"check": one.check, "report": one.report_ref} for one in verdict.results]
            value = {"report": verdict.report, "checks": listed}
        inst.slots[f"{job.step}.{key.partition('.')[0]}"] = Slot(self.payloads.put(value), seq=self.seq)
        inst.last[job.step] = key

    def evidence(self, verdict: Verdict, check: str) -> dict[str, Any]:
        """What is kept about a check."""
        ref = next(one.report_ref for one in verdict.results if one.check == check)
        value = self.payloads.get(ref)
        assert isinstance(value, dict)
        return value

    def codes(self, verdict: Verdict, check: str) -> list[str]:
        """The codes of what a check has found, its notes included."""
        return [one["code"] for one in self.evidence(verdict, check)["findings"]]

    def found(self, verdict: Verdict, check: str) -> list[tuple[str, str]]:
        """The findings of a check, its notes included: the test, line, file or criterion of each, and its code."""
        return [(_place(one), one["code"]) for one in self.evidence(verdict, check)["findings"]]

    # stories that many tests begin with

    async def scaffolded(self) -> "Stage":
        """A node whose plan was accepted."""
        fields: dict[str, Json] = {
            "interfaceFile": "src/calc/__init__.py",
            "contractSuite": "tests/calc/test_contract.py",
            "testPlan": [{"criterionId": "AC-1", "plannedTestName": "test_adds", "approach": "call it"}],
        }
        verdict = await self.claim(
            "scaffold", "InitWork", {"src/calc/add.py": f"{SKELETON}\n"}, fields, "checkpoint scope"
        )
        assert not verdict.report
        return self

    async def tested(self, files: Mapping[str, str] | None = None) -> "Stage":
        """A node whose tests were accepted, by a gate that runs none of them."""
        await self.scaffolded()
        given = files or {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await self.claim("tests", "TestsReady", given, checks="checkpoint scope_tests")
        assert not verdict.report
        return self


def _place(finding: Mapping[str, Any]) -> str:
    file, line = finding.get("file", ""), finding.get("line", 0)
    return str(finding.get("test") or (f"{file}:{line}" if line else file) or finding.get("criterion", ""))


def parsed(checks: str) -> tuple[CheckRef, ...]:
    """`a b:arg c?`"""
    words = [(word.rstrip("?"), word.endswith("?")) for word in checks.split()]
    return tuple(
        CheckRef(name=word.partition(":")[0], arg=word.partition(":")[2], advisory=advisory) for word, advisory in words
    )


def is_accepted(checks: tuple[CheckRef, ...], verdict: Verdict) -> bool:
    return not failed_checks(checks, verdict.results)
