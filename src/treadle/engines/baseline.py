"""Runs the project's tests once on the base commit, before the first agent is paid.

The result lies in the cache of measurements, where the checks of the run find it. A toolchain that does not work there
stops the run: no agent could mend it, and each of them would be charged for it.
"""

from treadle.config.detect.node import missing_packages
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.enclosures.enclosure import Enclosure
from treadle.errors import PortError
from treadle.evidence.cache import Cache
from treadle.evidence.failed_before import FAILING, FLAKY
from treadle.evidence.findings import some
from treadle.evidence.flaky import MOST
from treadle.evidence.measure import Measure
from treadle.evidence.project_tools import ProjectTools
from treadle.evidence.repository_facts import RepositoryFacts
from treadle.evidence.suite import bad
from treadle.git.lanes import Rules
from treadle.git.opened import Opened, open_git
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.protocol.reach import Reach
from treadle.store.sqlite import Store
from treadle.toolchains.fitness import commands_of, needs_tests
from treadle.toolchains.results import TestRun
from treadle.toolchains.toolchain import toolchain_of
from treadle.views.baseline import MOST as NAMED
from treadle.views.baseline import Baseline, OldTest

_LOOKED_OVER = ("lint", "format")
"""Commands that are tried on the base, for their programs may start others that nobody can ask for a version."""
_CANNOT_START = (126, 127)
"""What a shell, or a wrapper such as npx, ends with if a program cannot be started."""


_USELESS = (3, 4)
"""Exit codes of pytest that say nothing of any test: an internal error, a wrong option or a broken conftest.py."""


class _BaseFacts(RepositoryFacts):
    """A repository in which no run has begun: every run would start from one commit."""

    def __init__(self, opened: Opened, commit: str) -> None:
        super().__init__(opened.lanes, opened.checkouts)
        self._commit = commit

    async def start(self, run: str) -> str:  # noqa: ARG002
        return self._commit


def is_needed(protocol: Protocol, config: Config, within: Reach | None = None) -> bool:
    """Whether a check of the protocol needs the tests."""
    return bool(config.toolchain.test) and needs_tests(protocol, within)


async def base_commit(project: Project) -> str:
    """The commit that a run would start from now."""
    opened = await open_git(project, _no_rules)
    return (await opened.repository.users("rev-parse", "--verify", "HEAD^{commit}")).text


async def collect_base(project: Project, config: Config) -> tuple[int, str]:
    """How many tests the last commit has, listed by the project's own command; and why they cannot be, if so."""
    opened = await open_git(project, _no_rules, config.git.branch_prefix)
    tools = ProjectTools(toolchain_of(config, project))
    async with opened.checkouts.clean(await base_commit(project)) as path:
        found = await tools.collect(path)
    if not (found.never_began or found.bent):
        return len(found.ids), ""
    lines = [line.strip() for line in found.output.splitlines() if line.strip()]
    said = [line for line in lines if "error" in line.lower()] or lines
    return len(found.ids), "; ".join([*found.bent, *found.problems][:1] + said[-1:])


async def take_baseline(
    project: Project, store: Store, protocol: Protocol, config: Config, commit: str, enclosure: Enclosure | None = None
) -> Baseline:
    """How the tests end on a commit; a `PortError` with a code `env.…` says what keeps them from being run."""
    opened = await open_git(project, _no_rules, config.git.branch_prefix)
    git, tools = _BaseFacts(opened, commit), ProjectTools(toolchain_of(config, project, enclosure))
    measure = Measure(git, tools, Cache(project.local / "measured", store.key()), "", "baseline")
    tree = await git.tree(commit)
    failing_commands = await _try_commands(measure, tree, commands_of(protocol, config.toolchain, advisory=True))
    run = await measure.known_suite(tree)
    _refuse_unrunnable(run, config)
    _refuse_missing_packages(run, project)
    failing = sorted(bad(run))
    flaky = await measure.unstable(tree, failing, config.toolchain.reruns) if len(failing) <= MOST else set()
    return Baseline(
        commit=commit,
        tree=tree,
        passed=len(run.passed),
        failed=len(failing),
        skipped=len(run.with_verdict("skipped", "xfailed")),
        duration=round(run.duration, 1),
        exit=run.exit,
        tests=tuple(OldTest(id_, FLAKY if id_ in flaky else FAILING) for id_ in failing[:NAMED]),
        commands=failing_commands,
    )


async def _try_commands(measure: Measure, tree: str, names: frozenset[str]) -> tuple[str, ...]:
    """The names of those commands that fail on the base commit; a `PortError` if one cannot even start."""
    failing: list[str] = []
    for name in _LOOKED_OVER:
        built = await measure.command(name, tree) if name in names else None
        if built is not None and built.exit in _CANNOT_START:
            said = built.output.strip().splitlines()[-1:] or [f"it ended with {built.exit}"]
            raise PortError(
                f"`toolchain.{name}` cannot start here: {said[0]}; install what it needs, or mend it in treadle.toml",
                code="env.missing",
            )
        failing += [name] if built is not None and not built.is_well else []
    return tuple(failing)


def _refuse_unrunnable(run: TestRun, config: Config) -> None:
    """Refuse to begin where no check that runs the tests could ever pass."""
    if run.is_believable and not (config.toolchain.kind == "pytest" and run.exit in _USELESS and not run.tests):
        return
    said = "\n".join(run.output.strip().splitlines()[-20:])
    why = "; ".join(run.bent or run.problems) or f"it ended by '{run.ended}'"
    if run.ended == "timeout":
        fix = f"make it faster, or raise `toolchain.timeout` (now {config.toolchain.timeout} s)"
        raise PortError(f"the tests of the base commit take too long: {why}; {fix}", code="env.timeout")
    if run.foreign:
        fix = "install the project into its environment by a usual `pip install -e .`, or not at all"
        raise PortError(f"the tests of the base commit do not test it: {why}; {fix}", code="env.editable")
    if run.bent:
        fix = "`treadle doctor` tries the test tool by itself; if that works, a plugin or a conftest.py is at fault"
        raise PortError(f"what the tests of the base commit say cannot be believed: {why}; {fix}", code="env.canaries")
    fix = "install what it needs, or mend `toolchain` in treadle.toml; `treadle doctor` tries it"
    raise PortError(f"the tests of the base commit cannot be run: {why}; {fix}\n{said}".rstrip(), code="env.tests")


def _refuse_missing_packages(run: TestRun, project: Project) -> None:
    """Refuse to begin where tests fail for want of packages that package.json names and no agent can install."""
    printed = "\n".join([run.output, *(test.message for test in bad(run).values())]) if bad(run) else ""
    missing, command = missing_packages(project.root, printed)
    if missing:
        said = f"tests of the base commit need packages of package.json that are not installed: {some(missing)}"
        raise PortError(f"{said}; `{command}` in {project.root}, then start the run again", code="env.missing")


def _no_rules(_state: State, _job: RunAgent) -> Rules:
    raise PortError("no agent works before a run has begun", code="agent.start")
