"""What a run does to its repository, and what holds its claims against facts."""

from treadle.config.project import Project
from treadle.engines.folders import Folders
from treadle.engines.unavailable import NoChecks, NoEffects
from treadle.ports import Checks, Effects, Workspace
from treadle.store.records import Run


def ports_of(project: Project, run: Run) -> tuple[Workspace, Checks, Effects]:
    """The workspace, the checks and the effects of a run."""
    return Folders(project.worktrees), NoChecks(), NoEffects()
