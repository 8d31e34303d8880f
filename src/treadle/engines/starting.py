"""A new run: its protocol, its input and its settings, pinned together."""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import Final

import msgspec

from treadle.agents.command import Command
from treadle.agents.one_shot import OneShot
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.enclosures.opening import open_box, open_container
from treadle.engines.containers import is_enclosed
from treadle.engines.earlier import given
from treadle.engines.pinned import MANUAL, Level, Pinned
from treadle.engines.surroundings import make_runner
from treadle.engines.unpriced import Blind, blind_limits
from treadle.errors import TreadleError, Unfit
from treadle.git.names import slug
from treadle.kernel.advance import PERSONS_TIME
from treadle.kernel.events import RunStarted
from treadle.protocol.digest import digest
from treadle.protocol.findings import suggest
from treadle.protocol.items import Item
from treadle.protocol.model import Graph, Protocol, Step
from treadle.protocol.reach import Reach, reach, roles
from treadle.runtime.clock import SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.toolchains.fitness import lacks, told
from treadle.toolchains.toolchain import completed
from treadle.views.baseline import Baseline

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_ROLE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=(.+)", re.DOTALL)
_FOREIGN: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 40


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for when starting a run."""

    config: Config
    spec: str = ""
    """The text of the input."""
    file: str = ""
    """The name of the input's file."""
    agents: tuple[str, ...] = ()
    """`AGENT` for every role, or `ROLE=AGENT`."""
    name: str = ""
    level: Level = 2
    baseline: Baseline | None = None
    """How the tests ended on the base commit, if they were run."""
    used: frozenset[str] = frozenset()
    """Parts of refs that runs have left in the repository, also those that the store has forgotten."""


def inspect(project: Project, protocol: Protocol, wanted: Wanted) -> Pinned:
    """The settings of a run that could be started; a `TreadleError` says what is wrong, before anything is written."""
    within = reached(project, protocol, wanted)
    # What is detected is pinned as well: files that change later do not change how a run is tested.
    toolchain = completed(wanted.config.toolchain, project.root)
    settings = Pinned(
        protocol=protocol.name,
        config=msgspec.structs.replace(wanted.config, toolchain=toolchain),
        agents=agents_of(protocol, wanted),
        spec=wanted.file,
        level=wanted.level,
        baseline=wanted.baseline,
    )
    enclosure = asyncio.run(enclosure_of(project, wanted.config))
    _can_be_checked(project, protocol, settings.config, within)
    if wanted.level:
        can_start(project, settings, enclosure, roles(protocol, within))
    if wanted.name and not NAME.fullmatch(wanted.name):
        raise TreadleError(
            f"--name {wanted.name[:80]!r}: use ASCII letters, digits, - and _ only, 60 at most", code="run.name"
        )
    if slug(wanted.name) in wanted.used:
        raise TreadleError(
            f"there is a run {wanted.name} already, or its branches and refs are; give another --name",
            code="run.exists",
        )
    return settings


def reached(project: Project, protocol: Protocol, wanted: Wanted) -> Reach:
    """What the run can come to; a `TreadleError` says what is wrong with its input."""
    return reach(protocol, given(project, protocol, wanted.spec, wanted.file).value)


def can_start(
    project: Project, settings: Pinned, enclosure: Enclosure = OPEN, played: Collection[str] | None = None
) -> None:
    """Refuse agents whose programs or files are not there, of all roles or of those that are played."""
    for agent in sorted({agent for role, agent in settings.agents.items() if played is None or role in played}):
        runner = make_runner(project, settings, agent, enclosure)
        if isinstance(runner, Command | OneShot):
            runner.ready()


def untold(project: Project, protocol: Protocol, settings: Pinned) -> list[Blind]:
    """The limits that cannot stop this run's agents; nothing if people are the agents."""
    names = sorted(set(settings.agents.values())) if settings.level else []
    able = {agent: make_runner(project, settings, agent).abilities for agent in names}
    return blind_limits(settings.config, protocol.limits, able)


async def enclosure_of(project: Project, config: Config) -> Enclosure:
    """What agents and checks of a run with these settings run in."""
    opened = await (open_container if is_enclosed(config) else open_box)(config.workspace, project)
    return opened or OPEN


def _can_be_checked(project: Project, protocol: Protocol, config: Config, within: Reach) -> None:
    """Refuse a run whose checks ask more of the project's toolchain than it can do."""
    if found := lacks(protocol, config.toolchain, has_file=project.file.exists(), within=within):
        raise Unfit(f"{protocol.name} cannot pass its checks here: {told(found)}", code="toolchain.unfit")


def start(project: Project, store: Store, protocol: Protocol, wanted: Wanted) -> str:
    """Create a run; it waits in the store for a driver. Nothing is created if anything is wrong."""
    settings = inspect(project, protocol, wanted)
    item = given(project, protocol, wanted.spec, wanted.file, store.payloads.put).item
    name = wanted.name or _free_name(store, item.key, protocol.name, wanted.used)
    return _create(store, adapt(protocol, settings), settings, item, name)


def agents_of(protocol: Protocol, wanted: Wanted) -> dict[str, str]:
    """The agent of each role: of the command line, for a role before that for all, and else of the settings."""
    own, for_all = _told(wanted.agents, protocol.roles)
    return {role: own.get(role) or for_all or wanted.config.agent_of(role) for role in protocol.roles}


def _told(agents: Iterable[str], roles: Mapping[str, object]) -> tuple[dict[str, str], str]:
    own: dict[str, str] = {}
    for_all = ""
    for text in agents:
        match = _ROLE.fullmatch(text)
        if match is None:
            for_all = text
        elif match[1] in roles:
            own[match[1]] = match[2]
        else:
            hint = suggest(match[1], roles) or f"there are {', '.join(roles)}"
            raise TreadleError(f"--agent {text}: there is no role '{match[1]}'; {hint}", code="agent.unknown_role")
    return own, for_all


def adapt(protocol: Protocol, settings: Pinned) -> Protocol:
    """The protocol as this run is pinned to it: with the settings' limits, and no deadline for people."""

    def step(it: Step) -> Step:
        by_person = it.kind == "agent" and settings.agent_of(it.role) == MANUAL
        return msgspec.structs.replace(it, timeout=PERSONS_TIME, nudge_after=0) if by_person else it

    def graph(it: Graph) -> Graph:
        return msgspec.structs.replace(it, steps={name: step(one) for name, one in it.steps.items()})

    graphs = {name: graph(it) for name, it in protocol.graphs.items()}
    return msgspec.structs.replace(protocol, limits=settings.config.limits.over(protocol.limits), graphs=graphs)


def _create(store: Store, protocol: Protocol, settings: Pinned, item: Item, name: str) -> str:
    now = SystemClock().now()
    run = Run(
        id=name,
        name=name,
        protocol=digest(protocol),
        settings=msgspec.to_builtins(settings),
        created=now,
        changed=now,
        seq=0,
        acts=0,
        asks=0,
        outcome="",
        owner="",
    )
    begins = RunStarted(id="start", ts=now, run=name, protocol=run.protocol, input=item, level=settings.level)
    store.create(run, protocol, begins)
    return name


def _free_name(store: Store, key: str, protocol: str, used: Collection[str]) -> str:
    """A short name from what identifies the input, counted up from the second run on."""
    base = _FOREIGN.sub("-", key.lower())[:_LONGEST].strip("-") or protocol
    taken = {run.id.lower() for run in store.runs()}
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    return next(name for name in names if name not in taken and slug(name) not in used)
