"""Everything of this room for one project, put together."""

import msgspec

from treadle.config.project import Project, make_local
from treadle.git.checkout import Checkouts
from treadle.git.integration import Integration
from treadle.git.lanes import Lanes, RulesOf
from treadle.git.names import DEFAULT_PREFIX
from treadle.git.record import Recorder
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.git.trees import Trees


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A project's repository, ready for runs."""

    repository: Repository
    refs: Refs
    trees: Trees
    integration: Integration
    lanes: Lanes
    checkouts: Checkouts


async def open_git(project: Project, rules_of: RulesOf, prefix: str = DEFAULT_PREFIX) -> Opened:
    """The repository of a project; a `PortError` says why no run can work with it."""
    make_local(project)
    repository = await open_repository(project)
    refs = Refs(repository)
    integration = Integration(repository, refs, prefix)
    recorder = Recorder(repository)
    return Opened(
        repository=repository,
        refs=refs,
        trees=recorder.trees,
        integration=integration,
        lanes=Lanes(integration, project.worktrees, rules_of, recorder),
        checkouts=Checkouts(repository, recorder, project.worktrees),
    )
