"""The world of a project's runs, rebuilt from the settings of each run."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from treadle.agents.files import AROUND
from treadle.agents.program import Patience
from treadle.agents.registry import AgentSetup, key_variables, logins, parse_runner
from treadle.config.bug_reports import BugReports
from treadle.config.kinds import parse_prices
from treadle.config.model import ToolchainSettings
from treadle.config.project import Project
from treadle.config.secrets import Redaction, redaction_of
from treadle.enclosures.box import BubblewrapBox
from treadle.enclosures.container import Container
from treadle.enclosures.port import OPEN, Enclosure
from treadle.enclosures.selection import CONTAINER, open_box
from treadle.engines.baseline import is_needed, take_baseline
from treadle.engines.containers import container_of
from treadle.engines.driver import Surroundings
from treadle.engines.evidence import evidence_of, logged_proof, logged_proved_tests, merge_gaps
from treadle.engines.notifications import OnceNotifier, SettingsNotifier
from treadle.engines.recording import recording_of
from treadle.engines.result import move_older_branches, result_of
from treadle.engines.run_settings import MANUAL, RunSettings, settings_of
from treadle.engines.waits import rest_rule
from treadle.errors import PortError
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.merge_verifier import DeliveryVerifier, MergeVerifier
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.git.delivery import Policy
from treadle.git.effects import GitEffects
from treadle.git.generated import read_generated
from treadle.git.integration import Integration
from treadle.git.lanes import LaneRules, ProjectRepository, open_git
from treadle.kernel.commands import RunAgent, RunEffect
from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.memory.seating import Seating
from treadle.memory.store import FILE as MEMORY
from treadle.ports import Case, Checks, Effects, Progress, Runner, Workspace
from treadle.prompts.question import question
from treadle.prompts.scope import permissions, scope
from treadle.protocol.artifacts import has_bank, view_paths
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.model import Protocol
from treadle.results.tools import HERE, INSIDE
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import AgentTools, Dispatch
from treadle.runtime.loop import Rests
from treadle.runtime.story_files import StoryFiles
from treadle.runtime.view_files import BankFiles, GrowingLog, ViewFiles
from treadle.runtime.world import (
    AgentDirectory,
    BudgetAllowance,
    Budgets,
    Prices,
    RunFiles,
    RunWorld,
    SystemClock,
)
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.toolchains.toolchain import toolchain_of
from treadle.views.evidence_text import commit_body
from treadle.views.outcomes import is_good
from treadle.views.result import result_lines
from treadle.views.status import baseline_line
from treadle.views.story_files import story_globs

# The ports of a run to its repository: effects, and the checks that verify claims.


class RepositoryPorts(NamedTuple):
    """The ports of a run to its repository."""

    workspace: Workspace
    checks: Checks
    effects: Effects
    integration: Integration
    log: GrowingLog
    """The run's log, read once for the checks, the merges and the files."""
    container: Container | None = None
    """The container for agents and checks, if the settings ask for one."""
    box: BubblewrapBox | None = None
    """The sandbox for agents on this machine, if there is one."""


class ProjectPorts:
    """Opens the repository of a project once; all runs of one process share its ref cache."""

    def __init__(self, project: Project, store: Store) -> None:
        self._project, self._store = project, store
        self._opened: dict[str, ProjectRepository] = {}

    async def of(self, run: Run) -> RepositoryPorts:
        """Return the workspace, the checks and the effects of a run; the first call records its base commit."""
        settings = settings_of(run)
        container = await container_of(self._project, run)
        box = await open_box(settings.config.workspace, self._project)
        opened = await self._opened_for(run)
        protocol = self._store.protocol(run.protocol)
        opened.lanes.ignore_changes_to([*view_paths(protocol), *story_globs(protocol)])
        facts, tools, cache = await self._instruments(run, opened, container)
        log = GrowingLog(self._store, run.id)

        def verifier_of(job: RunEffect, case: Case) -> MergeVerifier:
            return MergeVerifier(facts, tools, cache, job, case, partial(logged_proved_tests, log))

        async def dump(path: Path) -> str:
            built = await tools.command("api_dump", path)
            return built.output if built and built.is_well else ""

        def body_of(job: RunEffect) -> str:
            return commit_body(evidence_of(log), job.inst)

        policy = msgspec.convert(settings.config.git.merge, Policy)
        notifier = SettingsNotifier(settings.config.notifications)
        own_dump = dump if settings.config.toolchain.api_dump else None
        gaps_of = partial(merge_gaps, log)
        git = GitEffects(opened.lanes, opened.checkouts, verifier_of, gaps_of, policy, notifier, own_dump, body_of)
        return RepositoryPorts(
            workspace=opened.lanes,
            checks=ClaimVerifier(facts, tools, cache, scope, partial(logged_proof, log), bugs_of(self._project)),
            effects=git,
            integration=opened.integration,
            log=log,
            container=container,
            box=box,
        )

    async def for_delivery(self, run: Run, asker: str) -> tuple[ProjectRepository, DeliveryVerifier]:
        """Return the repository, and the verifier for the result of an ended run on another commit."""
        opened = await self._opened_for(run)
        history = self._store.load(run.id)
        case = Case(protocol=history.protocol, state=history.state, payloads=self._store.payloads)
        instruments = await self._instruments(run, opened, await container_of(self._project, run))
        proved = logged_proved_tests(GrowingLog(self._store, run.id), ROOT)
        return opened, DeliveryVerifier(*instruments, case, asker, proved)

    async def _opened_for(self, run: Run) -> ProjectRepository:
        """Open the repository with the run's generated files in each checkout; they are read when the run begins."""
        config = settings_of(run).config
        prefix = config.git.branch_prefix
        if prefix not in self._opened:
            opened = await open_git(self._project, self._rules_of, prefix)
            if not self._opened:
                await move_older_branches(opened.repository, opened.refs, self._store)
            self._opened[prefix] = opened
        opened = self._opened[prefix]
        integration = opened.integration
        await integration.trunk(run.id, run.created)
        generated = await integration.generated(run.id)
        if not generated and (tree := await read_generated(opened.repository, config.environment.generated)):
            generated = await integration.keep_generated(run.id, tree, run.created)
        return msgspec.structs.replace(opened, checkouts=opened.checkouts.bringing(generated))

    async def _instruments(
        self, run: Run, opened: ProjectRepository, container: Container | None
    ) -> tuple[RepositoryFacts, ProjectTools, Cache]:
        """Return the tools for measurements: the repository, the toolchain, and the cache of earlier results."""
        generated = await opened.integration.generated(run.id)
        tools = ProjectTools(toolchain_of(settings_of(run).config, self._project, container), generated)
        cache = Cache(self._project.local / "measured", self._store.key())
        return RepositoryFacts(opened.lanes, opened.checkouts), tools, cache

    def _rules_of(self, state: State, job: RunAgent) -> LaneRules:
        protocol = self._store.protocol(state.protocol)
        step = protocol.graphs[job.graph].steps[job.step]
        hidden = permissions(protocol, job, self._store.payloads).hidden
        alone = settings_of(self._store.run(state.run)).config.workspace.driver == CONTAINER
        return LaneRules(keep_work=step.keep_work, hidden=hidden, alone=alone)


def bugs_of(project: Project) -> BugReports:
    """Return the folder for reports of bugs in Treadle."""
    return BugReports(project.local / "bugs")


Hear = Callable[[str, str, Progress], None]
"""Receives every sign of life: run, activity, progress."""


def hear_nothing(_run: str, _act: str, _progress: Progress) -> None:
    """Ignore the progress."""


class ProjectSurroundings(Surroundings):
    """Makes the worlds of runs; without `starts_agents`, it starts no programs and only handles people's work."""

    def __init__(
        self,
        project: Project,
        store: Store,
        *,
        starts_agents: bool = True,
        hear: Hear = hear_nothing,
        tools: AgentTools | None = None,
    ) -> None:
        self._project, self._store = project, store
        self._starts_agents, self._hear, self._tools = starts_agents, hear, tools
        self._project_ports = ProjectPorts(project, store)
        self._ports: dict[str, RepositoryPorts] = {}
        self._seating = cache(lambda _run: Seating(project.local / MEMORY, store.payloads))

    def rest_rule(self, run: Run) -> Rests:
        """Return when to stop driving: with agents, once only people could move the run; without, once others could."""
        return rest_rule(self._project.runs / run.id, settings_of(run), starts_agents=self._starts_agents)

    async def open(self, run: Run) -> None:
        """Open the ports of a run; raise a `PortError` if it cannot be driven here."""
        if run.id not in self._ports:
            self._ports[run.id] = await self._project_ports.of(run)

    async def prepare(self, run: Run) -> None:
        """Open the ports of a run, and run the tests on its base commit.

        The tests do not run if their result is known, or an agent has already worked.
        """
        await self.open(run)
        ports, settings, protocol = self._ports[run.id], settings_of(run), self._store.protocol(run.protocol)
        has_begun = any(inst.slots for inst in self._store.load(run.id).state.insts.values())
        if not self._starts_agents or has_begun or not is_needed(protocol, settings.config):
            return
        commit = (await ports.integration.trunk(run.id, run.created)).commit
        if settings.baseline is not None and settings.baseline.commit == commit:
            return

        def say(line: str) -> None:
            self._say(run.id, f"baseline: {line}")

        baseline = await take_baseline(
            self._project, self._store, protocol, settings.config, commit, ports.container, run=run.id, say=say
        )
        self._store.note_settings(run.id, {**run.settings, "baseline": msgspec.to_builtins(baseline)})
        say(baseline_line(baseline))

    async def finish(self, run: Run, world: RunWorld, state: State) -> None:
        """Release the lanes and notify people; errors do not matter any more, because the run has ended."""
        is_well = is_good(state.outcome)
        with suppress(PortError):
            await self.integrate_last(state)
        with suppress(PortError):  # `treadle gc` releases the lanes that stay
            await world.workspace.close(run.id)
        with suppress(PortError):
            result = await result_of(self._project, self._store.run(run.id))
            lines = result_lines(run.id, result, good=is_well) if result else []
            words = "; ".join((f"ended with {state.outcome}", *(line for line in lines if line[0] != " ")))
            await world.notifier.notify(run.id, "done" if is_well else "failed", words)

    async def integrate_last(self, state: State) -> None:
        """Integrate the work that was accepted last, since no later command will do it.

        After a good end it gets a result branch; if not, it is no result and stays below `refs/treadle/`.
        """
        integration = self._ports[state.run].integration
        head = await integration.integrate(state, ROOT)
        if is_good(state.outcome) and settings_of(self._store.run(state.run)).config.git.merge != "never":
            await integration.offer(state.run, head.commit)

    def world(self, run: Run) -> RunWorld:
        """Return the ports of a run; its repository is open already."""
        settings, ports, protocol = settings_of(run), self._ports[run.id], self._store.protocol(run.protocol)
        limits, enclosure = settings.config.limits, ports.container or ports.box or OPEN

        def worded(ask: str) -> str:
            """Return the text of an open question."""
            history = self._store.load(run.id)
            asked = history.state.asks.get(ask)
            if asked is None or asked.command is None:
                return ""
            texts = toolchain_texts(settings.config.toolchain, self._project.root)
            return str(question(history.protocol, history.state, asked.command, self._store.payloads, texts))

        notifier = SettingsNotifier(settings.config.notifications, self._project.root.name, worded)
        return RunWorld(
            clock=SystemClock(),
            payloads=self._store.payloads,
            agents=ProjectAgents(self._project, settings, protocol, enclosure, starts_agents=self._starts_agents),
            workspace=ports.workspace,
            checks=ports.checks,
            effects=ports.effects,
            notifier=OnceNotifier(notifier, self._project.runs / run.id, partial(self._say, run.id)),
            files=ProjectFiles(self._project, run, ports.integration, ports.log, self._seating(run.id)),
            budgets=Budgets(
                step=BudgetAllowance(cost=limits.step_cost, tokens=limits.step_tokens),
                turns=limits.step_turns,
                day=BudgetAllowance(cost=limits.day_cost, tokens=limits.day_tokens),
                spent=self._store.spent,
            ),
            progress=partial(self._hear, run.id),
            bugs=bugs_of(self._project),
        )

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        """Return the dispatcher of a run's agents."""
        config = settings_of(run).config
        texts = toolchain_texts(config.toolchain, self._project.root)
        container, box = self._ports[run.id].container, self._ports[run.id].box
        is_apart = bool(container or (box and not box.network))  # with a loopback of its own
        server, tools = INSIDE if container else HERE, None if is_apart else self._tools
        folder = self._project.runs / run.id
        return Dispatch(desk, world, folder, texts, config.limits.answer, server, tools, self._seating(run.id))

    def _say(self, run: str, note: str) -> None:
        """Report a note to the live view of the run."""
        self._hear(run, f"{ROOT}:", Progress(note=note))


class ProjectAgents(AgentDirectory):
    """The agents of a run by its settings; without `starts_agents`, only people have a runner."""

    def __init__(
        self, project: Project, settings: RunSettings, protocol: Protocol, enclosure: Enclosure, *, starts_agents: bool
    ) -> None:
        self._settings, self._roles, self._starts_agents = settings, protocol.roles, starts_agents
        self._made = cache(lambda agent: make_runner(project, settings, agent, enclosure))

    def runner_of(self, job: RunAgent) -> Runner | None:
        by_person = self._settings.is_by_person(job)
        if not self._starts_agents and not by_person:
            return None
        return self._made(MANUAL if by_person else self._settings.agent_of(job.role))

    def name_of(self, job: RunAgent) -> str:
        return "" if self._settings.is_by_person(job) else self._settings.agent_of(job.role)

    def model_of(self, role: str, tier: int) -> str:
        tiers = self._roles[role].models if role in self._roles else ()
        return self._settings.config.model_of(tiers, tier, self._settings.kind_of(role))

    def prices_of(self, role: str) -> Prices:
        return parse_prices(self._settings.config.prices.get(self._settings.kind_of(role), ""))

    def secrets(self) -> Redaction:
        """Return the secrets to redact, read anew each time, because programs renew their logins."""
        return redaction_of(logins=logins(Path.home()), named=key_variables())


_LONGEST_NOTE: Final = 1_000_000
"""The longest note in bytes; far more than is quoted of it."""


class ProjectFiles(RunFiles):
    """The files of a run below its folder, in the user's checkout and in the base commit."""

    def __init__(self, project: Project, run: Run, integration: Integration, log: GrowingLog, seating: Seating) -> None:
        folder, checkout = project.runs / run.id, checkout_of(project)
        self._run, self._integration, self._seating = run.id, integration, seating
        self._has_bank = has_bank(log.store.protocol(run.protocol))
        self._quotes_notes = settings_of(run).config.environment.notes == "quote"
        self._views = ViewFiles(folder, log.store.payloads)
        self._bank = BankFiles(log, folder, checkout)
        self._stories = StoryFiles(log, folder, checkout, project.local)

    def update(self, protocol: Protocol, state: State) -> list[str]:
        self._views.show(protocol, state)
        self._seating.show(protocol, state)
        return [*self._bank.show(protocol), *self._stories.show(protocol)]

    def bank(self) -> Mapping[str, str]:
        return self._bank.texts() if self._has_bank else {}

    def of_instance(self, inst: str) -> Mapping[str, str]:
        return self._stories.of_instance(inst)

    async def notes(self, paths: Sequence[str]) -> Mapping[str, str]:
        if not self._quotes_notes:
            return {}
        base = await self._integration.trunk(self._run)
        return await self._integration.repository.texts(base.commit, paths, _LONGEST_NOTE)


def checkout_of(project: Project) -> Path | None:
    """Return the user's checkout; None in a bare repository."""
    return project.root if (project.root / ".git").exists() else None


def make_runner(project: Project, settings: RunSettings, agent: str, enclosure: Enclosure = OPEN) -> Runner:
    """Return the runner for an agent's text, or raise a `TreadleError` with the fault."""
    limits, allowed = settings.config.limits, settings.config.environment.allowed
    patience = Patience(asked=float(limits.grace), output=limits.output, final=limits.answer + AROUND)
    recording = partial(recording_of, project)
    around = AgentSetup(root=project.root, allowed=allowed, patience=patience, recording=recording, enclosure=enclosure)
    return parse_runner(agent, around)


def toolchain_texts(toolchain: ToolchainSettings, root: Path) -> dict[str, str]:
    """Return the project's commands for agents to read and run; reports, which only checks read, go to /dev/null."""
    commands = {name: toolchain.command(name, root=str(root), report=os.devnull) for name in TOOLCHAIN}
    return {name: shlex.join(words) for name, words in commands.items() if words}
