"""The world of a project's runs, made anew from how each of them was started."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from treadle.agents.process import Patience
from treadle.agents.registry import Surroundings as AgentSurroundings
from treadle.agents.registry import key_variables, logins, runner_of
from treadle.agents.tail import AROUND
from treadle.config.kinds import parse_prices
from treadle.config.model import Limits, Toolchain
from treadle.config.project import Project
from treadle.config.redaction import Redaction, redaction_of
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.engines.notifier import SettingsNotifier
from treadle.engines.pinned import MANUAL, Pinned, pinned
from treadle.engines.project_ports import Ports, ProjectPorts
from treadle.engines.recording import recording_of
from treadle.engines.telling_aloud import TellingAloud
from treadle.engines.telling_once import TellingOnce
from treadle.git.integration import Integration
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.memory.shape import FILE as MEMORY
from treadle.ports import Progress, Runner
from treadle.prompts.question import question
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.memory_bank import has_bank
from treadle.protocol.model import Protocol
from treadle.results.mcp_tool import HERE, INSIDE
from treadle.runtime.bank_files import BankFiles
from treadle.runtime.budgets import Allowance, Budgets
from treadle.runtime.clock import SystemClock
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.seating import Seating
from treadle.runtime.story_files import StoryFiles
from treadle.runtime.tools import Tools
from treadle.runtime.view_files import ViewFiles
from treadle.runtime.world import World
from treadle.store.records import Run
from treadle.store.sqlite import Store

_LONGEST_NOTE: Final = 1_000_000
"""Bytes; far more than is quoted of it."""
Hear = Callable[[str, str, Progress], None]
"""Told of every sign of life: run, activity, progress."""


async def _notes(integration: Integration, run: str, paths: Sequence[str]) -> Mapping[str, str]:
    """The project's notes for agents, as the commit has them that the run starts from."""
    return await integration.repository.texts((await integration.begin(run)).commit, paths, _LONGEST_NOTE)


async def _none(_paths: Sequence[str]) -> Mapping[str, str]:
    return {}


def hear_nothing(_run: str, _act: str, _progress: Progress) -> None:
    """Nobody looks."""


class ProjectSurroundings:
    """Makes worlds; without `starts_agents`, programs are left as they are, and only people's work is taken up."""

    def __init__(
        self,
        project: Project,
        store: Store,
        *,
        starts_agents: bool = True,
        hear: Hear = hear_nothing,
        tools: Tools | None = None,
    ) -> None:
        self._project, self._store = project, store
        self._starts_agents, self._hear, self._tools = starts_agents, hear, tools
        self._project_ports = ProjectPorts(project, store)
        self._ports: dict[str, Ports] = {}
        self._seating = cache(lambda _run: Seating(project.local / MEMORY, store.payloads))

    async def prepare(self, run: Run) -> None:
        """Open what the run's world needs; a `PortError` says why it cannot be driven here."""
        if run.id not in self._ports:
            self._ports[run.id] = await self._project_ports.of(run)

    async def start_of(self, run: Run) -> str:
        """The commit that a run starts from; its world is prepared."""
        return (await self._ports[run.id].integration.begin(run.id, run.created)).commit

    async def settle(self, state: State) -> None:
        """Bring together what was accepted last, for no command will ask for it any more, and give it a branch."""
        integration = self._ports[state.run].integration
        head = await integration.head(state, ROOT)
        if pinned(self._store.run(state.run)).config.git.merge != "never":
            await integration.offer(state.run, head.commit)

    def world(self, run: Run) -> World:
        settings = pinned(run)
        protocol, folder = self._store.protocol(run.protocol), self._project.runs / run.id
        roles, ports = protocol.roles, self._ports[run.id]
        views = ViewFiles(folder, self._store.payloads)
        checkout = checkout_of(self._project)
        banked = BankFiles(self._store, run.id, folder, checkout)
        told = StoryFiles(self._store, run.id, folder, checkout, self._project.local)

        def model_of(role: str, tier: int) -> str:
            tiers = roles[role].models if role in roles else ()
            return settings.config.model_of(tiers, tier, settings.kind_of(role))

        def runner(agent: str) -> Runner:
            return make_runner(self._project, settings, agent, ports.container or ports.box or OPEN)

        return World(
            clock=SystemClock(),
            payloads=self._store.payloads,
            runner_of=partial(self._runner, settings, cache(runner)),
            agent_of=lambda job: "" if settings.is_by_person(job) else settings.agent_of(job.role),
            model_of=model_of,
            workspace=ports.workspace,
            checks=ports.checks,
            effects=ports.effects,
            notifier=TellingOnce(TellingAloud(self._notifier(run.id, settings), partial(self._say, run.id)), folder),
            budgets=_budgets(settings.config.limits, self._store.spent),
            prices_of=lambda role: parse_prices(settings.config.prices.get(settings.kind_of(role), "")),
            progress=partial(self._hear, run.id),
            hidden=_hidden,
            show=partial(_show, views, banked, told, self._seating(run.id)),
            bank=partial(_bank, banked, protocol),
            files_of=told.of_instance,
            notes=partial(_notes, ports.integration, run.id) if settings.config.environment.notes == "quote" else _none,
        )

    def dispatch(self, run: Run, desk: Desk, world: World) -> Dispatch:
        config = pinned(run).config
        texts = toolchain_texts(config.toolchain, self._project.root)
        container, box = self._ports[run.id].container, self._ports[run.id].box
        is_apart = bool(container or (box and not box.network))  # with a loopback of its own
        server, tools = INSIDE if container else HERE, None if is_apart else self._tools
        folder = self._project.runs / run.id
        return Dispatch(desk, world, folder, texts, config.limits.answer, server, tools, self._seating(run.id))

    def _notifier(self, run: str, settings: Pinned) -> SettingsNotifier:
        worded = partial(self._worded, run, settings)
        return SettingsNotifier(settings.config.notifications, self._project.root.name, worded)

    def _say(self, run: str, note: str) -> None:
        """To whoever watches the run."""
        self._hear(run, f"{ROOT}:", Progress(note=note))

    def _worded(self, run: str, settings: Pinned, ask: str) -> str:
        """A question that is open, as people read it."""
        history = self._store.load(run)
        asked = history.state.asks.get(ask)
        if asked is None or asked.command is None:
            return ""
        texts = toolchain_texts(settings.config.toolchain, self._project.root)
        return str(question(history.protocol, history.state, asked.command, self._store.payloads, texts))

    def _runner(self, settings: Pinned, made: Callable[[str], Runner], job: RunAgent) -> Runner | None:
        by_person = settings.is_by_person(job)
        if not self._starts_agents and not by_person:
            return None
        return made(MANUAL if by_person else settings.agent_of(job.role))


def _show(
    files: ViewFiles, banked: BankFiles, told: StoryFiles, seating: Seating, protocol: Protocol, state: State
) -> list[str]:
    files.show(protocol, state)
    seating.show(protocol, state)
    return [*banked.show(protocol), *told.show(protocol)]


def _bank(banked: BankFiles, protocol: Protocol) -> Mapping[str, str]:
    return banked.texts() if has_bank(protocol) else {}


def checkout_of(project: Project) -> Path | None:
    """Where the user has files; None in a bare repository."""
    return project.root if (project.root / ".git").exists() else None


def _hidden() -> Redaction:
    """Asked each time: programs renew their logins."""
    return redaction_of(logins=logins(Path.home()), named=key_variables())


def _budgets(limits: Limits, spent: Callable[[int], Usage]) -> Budgets:
    step = Allowance(cost=limits.step_cost, tokens=limits.step_tokens)
    day = Allowance(cost=limits.day_cost, tokens=limits.day_tokens)
    return Budgets(step=step, turns=limits.step_turns, day=day, spent=spent)


def make_runner(project: Project, settings: Pinned, agent: str, enclosure: Enclosure = OPEN) -> Runner:
    """The runner that a text names; a `TreadleError` says what is wrong with it."""
    limits, allowed = settings.config.limits, settings.config.environment.allowed
    patience = Patience(asked=float(limits.grace), output=limits.output, final=limits.answer + AROUND)
    recording = partial(recording_of, project)
    around = AgentSurroundings(
        root=project.root, allowed=allowed, patience=patience, recording=recording, enclosure=enclosure
    )
    return runner_of(agent, around)


def toolchain_texts(toolchain: Toolchain, root: Path) -> dict[str, str]:
    """The project's commands as agents read them, and can give them: reports, which only checks read, go nowhere."""
    commands = {name: toolchain.command(name, root=str(root), report=os.devnull) for name in TOOLCHAIN}
    return {name: shlex.join(words) for name, words in commands.items() if words}
