"""From the arguments of `treadle run` to a run in the store."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli import settings
from treadle.cli.advice import word
from treadle.cli.ahead import can_be_done
from treadle.cli.asked_for import asked_for
from treadle.cli.examine import sound
from treadle.cli.guard import complain
from treadle.cli.health.tools import toolchain_lines
from treadle.cli.interrupting import run_interruptibly
from treadle.cli.left_off import stories_left_off
from treadle.cli.output import console, is_terminal
from treadle.cli.specs import takers
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.engines.baseline import base_commit, is_needed, take_baseline
from treadle.engines.containers import is_enclosed
from treadle.engines.earlier import given
from treadle.engines.pinned import Level, Pinned
from treadle.engines.starting import Wanted, enclosure_of, inspect, reached, start, untold
from treadle.errors import ProtocolError, TreadleError, Unfit
from treadle.git.in_the_way import refuse_what_is_in_the_way
from treadle.git.refs import Refs
from treadle.git.repository import open_repository
from treadle.prompts.foreign import inline
from treadle.protocol.memory_bank import view_paths
from treadle.protocol.model import Protocol
from treadle.store.sqlite import Store
from treadle.toolchains.toolchain import completed
from treadle.views.baseline import Baseline, counts
from treadle.views.left_off import LeftOff
from treadle.views.story_files import story_globs

_NAMED: Final = 5
"""Tests of the base commit that are named when a run starts."""
_OLD: Final = {"baseline.failing": "fails", "baseline.flaky": "passes and fails by chance"}


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says about a new run."""

    spec: Path | None
    protocol: str | None
    agents: Sequence[str]
    changes: Sequence[str]
    name: str
    level: Level
    merge: str | None
    only: str = ""
    """A part of the protocol, or a step, that is to be done by itself."""


class Launch(msgspec.Struct, frozen=True):
    """A run that can be started."""

    project: Project
    protocol: Protocol
    wanted: Wanted
    settings: Pinned

    @property
    def notes(self) -> list[str]:
        """What a person should know before it begins: stories in the middle, limits that cannot stop its agents."""
        blind = [str(one) for one in untold(self.project, self.protocol, self.settings)]
        return [*(self._words(one) for one in self._left_off()), *blind]

    @property
    def made(self) -> list[str]:
        """Globs of the files that runs write themselves, and give to agents as they are then."""
        return [*view_paths(self.protocol), *story_globs(self.protocol)]

    def _left_off(self) -> list[LeftOff]:
        """Stories of this run that somebody has begun, if it does not take them up where they stand."""
        if any(graph.only for graph in self.protocol.graphs.values()):
            return []
        value = given(self.project, self.protocol, self.wanted.spec, self.wanted.file).value
        lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else []
        ids = [inline(str(item.get("id", ""))) for items in lists for item in items if isinstance(item, dict)]
        return [one for one in stories_left_off(self.project, self.protocol) if one.story in ids]

    def _words(self, one: LeftOff) -> str:
        instead = f"; `--only {word(one.part)}` does the step where it stands" if one.part else ""
        return f"{one.file} says that {one.stands}; this run {one.begins}{instead}"

    @property
    def files(self) -> list[str]:
        """The files that the run's agents are read from; they themselves do not look for them."""
        agents = self.settings.agents.values()
        return [str(self.project.root / word) for agent in agents for word in agent.partition(":")[2].split()]

    async def base(self) -> str:
        """The commit whose tests have to be run before the run starts; empty if no check needs them."""
        within = reached(self.project, self.protocol, self.wanted)
        return await base_commit(self.project) if is_needed(self.protocol, self.settings.config, within) else ""

    async def baseline(self, store: Store, commit: str) -> Baseline:
        """How the tests end on a commit; a `TreadleError` says what keeps them from being run."""
        config = self.settings.config
        enclosure = await enclosure_of(self.project, config) if is_enclosed(config) else None
        return await take_baseline(self.project, store, self.protocol, config, commit, enclosure)

    def start(self, store: Store, baseline: Baseline | None = None) -> str:
        """The name of the new run."""
        wanted = msgspec.structs.replace(self.wanted, baseline=baseline)
        return start(self.project, store, self.protocol, wanted)


def prepare(project: Project, order: Order) -> Launch:
    """Everything that a run needs; whatever is wrong is told before anything is written."""
    said = settings.here(order.changes)
    name = order.protocol or said.config().protocol
    asked = asked_for(project, sound(name), name, order.spec, order.only)
    protocol = asked.protocol
    wanted = Wanted(
        config=_merging(said.config(protocol.name), order.merge),
        spec=asked.text,
        file=asked.file,
        agents=tuple(order.agents),
        name=order.name,
        level=order.level,
    )
    try:
        inspect(project, protocol, wanted)
    except Unfit as error:
        hints = can_be_done(name, sound(name), completed(wanted.config.toolchain, project.root))
        raise TreadleError("; ".join([str(error), *hints]), code=error.code) from None
    except ProtocolError as error:
        raise ProtocolError(
            error.message + _others(order, wanted.spec, protocol.name), error.findings, code=error.code
        ) from None
    _refuse_broken_tools(project, protocol, wanted)
    wanted = msgspec.structs.replace(wanted, used=asyncio.run(_used(project, wanted.config.git.branch_prefix)))
    return Launch(project, protocol, wanted, inspect(project, protocol, wanted))


def _refuse_broken_tools(project: Project, protocol: Protocol, wanted: Wanted) -> None:
    """What `treadle doctor` would call missing, of the commands that this run's checks need."""
    lines = asyncio.run(toolchain_lines(wanted.config, project, protocol, reached(project, protocol, wanted)))
    broken = [line for line in lines if line.is_fatal]
    if broken:
        told = "; ".join(f"{line.what}: {line.detail} ({line.fix})" for line in broken)
        code = next((line.code for line in broken if line.code), "env.missing")
        raise TreadleError(f"what the checks of {protocol.name} run cannot start here: {told}", code=code)


def _others(order: Order, spec: str, asked: str) -> str:
    """Which protocols do take the spec, if the person has named none and the one that is asked does not."""
    found = takers(order.spec, spec) if order.spec and not order.protocol else ()
    if not found or asked in found:
        return ""
    return f"; it is good for {', '.join(found)}, so name the one you mean: --protocol {word(found[0])}"


async def _used(project: Project, prefix: str) -> frozenset[str]:
    """What runs have left in the repository; an error says why no run can work with it."""
    repository = await open_repository(project)
    refs = Refs(repository)
    await refuse_what_is_in_the_way(refs, prefix)
    spaces = ("refs/treadle/", f"refs/heads/{prefix}/")
    return frozenset(ref.removeprefix(space).partition("/")[0] for ref in await refs.below(*spaces) for space in spaces)


def _merging(config: Config, merge: str | None) -> Config:
    if merge is None:
        return config
    return msgspec.structs.replace(config, git=msgspec.structs.replace(config.git, merge=merge))


def run_baseline(launch: Launch, store: Store, *, quiet: bool) -> Baseline | None:
    """Run the tests of the base commit, and say how they ended; None if no check of the run needs them."""
    commit = asyncio.run(launch.base())
    if not commit:
        return None
    complain(f"baseline: running the tests of the base commit {commit[:12]}")
    with _turning("running the tests") if is_terminal() and not quiet else nullcontext():
        found = run_interruptibly(launch.baseline(store, commit), "ending the tests; once more ends at once")
    if found is None:
        raise KeyboardInterrupt
    complain(f"baseline: {counts(found)}")
    for one in found.tests[:_NAMED]:
        complain(f"baseline: {one.test} {_OLD.get(one.code, '')} [{one.code}]; no agent is charged for it")
    if found.failed > _NAMED:
        complain(f"baseline: and {found.failed - _NAMED} more")
    for name in found.commands:
        complain(f"baseline: `toolchain.{name}` fails [baseline.lint]; only new failures are charged to agents")
    return found


def _turning(words: str) -> AbstractContextManager[object]:
    """Something that moves on a terminal, with the time that has passed."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console())
    shown.live.transient = True
    shown.add_task(words, total=None)
    return shown
