"""`treadle run` on a disk of its own that is full, becomes full, or cannot be written: told at once, and mended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.store.test_damage import mounting

pytestmark = mounting
FILLER = "#!/bin/sh\n(head -c 9000000 /dev/zero > fill) 2>/dev/null\n{}\n"
ANSWER = """echo '{"exit": {"type": "Did", "summary": "swept"}}'"""
RUN = "$T run chore.yaml -p decide --agent"
CODE = '|| code=$?; echo "code ${code:-0}"; code=; '


@pytest.fixture
def chores(tmp_path: Path) -> Chores:
    root = tmp_path / "project"
    root.mkdir()
    found = Chores(root)
    for name, last in (("fills.sh", ANSWER), ("emits.sh", "treadle emit --type Did --field summary=swept")):
        (root / name).write_text(FILLER.format(last))
        (root / name).chmod(0o755)
    return found


def mounted(chores: Chores, script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in a copy of the project on a small disk; `$T` is treadle."""
    disk = chores.root.parent / "disk"
    disk.mkdir()
    shell = f'mount -t tmpfs -o size=3m tmpfs "$1" && cp -r "$2/." "$1" && cd "$1" && {{ {script} }}'
    env = {**os.environ, "T": f"{sys.executable} -m treadle", "HOME": str(chores.root.parent)}
    command = ["unshare", "-rm", "sh", "-c", shell, "sh", str(disk), str(chores.root)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)
    assert "bug" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("agent", ["fills.sh", pytest.param("emits.sh", marks=pytest.mark.soak)])
def test_an_agent_that_fills_the_disk_is_noticed_and_the_run_goes_on_once_there_is_room(
    chores: Chores, agent: str
) -> None:
    room = f"rm .treadle/local/worktrees/*/fill; sed -i /zero/d {agent}; "
    done = mounted(chores, f"{RUN} command:./{agent} {CODE}{room}$T resume sweep-1 {CODE}")
    assert "`treadle resume`" in done.stderr
    assert "[store.full]" in done.stderr
    assert done.stdout.splitlines().count("code 2") == 1, done
    ended, code = done.stdout.splitlines()[-2:]
    assert (ended.split()[0], ended.split()[-1], code) == ("sweep-1", "Finished", "code 0"), done


SERVE = """
import asyncio
from pathlib import Path
from treadle.config.project import Project
from treadle.store.sqlite import opened_store
from treadle.engines.service import Service

async def serve():
    project, ended = Project(Path.cwd()), asyncio.Event()

    def tell(run, text):
        print(text)
        if "the disk is full" in text:
            Path("fills.sh").write_text(Path("fills.sh").read_text().replace("9000000", "9"))
            for path in project.worktrees.glob("*/fill"):
                path.unlink()
        if "has ended" in text:
            ended.set()

    with opened_store(project) as store:
        service = asyncio.ensure_future(Service(project, store, tell, lambda _: None, pause=0.1).serve())
        await asyncio.wait_for(ended.wait(), 30)
        service.cancel()
        await asyncio.wait([service])

asyncio.run(serve())
"""


def test_a_service_tries_again_once_there_is_room(chores: Chores) -> None:
    (chores.root / "serve.py").write_text(SERVE)
    room = "rm .treadle/local/worktrees/*/fill; "
    done = mounted(chores, f"{RUN} command:./fills.sh {CODE}{room}{sys.executable} serve.py {CODE}")
    told = [line for line in done.stdout.splitlines() if line.startswith(("cannot be driven", "has ended", "code"))]
    assert [line.split(":")[0] for line in told] == ["code 2", "cannot be driven", "has ended with Finished", "code 0"]
    assert "disk is full" in told[1], done


@pytest.mark.parametrize(
    ("agent", "left"),
    [
        ("scripted:did.yaml", 0),
        *(pytest.param("scripted:did.yaml", left, marks=pytest.mark.soak) for left in (40_000, 100_000)),
        ("scripted:did.yaml", 200_000),
        pytest.param("command:./fills.sh", 200_000, marks=pytest.mark.soak),
    ],
)
def test_a_nearly_full_disk_is_an_error_at_once(chores: Chores, agent: str, left: int) -> None:
    fill = f"head -c 9000000 /dev/zero > filler 2>/dev/null; truncate -s -{left} filler; "
    done = mounted(chores, f"{fill}{RUN} {agent} {CODE}rm filler; $T runs >/dev/null {CODE}")
    assert done.stdout.splitlines()[-2:-1] == ["code 2"], done
    assert "treadle: " in done.stderr
    assert any(said in done.stderr for said in ("ake room", "no space left", "disk full")), done.stderr


def test_a_read_only_disk_is_an_error_at_once(chores: Chores) -> None:
    done = mounted(chores, f'mount -o remount,ro "$1"; {RUN} manual {CODE}$T serve {CODE}')
    assert done.stdout == "code 2\ncode 2\n", done
    assert done.stderr.lower().count("read-only file system") == 2


def test_a_project_that_became_read_only_is_an_error_at_once(chores: Chores) -> None:
    done = mounted(chores, f'{RUN} manual {CODE}mount -o remount,ro "$1"; {RUN} manual {CODE}$T serve {CODE}')
    assert [line for line in done.stdout.splitlines() if line.startswith("code")] == ["code 3", "code 2", "code 2"]
