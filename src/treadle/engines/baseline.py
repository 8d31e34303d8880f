"""Runs the project's tests once on the base commit, before the first agent costs money.

The result goes into the cache of measurements, where the checks of the run find it. A toolchain that does not work
there stops the run: no agent could mend it, and each of them would be charged for it.
"""

import re
import secrets
from collections.abc import Callable

import msgspec

from treadle.config.detection import missing_packages
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.enclosures.port import Enclosure
from treadle.engines.result import no_lanes
from treadle.errors import PortError
from treadle.evidence.baseline import FAILING, FLAKY, INSTRUMENTED, MOST
from treadle.evidence.findings import join_names
from treadle.evidence.measurements import ActivityMeasurements, Cache
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.evidence.suite import bad_tests
from treadle.git.generated import find_generated, generated_entries, missing_generated, read_generated
from treadle.git.globs import naming
from treadle.git.lanes import ProjectRepository, open_git
from treadle.protocol.model import Protocol
from treadle.protocol.reach import Reach
from treadle.store.sqlite import Store
from treadle.toolchains.fitness import commands_of, needs_tests
from treadle.toolchains.results import TestRun
from treadle.toolchains.toolchain import toolchain_of
from treadle.views.status import MOST_OLD_TESTS, Baseline, OldTest

_TRIED_COMMANDS = ("lint", "format")
"""Commands to try on the base commit, because their programs may start others that have no version option."""
_CANNOT_START = (126, 127)
"""Exit codes of a shell, or of a wrapper such as npx, for a program that cannot start."""
_NOT_INSTALLED = re.compile(
    r"No module named|Cannot find (?:module|package)|no required module provides package|ENOENT"
)
"""Messages of test tools about a missing installation."""
_NO_RESULT = (3, 4)
"""Exit codes of pytest without any test result: an internal error, a wrong option or a broken conftest.py."""


class _BaseFacts(RepositoryFacts):
    """A repository without a begun run: every run would start from one commit."""

    def __init__(self, opened: ProjectRepository, commit: str) -> None:
        super().__init__(opened.lanes, opened.checkouts)
        self._commit = commit

    async def start(self, run: str) -> str:  # noqa: ARG002
        return self._commit


def is_needed(protocol: Protocol, config: Config, within: Reach | None = None) -> bool:
    """Whether a check of the protocol needs the tests."""
    return bool(config.toolchain.test) and needs_tests(protocol, within)


async def base_commit(project: Project) -> str:
    """Return the commit that a run would start from now."""
    opened = await open_git(project, no_lanes)
    return (await opened.repository.users("rev-parse", "--verify", "HEAD^{commit}")).text


async def collect_base(project: Project, config: Config) -> tuple[int, str]:
    """Count the tests of the last commit with the project's own command; return the number, and why collecting failed.

    Raise a `PortError` `env.generated` if the tests need files that git ignores.
    """
    opened = await open_git(project, no_lanes, config.git.branch_prefix)
    tools = ProjectTools(toolchain_of(config, project))
    checkouts = opened.checkouts.bringing(await read_generated(opened.repository, config.environment.generated))
    async with checkouts.clean(await base_commit(project)) as path:
        collected = await tools.collect(path)
    printed = [
        collected.output,
        *collected.problems,
        *collected.bent,
        *(test.message for test in collected.errors.values()),
    ]
    if not collected.is_complete or collected.never_began:
        await _refuse_missing_generated("\n".join(printed), project, config)
    if not (collected.never_began or collected.bent):
        return len(collected.ids), ""
    lines = [line.strip() for line in collected.output.splitlines() if line.strip()]
    reasons = [line for line in lines if "error" in line.lower()] or lines
    return len(collected.ids), "; ".join([*collected.bent, *collected.problems][:1] + reasons[-1:])


async def count_generated(project: Project, config: Config) -> int:
    """Count the generated files that lanes would get; raise a `PortError` `generated.…` if they cannot get them."""
    repository = (await open_git(project, no_lanes, config.git.branch_prefix)).repository
    tree = await read_generated(repository, config.environment.generated)
    return len(await generated_entries(repository, tree)) if tree else 0


async def take_baseline(
    project: Project,
    store: Store,
    protocol: Protocol,
    config: Config,
    commit: str,
    enclosure: Enclosure | None = None,
    *,
    run: str = "",
    say: Callable[[str], None] = lambda _line: None,
) -> Baseline:
    """Run the tests on a commit and return the result; raise a `PortError` `env.…` if they cannot run.

    `run` is the run that started from the commit, if any. `say` is called before the tests run, unless an earlier
    result is reused.
    """
    opened = await open_git(project, no_lanes, config.git.branch_prefix)
    generated = await opened.integration.generated(run) if run else ""
    generated = generated or await read_generated(opened.repository, config.environment.generated)
    git = _BaseFacts(msgspec.structs.replace(opened, checkouts=opened.checkouts.bringing(generated)), commit)
    tools = ProjectTools(toolchain_of(config, project, enclosure), generated)
    cache, tree = Cache(project.local / "measured", store.key()), await git.tree(commit)
    measure = ActivityMeasurements(git, tools, cache, "", "baseline")
    earlier = await measure.earlier_suite(tree)
    if earlier is not None and _NOT_INSTALLED.search(_output_of(earlier)):
        # What was not installed then may be now: ask anew, under a name that has no earlier answers.
        earlier, measure = None, ActivityMeasurements(git, tools, cache, "", f"baseline:{secrets.token_hex(8)}")
    if earlier is None:
        say(f"running the tests of the base commit {commit[:12]}")
    failing_commands = await _try_commands(measure, tree, commands_of(protocol, config.toolchain, advisory=True))
    result = earlier or await measure.suite(tree, mirrors=False)
    if not result.is_green:
        await _refuse_missing_generated(_output_of(result), project, config)
    _refuse_unrunnable(result, config)
    _refuse_missing_packages(result, project)
    failing = sorted(bad_tests(result))
    flaky = await measure.unstable(tree, sorted(result.tests), times=0)  # known from earlier runs on this tree
    flaky |= await measure.unstable(tree, failing, config.toolchain.reruns) if len(failing) <= MOST else set()
    codes = (
        dict.fromkeys(result.by_runner, INSTRUMENTED) | dict.fromkeys(failing, FAILING) | dict.fromkeys(flaky, FLAKY)
    )
    return Baseline(
        commit=commit,
        tree=tree,
        passed=len(result.passed),
        failed=len(failing),
        skipped=len(result.with_verdict("skipped", "xfailed")),
        duration=round(result.duration, 1),
        exit=result.exit,
        tests=tuple(OldTest(id_, code) for id_, code in sorted(codes.items())[:MOST_OLD_TESTS]),
        commands=failing_commands,
        is_reused=earlier is not None,
    )


async def _try_commands(measure: ActivityMeasurements, tree: str, names: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the commands that fail on the base commit; raise a `PortError` if one cannot even start."""
    failing: list[str] = []
    for name in _TRIED_COMMANDS:
        built = await measure.command(name, tree) if name in names else None
        if built is not None and built.exit in _CANNOT_START:
            lines = built.output.strip().splitlines()[-1:] or [f"it ended with {built.exit}"]
            raise PortError(
                f"`toolchain.{name}` cannot start here: {lines[0]}; install what it needs, or correct treadle.toml",
                code="env.missing",
            )
        failing += [name] if built is not None and not built.is_well else []
    return tuple(failing)


def _refuse_unrunnable(run: TestRun, config: Config) -> None:
    """Refuse to start a run if no check that runs the tests could ever pass."""
    if run.is_believable and not (config.toolchain.kind == "pytest" and run.exit in _NO_RESULT and not run.tests):
        return
    output = "\n".join(run.output.strip().splitlines()[-20:])
    why = "; ".join(run.bent or run.problems) or f"it ended by '{run.ended}'"
    if run.ended == "timeout":
        fix = f"make it faster, or raise `toolchain.timeout` (now {config.toolchain.timeout} s)"
        raise PortError(f"the tests of the base commit take too long: {why}; {fix}", code="env.timeout")
    if run.foreign:
        fix = "install the project into its environment with a plain `pip install -e .`, or not at all"
        raise PortError(f"the tests of the base commit do not test that commit: {why}; {fix}", code="env.editable")
    if run.bent:
        fix = "`treadle doctor` tries the test tool by itself; if that works, a plugin or a conftest.py is at fault"
        raise PortError(f"the test results of the base commit cannot be trusted: {why}; {fix}", code="env.canaries")
    fix = "install what it needs, or correct `toolchain` in treadle.toml; `treadle doctor` tries it"
    raise PortError(f"the tests of the base commit cannot be run: {why}; {fix}\n{output}".rstrip(), code="env.tests")


def _refuse_missing_packages(run: TestRun, project: Project) -> None:
    """Refuse to start a run if tests fail without packages that package.json names and no agent can install."""
    missing, command = missing_packages(project.root, _output_of(run) if bad_tests(run) else "")
    if missing:
        said = f"tests of the base commit need packages of package.json that are not installed: {join_names(missing)}"
        raise PortError(f"{said}; `{command}` in {project.root}, then start the run again", code="env.missing")


async def _refuse_missing_generated(printed: str, project: Project, config: Config) -> None:
    """Refuse to start a run if tests fail without files that the user's checkout has and git ignores."""
    is_brought = naming(config.environment.generated)
    missing = [path for path in await missing_generated(project.root, printed) if not is_brought(path)]
    if missing:
        globs = ", ".join(f'"{path}"' for path in (await find_generated(project.root)).globs or missing)
        raise PortError(
            f"tests of the base commit need {join_names(missing)}, which {project.root} has and git ignores, so no "
            f"lane has it; set `environment.generated = [{globs}]` in treadle.toml, then start the run again",
            code="env.generated",
        )


def _output_of(run: TestRun) -> str:
    """Return all output of a test run that explains its failures."""
    return "\n".join([run.output, *run.problems, *run.bent, *(test.message for test in bad_tests(run).values())])
