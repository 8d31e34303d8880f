"""A real repository, a run in it, and an agent's moves, for the tests of this room."""

import asyncio
import os
import subprocess
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from immutables import Map

from treadle.config.project import Project, make_local
from treadle.git.checkpoint import Recorder
from treadle.git.integration import Integration
from treadle.git.lanes import LaneRules, Lanes
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.kernel.commands import RunAgent, RunChecks
from treadle.kernel.state import Instance, State
from treadle.kernel.state import Slot as StateSlot

T = TypeVar("T")
ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "User",
    "GIT_AUTHOR_EMAIL": "user@localhost",
    "GIT_COMMITTER_NAME": "User",
    "GIT_COMMITTER_EMAIL": "user@localhost",
    "GIT_AUTHOR_DATE": "@1700000000 +0000",
    "GIT_COMMITTER_DATE": "@1700000000 +0000",
}
RUN = "r1"


def git_processes(command: str) -> list[int]:
    """The living processes of this git command that this process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue  # it has ended meanwhile
        if parent == os.getpid() and command in words:
            found.append(int(folder.name))
    return sorted(found)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def git(where: Path, *words: str, ok: bool = True, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *words], cwd=where, env=ENV | (env or {}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not ok, f"git {words}: {done.stderr}"
    return done.stdout.strip()


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


FILES = {
    "README.md": "read me\n",
    "src/app.py": "def f() -> int:\n    return 1\n",
    "tests/test_app.py": "assert True\n",
}


def repository(tmp_path: Path, files: dict[str, str] | None = None) -> Path:
    """A repository with one commit on `main`."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(root, FILES if files is None else files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


class Stage:
    """A repository with a run that has begun."""

    def __init__(self, root: Path, rules: LaneRules | None = None) -> None:
        self.project = Project(root)
        make_local(self.project)
        self.root, self.rules = root, rules or LaneRules()
        self.insts: dict[str, Instance] = {}
        self.seq = 1
        self.add("root")

    async def start(self) -> "Stage":
        self.repository: Repository = await open_repository(self.project)
        self.refs = Refs(self.repository)
        self.integration = Integration(self.repository, self.refs)
        self.recorder = Recorder(self.repository)
        self.lanes = Lanes(self.integration, self.project.worktrees, lambda *_: self.rules, self.recorder)
        return self

    def add(self, inst: str, **more: Any) -> Instance:
        parent = inst.rpartition("/")[0]
        found = Instance(
            inst, len(self.insts) + 1, "g", StateSlot(), parent=parent, key=inst.rpartition("/")[2], **more
        )
        self.insts[inst] = found
        return found

    @property
    def state(self) -> State:
        return State(run=RUN, seq=self.seq, started=1_700_000_000_000, insts=Map(self.insts))

    def job(self, inst: str = "root", step: str = "impl", n: str = "1.1", lane: str = "main") -> RunAgent:
        visit, _, attempt = n.partition(".")
        self.insts[inst].visits[step], self.insts[inst].attempts[step] = int(visit), int(attempt)
        id_ = f"{inst}:{step}#{n}"
        return RunAgent(
            id=id_,
            inst=inst,
            graph="g",
            step=step,
            visit=int(visit),
            attempt=int(attempt),
            role="dev",
            attempts=3,
            lane=lane,
        )

    def ended(self, job: RunAgent, key: str) -> None:
        """The kernel takes note of how an activity ended."""
        self.seq += 1
        self.insts[job.inst].last[job.step] = key
        self.insts[job.inst].slots[f"{job.step}.{key}"] = StateSlot(seq=self.seq)

    async def work(
        self, files: dict[str, str], inst: str = "root", step: str = "impl", n: str = "1.1", key: str = "Done"
    ) -> str:
        """An activity that writes files, is recorded, passes its checks, and ends by a key; the recorded commit."""
        job = self.job(inst, step, n)
        lane = await self.lanes.open(self.state, job)
        write(lane.path, files)
        recorded = await self.lanes.record(RUN, job.id, at=1_700_000_001_000)
        await self.passed(job, recorded.commit)
        self.ended(job, key)
        return recorded.commit

    async def passed(self, job: RunAgent, commit: str, exit_: str = "Done") -> None:
        """All checks of a claim have passed."""
        checks = RunChecks(
            id=job.id, inst=job.inst, graph=job.graph, step=job.step, visit=job.visit, attempt=job.attempt, exit=exit_
        )
        await self.integration.note_pending(self.state, checks, commit)

    async def head(self, inst: str = "root") -> str:
        return (await self.integration.integrate(self.state, inst)).commit

    def cat(self, commit: str, path: str) -> str:
        return git(self.root, "show", f"{commit}:{path}")
