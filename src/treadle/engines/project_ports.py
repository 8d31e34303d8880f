"""What a run does to its repository, and what holds its claims against facts."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from treadle.config.project import Project
from treadle.enclosures.box import Box
from treadle.enclosures.container import Container
from treadle.enclosures.opening import CONTAINER, open_box
from treadle.engines.containers import container_of
from treadle.engines.evidence import VerifiedMerges, logged_evidence
from treadle.engines.notifier import SettingsNotifier
from treadle.engines.older_branches import move_older_branches
from treadle.engines.pinned import pinned
from treadle.evidence.cache import Cache
from treadle.evidence.merge_verifier import DeliveryVerifier, MergeVerifier
from treadle.evidence.project_tools import ProjectTools
from treadle.evidence.repository_facts import RepositoryFacts
from treadle.evidence.verify import Verifier
from treadle.git.delivery import Policy
from treadle.git.effects import GitEffects
from treadle.git.integration import Integration
from treadle.git.lanes import Rules
from treadle.git.opened import Opened, open_git
from treadle.kernel.commands import RunAgent, RunEffect
from treadle.kernel.state import State
from treadle.ports import Case, Checks, Effects, Workspace
from treadle.prompts.scope import permissions, scope
from treadle.protocol.memory_bank import view_paths
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.toolchains.toolchain import toolchain_of
from treadle.views.delivered_commit import commit_body
from treadle.views.story_files import story_globs


class Ports(NamedTuple):
    """The ports of a run that lead to its repository."""

    workspace: Workspace
    checks: Checks
    effects: Effects
    integration: Integration
    container: Container | None = None
    """What agents and checks run in, if the settings ask for it."""
    box: Box | None = None
    """What agents run in on this machine, if there is one."""


class ProjectPorts:
    """Opens the repository of a project once; runs of one process share what they know of its refs."""

    def __init__(self, project: Project, store: Store) -> None:
        self._project, self._store = project, store
        self._opened: dict[str, Opened] = {}

    async def of(self, run: Run) -> Ports:
        """The workspace, the checks and the effects of a run; where it starts is noted the first time."""
        settings = pinned(run)
        container = await container_of(self._project, run)
        box = await open_box(settings.config.workspace, self._project)
        opened = await self._open(settings.config.git.branch_prefix)
        await opened.integration.begin(run.id, run.created)
        protocol = self._store.protocol(run.protocol)
        opened.lanes.makes([*view_paths(protocol), *story_globs(protocol)])
        facts, tools, cache = self._instruments(run, opened, container)

        def verifier_of(job: RunEffect, case: Case) -> MergeVerifier:
            return MergeVerifier(facts, tools, cache, job, case)

        async def dump(path: Path) -> str:
            built = await tools.command("api_dump", path)
            return built.output if built and built.is_well else ""

        def body_of(job: RunEffect) -> str:
            return commit_body(logged_evidence(self._store, run.id), job.inst)

        policy = msgspec.convert(settings.config.git.merge, Policy)
        notifier = SettingsNotifier(settings.config.notifications)
        own_dump = dump if settings.config.toolchain.api_dump else None
        git = GitEffects(opened.lanes, opened.checkouts, verifier_of, policy, notifier, own_dump, body_of)
        effects = VerifiedMerges(git, self._store, run.id)
        checks = Verifier(facts, tools, cache, scope)
        return Ports(opened.lanes, checks, effects, opened.integration, container, box)

    async def for_delivery(self, run: Run, asker: str) -> tuple[Opened, DeliveryVerifier]:
        """The repository, and what verifies the result of a run that has ended on another commit."""
        opened = await self._open(pinned(run).config.git.branch_prefix)
        history = self._store.load(run.id)
        case = Case(protocol=history.protocol, state=history.state, payloads=self._store.payloads)
        instruments = self._instruments(run, opened, await container_of(self._project, run))
        return opened, DeliveryVerifier(*instruments, case, asker)

    def _instruments(
        self, run: Run, opened: Opened, container: Container | None
    ) -> tuple[RepositoryFacts, ProjectTools, Cache]:
        """What measurements need: the repository, the project's tools, and what was measured before."""
        tools = ProjectTools(toolchain_of(pinned(run).config, self._project, container))
        cache = Cache(self._project.local / "measured", self._store.key())
        return RepositoryFacts(opened.lanes, opened.checkouts), tools, cache

    async def _open(self, prefix: str) -> Opened:
        if prefix not in self._opened:
            opened = await open_git(self._project, self._rules_of, prefix)
            if not self._opened:
                await move_older_branches(opened.repository, opened.refs, self._store)
            self._opened[prefix] = opened
        return self._opened[prefix]

    def _rules_of(self, state: State, job: RunAgent) -> Rules:
        protocol = self._store.protocol(state.protocol)
        step = protocol.graphs[job.graph].steps[job.step]
        hidden = permissions(protocol, job, self._store.payloads).hidden
        alone = pinned(self._store.run(state.run)).config.workspace.driver == CONTAINER
        return Rules(keep_work=step.keep_work, hidden=hidden, alone=alone)
