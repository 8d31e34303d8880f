"""Containers that are left: checks whose Treadle was killed, and those of runs that are forgotten."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cli.chores import until
from tests.enclosures.engines import FakeEngine, fake_engine
from tests.store.runs import record
from treadle.agents.processes import find_process
from treadle.config.model import WorkspaceSettings
from treadle.config.project import Project
from treadle.config.settings import EffectiveSettings
from treadle.enclosures.port import EnclosedCommand
from treadle.engines.containers import container_of, remove_containers
from treadle.engines.run_settings import RunSettings
from treadle.store.records import Run

SLEEP = ("sleep", "120")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    with fake_engine() as found:
        monkeypatch.setenv("PATH", f"{found.folder}/bin:/usr/bin:/bin")
        yield found


def contained(name: str, driver: str = "container") -> Run:
    workspace = WorkspaceSettings(driver=driver, image="here")
    config = msgspec.structs.replace(EffectiveSettings({}).config(), workspace=workspace)
    return msgspec.structs.replace(
        record(name), settings=msgspec.to_builtins(RunSettings(protocol="p", config=config, agents={}))
    )


def begin(engine: FakeEngine, folder: Path, what: str, *, by: str, run: str = "r-1") -> subprocess.Popen[bytes]:
    """A container of a project, whose client is the only process of it here."""
    box = engine.container(run=run, labels={"treadle.project": str(folder), "treadle.by": by})
    launch = box.launch(
        EnclosedCommand(argv=SLEEP, cwd=folder, env={}, network=what == "agent", key=f"{what} {by} {run}")
    )
    before = len(engine.running())
    client = subprocess.Popen(launch.argv, env=launch.env)
    until(lambda: len(engine.running()) > before, "it runs")
    return client


def test_only_orphaned_checks_of_this_project_are_ended(tmp_path: Path, engine: FakeEngine) -> None:
    me = find_process(os.getpid())
    assert me is not None
    gone = [begin(engine, tmp_path, "check", by=by) for by in ("999999999 1", "nonsense")]
    stay = [begin(engine, tmp_path, "check", by=f"{me.pid} {me.start}"), begin(engine, tmp_path, "agent", by="1 2")]
    other = tmp_path / "other"
    other.mkdir()
    stay.append(begin(engine, other, "check", by="1 2"))
    found = asyncio.run(container_of(Project(tmp_path), contained("r-2")))
    assert found is not None
    assert found.labels["treadle.by"] == f"{me.pid} {me.start}"
    assert [client.wait() for client in gone] == [137, 137]
    assert [client.poll() for client in stay] == [None, None, None]
    for client in stay:
        client.kill()
        client.wait()


def test_the_containers_of_a_run_go_with_it(tmp_path: Path, engine: FakeEngine) -> None:
    project = Project(tmp_path)
    mine, others = (begin(engine, tmp_path, "agent", by="1 2", run=name) for name in ("r-1", "r-2"))
    assert asyncio.run(remove_containers(project, [contained("r-1")], dry=True)) == 1
    assert mine.poll() is None
    assert asyncio.run(remove_containers(project, [contained("r-1"), contained("r-2", "worktree")], dry=False)) == 1
    assert mine.wait() == 137
    assert others.poll() is None
    (engine.folder / "socket").unlink()
    assert asyncio.run(remove_containers(project, [contained("r-2")], dry=False)) == 0
    others.kill()
    others.wait()


FOR_EVER = """
import asyncio, sys
from pathlib import Path
from tests.enclosures.engines import FakeEngine
from treadle.git.files import temporary_folder
from treadle.toolchains.process import run

async def check(folder, engine):
    with temporary_folder("scratch") as scratch:
        await run(("sleep", "120"), cwd=folder, env={}, timeout=100, sandbox=engine.container(), scratch=scratch)

asyncio.run(check(Path(sys.argv[1]), FakeEngine(Path(sys.argv[2]), "docker")))
"""


def test_a_check_ends_with_the_treadle_that_asked_for_it(tmp_path: Path, engine: FakeEngine) -> None:
    here = Path(__file__).parents[2]
    treadle = subprocess.Popen([sys.executable, "-c", FOR_EVER, str(tmp_path), str(engine.folder)], cwd=here)
    until(engine.running, "it runs")
    treadle.send_signal(signal.SIGKILL)
    treadle.wait()
    until(lambda: not engine.running(), "it is gone")
