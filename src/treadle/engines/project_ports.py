"""What a run does to its repository, and what holds its claims against facts."""

from typing import NamedTuple

import msgspec

from treadle.config.project import Project
from treadle.engines.merge_verifier import MergeVerifier
from treadle.engines.notifier import SettingsNotifier
from treadle.engines.pinned import Pinned, pinned
from treadle.evidence.cache import Cache
from treadle.evidence.project_tools import ProjectTools
from treadle.evidence.repository_facts import RepositoryFacts
from treadle.evidence.verify import Verifier
from treadle.git.checkout import Checkouts
from treadle.git.delivery import Policy
from treadle.git.effects import GitEffects
from treadle.git.integration import Integration
from treadle.git.lanes import Lanes, Rules
from treadle.git.record import Recorder
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Checks, Effects, Workspace
from treadle.prompts.scope import permissions, scope
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.toolchains.toolchain import toolchain_of


class Ports(NamedTuple):
    """The ports of a run that lead to its repository."""

    workspace: Workspace
    checks: Checks
    effects: Effects


class _Opened(NamedTuple):
    lanes: Lanes
    checkouts: Checkouts


class ProjectPorts:
    """Opens the repository of a project once; runs of one process share what they know of its refs."""

    def __init__(self, project: Project, store: Store) -> None:
        self._project, self._store = project, store
        self._repository: Repository | None = None
        self._opened: dict[str, _Opened] = {}

    async def of(self, run: Run) -> Ports:
        """The workspace, the checks and the effects of a run; where it starts is noted the first time."""
        settings = pinned(run)
        opened = await self._open(settings.config.git.branch_prefix)
        await opened.lanes.integration.begin(run.id, run.created)
        tools = ProjectTools(toolchain_of(settings.config, self._project))
        facts = RepositoryFacts(opened.lanes, opened.checkouts)
        checks = Verifier(facts, tools, Cache(self._project.local / "measured"), scope)
        return Ports(opened.lanes, checks, _effects(opened, settings, tools))

    async def _open(self, prefix: str) -> _Opened:
        if self._repository is None:
            self._repository = await open_repository(self._project)
        if prefix not in self._opened:
            integration = Integration(self._repository, Refs(self._repository), prefix)
            recorder, folder = Recorder(self._repository), self._project.worktrees
            lanes = Lanes(integration, folder, self._rules_of, recorder)
            self._opened[prefix] = _Opened(lanes, Checkouts(self._repository, recorder, folder))
        return self._opened[prefix]

    def _rules_of(self, state: State, job: RunAgent) -> Rules:
        protocol = self._store.protocol(state.protocol)
        step = protocol.graphs[job.graph].steps[job.step]
        hidden = permissions(protocol, job, self._store.payloads).hidden
        return Rules(keep_work=step.keep_work, hidden=hidden)


def _effects(opened: _Opened, settings: Pinned, tools: ProjectTools) -> Effects:
    policy = msgspec.convert(settings.config.git.merge, Policy)
    notifier = SettingsNotifier(settings.config.notifications)
    verifier = MergeVerifier(tools)
    return GitEffects(opened.lanes, opened.checkouts, lambda _job, _case: verifier, policy, notifier)
