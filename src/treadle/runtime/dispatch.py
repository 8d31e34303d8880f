"""Prepares everything before an agent starts, and stores it, so that the next process finds it after a crash."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple
from typing import Protocol as Port
from urllib.parse import quote

import msgspec

from treadle.errors import writing
from treadle.git.files import write_unless_foreign
from treadle.git.globs import naming
from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.state import State
from treadle.memory.seating import Seating
from treadle.ports import Abilities, Ended, Work
from treadle.prompts import bundle
from treadle.prompts.agent_prompt import note_paths
from treadle.prompts.scope import permissions
from treadle.results.assignment import Assignment
from treadle.results.channels import HANDED_ON_FILE, Before, load_before, prepare_lane, save_before
from treadle.results.exits import FILE as EXITS
from treadle.results.exits import StepExits, encode_exits
from treadle.results.handoff import FILES as HANDOVERS
from treadle.results.handoff import is_foreign
from treadle.results.intake import MAX_ANSWER, read_file, remove_file, replace_file
from treadle.results.tools import HERE, mcp_config, mcp_config_at
from treadle.runtime.desk import Desk
from treadle.runtime.view_files import bundle_files
from treadle.runtime.world import RunWorld
from treadle.views.story_files import artifact_files


class AgentTools(Port):
    """Serves the tools of activities for as long as this process lives."""

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        """Serve an activity, at its earlier address (`at`) if possible.

        Return the address, which may differ; empty if it cannot be served.
        """
        ...

    def close(self, task: Assignment) -> None:
        """Stop serving an ended activity; harmless if it is not served."""
        ...


def assignment_of(work: Work, step_exits: StepExits) -> Assignment:
    """Return the activity from the dispatcher's own data; no file that the agent could have changed is read."""
    return Assignment(
        act=work.act,
        token=work.token,
        retry=work.retry,
        bundle=work.bundle,
        out=work.out,
        step_exits=step_exits,
        lane=work.lane,
    )


_WORK: Final = "work.json"
_MCP: Final = "mcp.json"
_NOTES: Final = "handoff"
_LONGEST: Final = 80


class DispatchedWork(NamedTuple):
    """An activity that is ready or started, with its exits and the state of its lane before."""

    work: Work
    step_exits: StepExits
    before: Before


class Dispatch:
    """Dispatches the agents of one run."""

    def __init__(
        self,
        desk: Desk,
        world: RunWorld,
        folder: Path,
        toolchain: Mapping[str, str],
        limit: int = MAX_ANSWER,
        server: Sequence[str] = HERE,
        tools: AgentTools | None = None,
        seating: Seating | None = None,
    ) -> None:
        self._desk, self._world = desk, world
        self._folder, self._toolchain, self._limit = folder, toolchain, limit
        self._server, self._tools, self._seating = server, tools, seating
        self._served: dict[str, Assignment] = {}

    async def find_earlier(self, job: RunAgent) -> DispatchedWork | None:
        """Return the work that an earlier process dispatched for this activity."""
        home = home_of(self._folder, job)
        work = await asyncio.to_thread(load_work, home)
        before = await load_before(home)
        return DispatchedWork(work, self._step_exits(job), before) if work and before is not None else None

    async def serve_again(self, dispatched: DispatchedWork) -> None:
        """Serve the tools of an agent from an earlier process at their old address; record a stray if that fails."""
        at = dispatched.work.tools_at
        if at and await self._tools_of(dispatched.work, dispatched.step_exits) != at:
            lost = f"its tools cannot be served at {at} any more; `treadle emit` and its last output work"
            self._desk.stray(dispatched.work.act, "tools", lost)

    async def prepare(self, job: RunAgent, state: State, abilities: Abilities) -> DispatchedWork:
        """Open a lane, write the bundle and record the lane's state; `work.json` comes last and makes it valid.

        The workspace integrates the instance's accepted work before it opens the lane.
        """
        lane = await self._world.workspace.open(state, job)
        home = home_of(self._folder, job)
        allowed = permissions(self._desk.protocol, job, self._world.payloads)
        is_hidden = naming(allowed.hidden)
        work = Work(
            run=self._desk.run,
            act=job.id,
            retry=job.retry,
            step=job.step,
            role=job.role,
            mode=job.mode,
            attempt=job.attempt,
            lane=lane.path,
            home=home,
            prompt="",
            token=secrets.token_hex(16),
            model=self._world.agents.model_of(job.role, job.tier),
            turns=self._world.budgets.turns,
            session=job.session if can_continue(job, abilities) else "",
            fork=job.fork and abilities.fork,
            writes=allowed.reach,
            perms=self._desk.protocol.roles[job.role].perms,
        )
        step_exits = self._step_exits(job)
        # Should an agent delete its lane's `.git`, its git must not climb to the user's repository.
        env = {**bundle.environment(work), "GIT_CEILING_DIRECTORIES": str(lane.path.parent)}
        if self._seating:
            env |= await asyncio.to_thread(self._seating.seat, self._desk.protocol, state, job, work.token)
        work = msgspec.structs.replace(work, env=env)
        if abilities.mcp == "http":
            work = msgspec.structs.replace(work, tools_at=await self._tools_of(work, step_exits))
        notes: Mapping[str, str] = {}
        if not abilities.person:
            notes = await self._world.files.notes([path for path in note_paths(allowed.reach) if not is_hidden(path)])
        files = self._contents(job, state, work, notes, by_hand=abilities.person)
        work = msgspec.structs.replace(work, prompt=files["prompt.md"].decode())
        await bundle.write(home, files)
        with writing(home):
            await asyncio.to_thread(work.out.mkdir, exist_ok=True)
            await asyncio.to_thread(home.chmod, 0o700)  # the token lies here
            story = {
                path: text for path, text in self._world.files.of_instance(job.inst).items() if not is_hidden(path)
            }
            await asyncio.to_thread(_place_files, lane.path, home, story, job.inst)
            before = await prepare_lane(lane.path)
            await save_before(before, home)
            await asyncio.to_thread(replace_file, home, _WORK, msgspec.json.encode(work, enc_hook=str))
        return DispatchedWork(work, step_exits, before)

    async def next_round(self, dispatched: DispatchedWork, ended: Ended, words: str) -> DispatchedWork:
        """Prepare another round of the same conversation, lane and token; `ended` has the usage so far."""
        before = dispatched.work
        work = msgspec.structs.replace(
            before,
            prompt=words,
            session=ended.session,
            fork=False,
            round=before.round + 1,
            used=ended.usage,
        )
        if work.tools_at:  # this process may not serve them yet
            work = msgspec.structs.replace(work, tools_at=await self._tools_of(work, dispatched.step_exits))
        with writing(work.home):
            await asyncio.to_thread(replace_file, work.bundle, _MCP, self._mcp(work))
            await asyncio.to_thread(replace_file, work.home, _WORK, msgspec.json.encode(work, enc_hook=str))
        return dispatched._replace(work=work)

    def close_tools(self, job: RunAgent) -> None:
        """Close the tools of an ended activity."""
        if self._tools and (task := self._served.pop(job.id, None)):
            self._tools.close(task)

    async def dismiss(self, dispatched: DispatchedWork) -> None:
        """Give up the agent's seat in its dialogue, because it has answered or never will."""
        if self._seating:
            await asyncio.to_thread(self._seating.dismiss, dispatched.work.token)

    async def keep_notes(self, job: RunAgent, notes: str) -> None:
        """Store an agent's notes for its successor in the same instance."""
        if notes:
            folder = self._folder / _NOTES
            with writing(folder):
                await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
                await asyncio.to_thread(
                    replace_file, folder, f"{folder_name(job.inst)}.md", notes.encode(errors="replace")
                )

    async def _tools_of(self, work: Work, step_exits: StepExits) -> str:
        """Serve the tools of an activity from this process and return their address; empty if they are not served."""
        if self._tools is None:
            return ""
        task = self._served[work.act] = assignment_of(work, step_exits)
        return await self._tools.open(task, work.env, work.tools_at)

    def _contents(
        self, job: RunAgent, state: State, work: Work, notes: Mapping[str, str], *, by_hand: bool
    ) -> dict[str, bytes]:
        notes_left = read_file(self._folder / _NOTES, f"{folder_name(job.inst)}.md")
        step = self._desk.protocol.graphs[job.graph].steps[job.step]
        files = {
            EXITS: encode_exits(self._desk.protocol, step, work.token, self._limit),
            _MCP: self._mcp(work),
            **bundle_files(artifact_files(self._desk.protocol, state.insts[job.inst], self._world.payloads.get)),
            **bundle_files(self._world.files.bank()),
        }
        return bundle.contents(
            self._desk.protocol,
            state,
            job,
            self._world.payloads,
            self._toolchain,
            handoff=notes_left.decode(errors="replace") if isinstance(notes_left, bytes) else "",
            by_hand=by_hand,
            notes=notes,
            files=files,
        )

    def _mcp(self, work: Work) -> bytes:
        at = work.tools_at
        return msgspec.json.encode(mcp_config_at(at, work.token) if at else mcp_config(work.env, self._server))

    def _step_exits(self, job: RunAgent) -> StepExits:
        return StepExits(self._desk.protocol, self._desk.protocol.graphs[job.graph].steps[job.step].exits, self._limit)


def _place_files(lane: Path, home: Path, files: Mapping[str, str], inst: str) -> None:
    """Write files into a lane that are not part of its work; committed files in their place stay committed.

    For an empty text, the lane keeps its committed file, unless that file names another story.
    """
    for path, text in files.items():
        data = text.encode(errors="replace")
        if not data:
            there = read_file(lane, path)
            if isinstance(there, bytes) and is_foreign(there, inst):
                remove_file(lane, path)
            continue
        write_unless_foreign(lane, path, data, lambda _: False)
        if path in HANDOVERS:
            replace_file(home, HANDED_ON_FILE, data)


def can_continue(job: RunAgent, abilities: Abilities) -> bool:
    """Whether an agent with these abilities can continue, or fork, the intended conversation."""
    return bool(job.session) and abilities.resume and (abilities.fork or not job.fork)


def home_of(folder: Path, job: ActivityCommand) -> Path:
    """Return an activity's folder, below that of its run."""
    name = folder_name(job.id)
    return folder / "acts" / (f"{name}~{job.retry}" if job.retry else name)


def load_work(home: Path) -> Work | None:
    """Return the work dispatched to this folder; None if the dispatch was incomplete. Blocking."""
    data = read_file(home, _WORK)
    if not isinstance(data, bytes):
        return None
    try:
        return msgspec.json.decode(data, type=Work, dec_hook=lambda _, value: Path(value))
    except msgspec.DecodeError:
        return None


def folder_name(id_: str) -> str:
    """Return an id as a folder name: readable, safe, and unique to the id.

    It contains no `%`: some programs read `%3A` in a path as a colon.
    """
    name = quote(id_, safe="#+,@", errors="replace").replace("%", "=")
    if name.strip(".") and name == name.lower() and len(name) <= _LONGEST:
        return name
    return f"{name.lstrip('.')[:_LONGEST]}~{sha256(id_.encode(errors='replace')).hexdigest()[:12]}"
