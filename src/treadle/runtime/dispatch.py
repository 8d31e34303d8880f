"""Everything that has to be ready before an agent starts; written down, so that it is found again after a crash."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from treadle.errors import writing
from treadle.git.globs import naming
from treadle.git.users_files import put_unless
from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.state import State
from treadle.ports import Abilities, Ended, Work
from treadle.prompts import bundle
from treadle.prompts.notes import note_paths
from treadle.prompts.scope import permissions
from treadle.results.assignment import Assignment
from treadle.results.exits import FILE as EXITS
from treadle.results.exits import extract, packed
from treadle.results.files import look, remove, replace
from treadle.results.handoff import FILES as HANDOVERS
from treadle.results.handoff import is_foreign
from treadle.results.mcp_tool import HERE, mcp_config, mcp_config_at
from treadle.results.prepare import HANDED, Before, keep, kept, prepare
from treadle.results.strict_json import MAX_ANSWER
from treadle.results.ways import Ways, ways_of
from treadle.runtime.bank_files import in_bundle
from treadle.runtime.desk import Desk
from treadle.runtime.seating import Seating
from treadle.runtime.tools import Tools, assigned
from treadle.runtime.view_files import shown
from treadle.runtime.world import World

_WORK: Final = "work.json"
_MCP: Final = "mcp.json"
_NOTES: Final = "handoff"
_LONGEST: Final = 80


class Dispatched(NamedTuple):
    """An activity that is ready to start or has been started, and what its answer is held against."""

    work: Work
    ways: Ways
    before: Before


class Dispatch:
    """Sends out the agents of one run."""

    def __init__(
        self,
        desk: Desk,
        world: World,
        folder: Path,
        toolchain: Mapping[str, str],
        limit: int = MAX_ANSWER,
        server: Sequence[str] = HERE,
        tools: Tools | None = None,
        seating: Seating | None = None,
    ) -> None:
        self._desk, self._world = desk, world
        self._folder, self._toolchain, self._limit = folder, toolchain, limit
        self._server, self._tools, self._seating = server, tools, seating
        self._served: dict[str, Assignment] = {}

    async def earlier(self, job: RunAgent) -> Dispatched | None:
        """What an earlier process has sent out for this activity."""
        home = home_of(self._folder, job)
        work = await asyncio.to_thread(sent_work, home)
        before = await kept(home)
        return Dispatched(work, self._ways(job), before) if work and before is not None else None

    async def serve_again(self, sent: Dispatched) -> None:
        """Serve the tools of an agent that an earlier process has started, where that did; noted if it cannot be."""
        at = sent.work.tools_at
        if at and await self._tools_of(sent.work, sent.ways) != at:
            lost = f"its tools cannot be served at {at} any more; `treadle emit` and its last output work"
            self._desk.stray(sent.work.act, "tools", lost)

    async def send(self, job: RunAgent, state: State, abilities: Abilities) -> Dispatched:
        """Get a lane, write the bundle, and note how things stand: all of it, or it was never sent."""
        lane = await self._world.workspace.open(state, job)
        home = home_of(self._folder, job)
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
            model=self._world.model_of(job.role, job.tier),
            turns=self._world.budgets.turns,
            session=job.session if goes_on(job, abilities) else "",
            fork=job.fork and abilities.fork,
            writes=permissions(self._desk.protocol, job, self._world.payloads).reach,
            perms=self._desk.protocol.roles[job.role].perms,
        )
        ways = self._ways(job)
        # Should an agent delete its lane's `.git`, its git must not climb to the user's repository.
        env = {**bundle.environment(work), "GIT_CEILING_DIRECTORIES": str(lane.path.parent)}
        if self._seating:
            env |= await asyncio.to_thread(self._seating.seat, self._desk.protocol, state, job, work.token)
        work = msgspec.structs.replace(work, env=env)
        if abilities.mcp == "http":
            work = msgspec.structs.replace(work, tools_at=await self._tools_of(work, ways))
        notes = {} if abilities.person else await self._notes(job)
        files = self._contents(job, state, work, notes, by_hand=abilities.person)
        work = msgspec.structs.replace(work, prompt=files["prompt.md"].decode())
        await bundle.write(home, files)
        with writing(home):
            await asyncio.to_thread(work.out.mkdir, exist_ok=True)
            await asyncio.to_thread(home.chmod, 0o700)  # the token lies here
            await asyncio.to_thread(_lay_out, lane.path, home, self._story_files(job), job.inst)
            before = await prepare(lane.path)
            await keep(before, home)
            await asyncio.to_thread(replace, home, _WORK, msgspec.json.encode(work, enc_hook=str))
        return Dispatched(work, ways, before)

    async def go_on(self, sent: Dispatched, ended: Ended, words: str) -> Dispatched:
        """Another round of the same conversation, in the same lane, with the same token; `ended` counts all so far."""
        before = sent.work
        work = msgspec.structs.replace(
            before,
            prompt=words,
            session=ended.session,
            fork=False,
            round=before.round + 1,
            used=ended.usage,
        )
        if work.tools_at:  # this process may not serve them yet
            work = msgspec.structs.replace(work, tools_at=await self._tools_of(work, sent.ways))
        with writing(work.home):
            await asyncio.to_thread(replace, work.bundle, _MCP, self._mcp(work))
            await asyncio.to_thread(replace, work.home, _WORK, msgspec.json.encode(work, enc_hook=str))
        return sent._replace(work=work)

    def ended(self, job: RunAgent) -> None:
        """Nobody works on the activity any more: its tools take nothing from now on."""
        if self._tools and (task := self._served.pop(job.id, None)):
            self._tools.close(task)

    async def left(self, sent: Dispatched) -> None:
        """The agent has answered, or never will: it has no seat in its dialogue any more."""
        if self._seating:
            await asyncio.to_thread(self._seating.leave, sent.work.token)

    async def keep_notes(self, job: RunAgent, notes: str) -> None:
        """Keep what an agent left for its successor in the same instance."""
        if notes:
            folder = self._folder / _NOTES
            with writing(folder):
                await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
                await asyncio.to_thread(replace, folder, f"{folder_name(job.inst)}.md", notes.encode(errors="replace"))

    def _story_files(self, job: RunAgent) -> dict[str, str]:
        """The files of an agent's story, except what its role does not get to see."""
        is_hidden = naming(permissions(self._desk.protocol, job, self._world.payloads).hidden)
        return {path: text for path, text in self._world.files_of(job.inst).items() if not is_hidden(path)}

    async def _tools_of(self, work: Work, ways: Ways) -> str:
        """Where the tools of an activity are served by this process; empty if they are not."""
        if self._tools is None:
            return ""
        task = self._served[work.act] = assigned(work, ways)
        return await self._tools.open(task, work.env, work.tools_at)

    async def _notes(self, job: RunAgent) -> dict[str, str]:
        """The project's notes for agents, except what the role does not get to see."""
        allowed = permissions(self._desk.protocol, job, self._world.payloads)
        is_hidden = naming(allowed.hidden)
        return dict(await self._world.notes([path for path in note_paths(allowed.reach) if not is_hidden(path)]))

    def _contents(
        self, job: RunAgent, state: State, work: Work, notes: Mapping[str, str], *, by_hand: bool
    ) -> dict[str, bytes]:
        handed = look(self._folder / _NOTES, f"{folder_name(job.inst)}.md")
        step = self._desk.protocol.graphs[job.graph].steps[job.step]
        files = {
            EXITS: packed(extract(self._desk.protocol, step, work.token, self._limit)),
            _MCP: self._mcp(work),
            **shown(self._desk.protocol, state, state.insts[job.inst], self._world.payloads),
            **in_bundle(self._world.bank()),
        }
        return bundle.contents(
            self._desk.protocol,
            state,
            job,
            self._world.payloads,
            self._toolchain,
            handoff=handed.decode(errors="replace") if isinstance(handed, bytes) else "",
            by_hand=by_hand,
            notes=notes,
            files=files,
        )

    def _mcp(self, work: Work) -> bytes:
        at = work.tools_at
        return msgspec.json.encode(mcp_config_at(at, work.token) if at else mcp_config(work.env, self._server))

    def _ways(self, job: RunAgent) -> Ways:
        return ways_of(self._desk.protocol, self._desk.protocol.graphs[job.graph].steps[job.step], self._limit)


def _lay_out(lane: Path, home: Path, files: Mapping[str, str], inst: str) -> None:
    """Put files into a lane that are no part of its work; what was committed in their place stays so.

    Where there is none yet, the lane keeps what was committed, unless that says that it is about another story.
    """
    for path, text in files.items():
        data = text.encode(errors="replace")
        if not data:
            there = look(lane, path)
            if isinstance(there, bytes) and is_foreign(there, inst):
                remove(lane, path)
            continue
        put_unless(lane, path, data, lambda _: False)
        if path in HANDOVERS:
            replace(home, HANDED, data)


def goes_on(job: RunAgent, abilities: Abilities) -> bool:
    """Whether an agent of these abilities can go on with, or branch off from, the conversation that it is to."""
    return bool(job.session) and abilities.resume and (abilities.fork or not job.fork)


def home_of(folder: Path, job: ActivityCommand) -> Path:
    """An activity's own folder, below that of its run."""
    name = folder_name(job.id)
    return folder / "acts" / (f"{name}~{job.retry}" if job.retry else name)


def sent_work(home: Path) -> Work | None:
    """What was sent out to this folder, if everything was; blocks for a moment."""
    data = look(home, _WORK)
    if not isinstance(data, bytes):
        return None
    try:
        return msgspec.json.decode(data, type=Work, dec_hook=lambda _, value: Path(value))
    except msgspec.DecodeError:
        return None


def folder_name(id_: str) -> str:
    """An id as the name of a folder: readable, harmless, and never that of another id.

    There is no `%` in it: some programs take `%3A` in a path for a colon.
    """
    name = quote(id_, safe="#+,@", errors="replace").replace("%", "=")
    if name.strip(".") and name == name.lower() and len(name) <= _LONGEST:
        return name
    return f"{name.lstrip('.')[:_LONGEST]}~{sha256(id_.encode(errors='replace')).hexdigest()[:12]}"
