"""Starts a run: inspects the request once, then pins its protocol, its input and its settings together."""

import asyncio
import re
import shlex
from collections.abc import Collection
from itertools import count
from typing import Final

import msgspec

from treadle.agents.command import CommandRunner
from treadle.agents.one_shot import OneShot
from treadle.config.model import Config
from treadle.config.project import Project, link_checker
from treadle.enclosures.port import OPEN, Enclosure
from treadle.enclosures.selection import open_box, open_container
from treadle.engines.containers import uses_containers
from treadle.engines.limits import IneffectiveLimit, find_ineffective_limits
from treadle.engines.result import result_of
from treadle.engines.run_settings import MANUAL, Level, RunSettings
from treadle.engines.surroundings import make_runner
from treadle.errors import TreadleError, Unfit
from treadle.git.ref_names import slug
from treadle.kernel.advance import PERSONS_TIME
from treadle.kernel.events import RunStarted
from treadle.kernel.instances import ROOT
from treadle.protocol.answers.inputs import Before, Input, load_input
from treadle.protocol.digest import digest
from treadle.protocol.findings import suggest
from treadle.protocol.items import RefOf, content_ref
from treadle.protocol.model import Graph, Protocol, Step
from treadle.protocol.reach import Reach, reach, roles
from treadle.runtime.world import SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.toolchains.fitness import describe_lacks, find_lacks, grade_lack
from treadle.toolchains.toolchain import complete_settings
from treadle.views.run_status import status_at
from treadle.views.status import Baseline

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_ROLE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=(.+)", re.DOTALL)
_FOREIGN: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 40


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A person's request to start a run."""

    config: Config
    spec: str = ""
    """The text of the input."""
    file: str = ""
    """The name of the input's file."""
    agents: tuple[str, ...] = ()
    """`AGENT` for every role, or `ROLE=AGENT`."""
    name: str = ""
    level: Level = 2


class InspectedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request without a fault: everything that a run needs to start."""

    project: Project
    protocol: Protocol
    wanted: StartRequest
    settings: RunSettings
    input: Input
    reach: Reach
    """The steps that the run can come to with this input."""


def inspect_request(project: Project, protocol: Protocol, wanted: StartRequest) -> InspectedRequest:
    """Inspect a request, or raise a `TreadleError` with its fault before anything is written."""
    loaded = load_run_input(project, protocol, wanted.spec, wanted.file)
    within = reach(protocol, loaded.value)
    # The detected toolchain is pinned as well: files that change later do not change how a run is tested.
    toolchain = complete_settings(wanted.config.toolchain, project.root)
    settings = RunSettings(
        protocol=protocol.name,
        config=msgspec.structs.replace(wanted.config, toolchain=toolchain),
        agents=choose_agents(protocol, wanted),
        spec=wanted.file,
        level=wanted.level,
    )
    enclosure = asyncio.run(enclosure_of(project, wanted.config))
    if lacks := find_lacks(protocol, toolchain, has_file=project.file.exists(), within=within):
        raise Unfit(f"{protocol.name} cannot pass its checks here: {describe_lacks(lacks)}", code="toolchain.unfit")
    if lack := grade_lack(protocol, toolchain, wanted.config.verification.minimum, within):
        raise Unfit(f"no run of {protocol.name} could end as verified here: {'; '.join(lack)}", code="toolchain.grade")
    if wanted.level:
        can_start(project, settings, enclosure, roles(protocol, within))
    if wanted.name and not NAME.fullmatch(wanted.name):
        raise TreadleError(
            f"--name {wanted.name[:80]!r}: use ASCII letters, digits, - and _ only, 60 at most", code="run.name"
        )
    return InspectedRequest(
        project=project, protocol=protocol, wanted=wanted, settings=settings, input=loaded, reach=within
    )


def start_run(
    store: Store, request: InspectedRequest, baseline: Baseline | None = None, used: Collection[str] = ()
) -> str:
    """Create a run, which waits in the store for a driver, and return its name.

    `baseline` is the result of the tests on the base commit, if they were run. `used` has the slugs of runs with refs
    in the repository, including runs that the store has forgotten.
    """
    project, wanted, now = request.project, request.wanted, SystemClock().now()
    # `inspect_request` has loaded the input without a store; this time its items go into the payloads.
    item = load_run_input(project, request.protocol, wanted.spec, wanted.file, store.payloads.put).item
    name = wanted.name
    if not name:
        # A short unused name made from the input's key, with a number from the second run on.
        base = _FOREIGN.sub("-", item.key.lower())[:_LONGEST].strip("-") or request.protocol.name
        taken = {run.id.lower() for run in store.runs()}
        names = (base if number == 1 else f"{base}-{number}" for number in count(1))
        name = next(one for one in names if one not in taken and slug(one) not in used)
    settings = msgspec.structs.replace(request.settings, baseline=baseline)
    protocol = adapt(request.protocol, settings)
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


def can_start(
    project: Project, settings: RunSettings, enclosure: Enclosure = OPEN, played: Collection[str] | None = None
) -> None:
    """Refuse agents with missing programs or files, for all roles or only for the roles in `played`."""
    for agent in sorted({agent for role, agent in settings.agents.items() if played is None or role in played}):
        runner = make_runner(project, settings, agent, enclosure)
        if isinstance(runner, CommandRunner | OneShot):
            runner.ready()


def ineffective_limits(project: Project, protocol: Protocol, settings: RunSettings) -> list[IneffectiveLimit]:
    """Return the limits that cannot stop this run's agents; empty if people are the agents."""
    names = sorted(set(settings.agents.values())) if settings.level else []
    able = {agent: make_runner(project, settings, agent).abilities for agent in names}
    return find_ineffective_limits(settings.config, protocol.limits, able)


async def enclosure_of(project: Project, config: Config) -> Enclosure:
    """Return the enclosure for agents and checks under these settings."""
    opened = await (open_container if uses_containers(config) else open_box)(config.workspace, project)
    return opened or OPEN


def choose_agents(protocol: Protocol, wanted: StartRequest) -> dict[str, str]:
    """Return the agent of each role: from the command line (for the role, then for all), else from the settings."""
    own: dict[str, str] = {}
    for_all = ""
    for text in wanted.agents:
        match = _ROLE.fullmatch(text)
        if match is None:
            for_all = text
        elif match[1] in protocol.roles:
            own[match[1]] = match[2]
        else:
            hint = suggest(match[1], protocol.roles) or f"choose from {', '.join(protocol.roles)}"
            raise TreadleError(f"--agent {text}: there is no role '{match[1]}'; {hint}", code="agent.unknown_role")
    return {role: own.get(role) or for_all or wanted.config.agent_of(role) for role in protocol.roles}


def adapt(protocol: Protocol, settings: RunSettings) -> Protocol:
    """Return the protocol for this run, to be pinned: with the settings' limits, and no timeouts for people."""

    def step(it: Step) -> Step:
        by_person = it.kind == "agent" and settings.agent_of(it.role) == MANUAL
        return msgspec.structs.replace(it, timeout=PERSONS_TIME, nudge_after=0) if by_person else it

    def graph(it: Graph) -> Graph:
        return msgspec.structs.replace(it, steps={name: step(one) for name, one in it.steps.items()})

    graphs = {name: graph(it) for name, it in protocol.graphs.items()}
    return msgspec.structs.replace(protocol, limits=settings.config.limits.over(protocol.limits), graphs=graphs)


# The input of a new run, including the items that earlier runs of the project have done.


def load_run_input(project: Project, protocol: Protocol, text: str, file: str, ref_of: RefOf = content_ref) -> Input:
    """Load the input of a run; its items may depend on items done by earlier runs of the project."""
    return load_input(protocol, text, file, ref_of, link_checker(project), done_before(project))


def done_before(project: Project) -> Before:
    """Return a function that checks, by key, whether an earlier run did an item and the user's branch has it."""

    def before(key: str) -> str | None:
        if not project.store.exists():
            return None
        store = Store(project.store, reading=True)
        try:
            reasons = [why for run in store.runs() if (why := _why_not_done(project, store, run, key)) is not None]
        finally:
            store.close()
        return "" if "" in reasons else next(iter(reasons), None)

    return before


def _why_not_done(project: Project, store: Store, run: Run, key: str) -> str | None:
    """Return why a run has not finished an item, or an empty text; None if the run gave it up or is unreadable."""
    try:
        history = store.load(run.id)
    except TreadleError:
        return None
    name = shlex.quote(run.id)
    for line in status_at(history.protocol, history.state).lines:
        inst = history.state.insts[line.instance]
        if inst.parent != ROOT or inst.key != key or line.mood == "failed":
            continue
        if line.part:
            return f"is not done: {line.part.then} is next, after the work of {run.id}"
        if not run.outcome:
            return f"is not done yet: the run {run.id} is working on it; `treadle status {name}` shows its state"
        result = asyncio.run(result_of(project, run))
        if result and not result.taken:
            where = f"{result.into or 'your branch'} does not have its result yet"
            return f"is done by the run {run.id}, and {where}; `treadle deliver {name}` comes first"
        return ""
    return None
