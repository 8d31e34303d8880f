"""The box that an agent works in, and the secret places that it hides."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.box import box_here
from treadle.agents.processes import is_running, processes_with
from treadle.enclosures.box import BubblewrapBox, find_box, home_folders, secret_places
from treadle.enclosures.port import EnclosedCommand

PATIENCE = 30


class Scene(msgspec.Struct, frozen=True):
    """A project with two lanes, a store, and a user who has secrets."""

    root: Path
    box: BubblewrapBox
    scope: tuple[str, ...] | None = ("src/**", "tests/test_*.py")

    @property
    def lane(self) -> Path:
        return self.root / "project/.treadle/local/worktrees/one"

    @property
    def out(self) -> Path:
        return self.root / "project/.treadle/local/runs/r/acts/a/out"

    def job(self, *argv: str) -> EnclosedCommand:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "MARK": str(self.root)}
        bundle = self.out.with_name("bundle")
        return EnclosedCommand(
            argv=argv, cwd=self.lane, env=env, writable=(self.out,), readable=(bundle,), scope=self.scope, network=True
        )

    def tried(self, script: str) -> subprocess.CompletedProcess[str]:
        launch = self.box.launch(self.job("/bin/sh", "-c", script.replace("ROOT", str(self.root))))
        return subprocess.run(
            launch.argv, env=launch.env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*") if path.is_file()}


FILES = {
    "home/.ssh/id": "a key",
    "home/.bashrc": "true",
    "home/.netrc": "a password",
    "project/mine.py": "of the user",
    "project/.git/config": "settings",
    "project/.treadle/local/store.db": "the store",
    "project/.treadle/local/worktrees/two/src/a.py": "another lane",
    "project/.treadle/local/runs/r/acts/b/work.json": "a token",
    "project/.treadle/local/runs/r/acts/a/bundle/prompt.md": "a prompt",
    "project/.treadle/local/worktrees/one/.git/HEAD": "head",
    "project/.treadle/local/worktrees/one/treadle.toml": "settings",
    "project/.treadle/local/worktrees/one/docs/a.md": "docs",
    "project/.treadle/local/worktrees/one/src/a.py": "code",
    "project/.treadle/local/worktrees/one/tests/test_a.py": "a test",
    "project/.treadle/local/worktrees/one/tests/data.txt": "data",
    "elsewhere/x": "elsewhere",
}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    box = box_here(monkeypatch, hidden=(tmp_path / "project/.treadle/local",))
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = Scene(tmp_path, box)
    found.out.mkdir()
    (found.lane / "src/link").symlink_to(tmp_path / "elsewhere")
    (found.lane / "src/file").symlink_to(tmp_path / "elsewhere/x")
    (found.lane / "up").symlink_to(tmp_path / "elsewhere")
    return found


REFUSED = {
    "another folder of the lane": "echo x > docs/a.md",
    "a new file of the lane": "echo x > new.txt",
    "a file beside a pattern": "echo x > tests/data.txt",
    "removing what it may not write": "rm -f tests/data.txt && mv src/a.py treadle.toml",
    "through a linked folder": "echo x > src/link/x",
    "through a linked file": "echo x > src/file",
    "through a link that it makes": "ln -s ROOT/elsewhere src/own; echo x > src/own/x",
    "through a link that leads up": "echo x > src/../docs/a.md",
    "a hard link from outside": "ln ROOT/elsewhere/x src/hard && echo x > src/hard",
    "the lane's git folder": "echo x > .git/HEAD; echo x > .git/hook",
    "the user's git folder": "echo x > ROOT/project/.git/config",
    "the user's checkout": "echo x > ROOT/project/mine.py",
    "the store": "echo x > ROOT/project/.treadle/local/store.db",
    "another lane": "echo x > ROOT/project/.treadle/local/worktrees/two/src/a.py",
    "its own bundle": "echo x > ROOT/project/.treadle/local/runs/r/acts/a/bundle/prompt.md",
    "the user's home": "echo x > ROOT/home/.bashrc",
    "a mount of its own": "mount -o remount,rw / 2>&1; umount docs; mount -o remount,bind,rw ROOT; echo x > docs/a.md",
    "a namespace of its own": "unshare -rm sh -c 'mount -o remount,bind,rw /; echo x > docs/a.md'",
    "the machine": "[ ! -w /proc/sys/kernel/core_pattern ] && [ ! -w /proc/sysrq-trigger ] && echo x > /etc/x",
}


@pytest.mark.parametrize("script", REFUSED.values(), ids=REFUSED)
def test_a_write_outside_of_the_scope_fails(script: str, scene: Scene) -> None:
    before = scene.files()
    done = scene.tried(script)
    assert done.returncode != 0, done
    assert scene.files() == before


UNSEEN = {
    "keys": "ROOT/home/.ssh/id",
    "passwords": "ROOT/home/.netrc",
    "the store": "ROOT/project/.treadle/local/store.db",
    "another lane": "ROOT/project/.treadle/local/worktrees/two/src/a.py",
    "another activity's token": "ROOT/project/.treadle/local/runs/r/acts/b/work.json",
}


@pytest.mark.parametrize("path", UNSEEN.values(), ids=UNSEEN)
def test_secret_files_are_hidden(path: str, scene: Scene) -> None:
    assert Path(path.replace("ROOT", str(scene.root))).read_text()
    assert scene.tried(f"cat {path}").stdout == ""


def test_scope_answers_and_temporary_files_are_writable(scene: Scene) -> None:
    out = f"{scene.out}/answer"
    done = scene.tried(
        "set -e; echo 1 > src/a.py; mkdir src/new; echo 2 > src/new/b.py; echo 3 > tests/test_b.py; sed -i s/a/an/ "
        f"tests/test_a.py; echo 4 > {out}; echo 5 > $TMPDIR/x; echo 6 > /dev/shm/x; cat docs/a.md ROOT/project/mine.py"
        " ROOT/project/.treadle/local/runs/r/acts/a/bundle/prompt.md; echo 7 > /dev/null"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "docsof the usera prompt"
    written = ("src/a.py", "src/new/b.py", "tests/test_b.py", "tests/test_a.py")
    assert [(scene.lane / name).read_text() for name in written] == ["1\n", "2\n", "3\n", "an test"]
    assert Path(out).read_text() == "4\n"


def test_temporary_files_have_a_private_place(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.tried("echo $TMPDIR").stdout == "/var/tmp\n", "a lane in /tmp, which stays as it is"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as lane:
        monkeypatch.setenv("HOME", lane)
        script = f"echo $TMPDIR; : > /tmp/of-a-box; ls {scene.root}"
        job = EnclosedCommand(argv=("/bin/sh", "-c", script), cwd=Path(lane), env={"PATH": "/usr/bin:/bin"})
        launch = scene.box.launch(job)
        done = subprocess.run(launch.argv, env=launch.env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("/tmp\n", 2)
    assert not Path("/tmp/of-a-box").exists()


def test_without_a_scope_the_lane_is_writable_except_the_orchestrators_files(scene: Scene) -> None:
    all_of_it = msgspec.structs.replace(scene, scope=None)
    assert all_of_it.tried("echo x > docs/a.md && echo x > new.txt").returncode == 0
    assert all_of_it.tried("echo x > .git/HEAD").returncode != 0
    assert all_of_it.tried("echo x > treadle.toml").returncode != 0
    assert all_of_it.tried("mv .git git").returncode != 0


def test_writable_places_of_the_settings_are_visible_and_writable(scene: Scene) -> None:
    box = msgspec.structs.replace(scene.box, writable=(scene.root / "home/.ssh",))
    done = msgspec.structs.replace(scene, box=box).tried("cat ROOT/home/.ssh/id; echo x > ROOT/home/.ssh/new")
    assert (done.returncode, done.stdout) == (0, "a key")


@pytest.mark.parametrize(("network", "count"), [(True, None), (False, 1)])
def test_the_box_has_a_network_only_if_allowed(network: bool, count: int | None, scene: Scene) -> None:
    box = msgspec.structs.replace(scene.box, network=network)
    done = msgspec.structs.replace(scene, box=box).tried("grep -c : /proc/net/dev")
    here = Path("/proc/net/dev").read_text().count(":")
    assert int(done.stdout) == (here if count is None else count)


def test_other_processes_cannot_be_reached(scene: Scene) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        done = scene.tried(f"kill -9 {victim.pid}; kill -9 -1; ls /proc | grep -c '^[0-9]'")
        assert victim.poll() is None, done
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize(
    "script", ["sleep 60", "setsid sleep 60 & sleep 60", "trap '' TERM; sleep 60 & wait; sleep 60"]
)
def test_killing_the_box_leaves_no_process(script: str, scene: Scene) -> None:
    launch = scene.box.launch(scene.job("/bin/sh", "-c", f": > src/begun; {script}"))
    process = subprocess.Popen(launch.argv, env=launch.env)
    mark = f"MARK={scene.root}"
    try:
        until((scene.lane / "src/begun").exists)
        assert len(processes_with(mark)) > 1
        process.kill()
        process.wait()
        until(lambda: not processes_with(mark))
    finally:
        process.kill()
        process.wait()


def test_killing_the_starter_of_a_box_leaves_no_process(scene: Scene) -> None:
    launch = scene.box.launch(scene.job("/bin/sh", "-c", ": > src/begun; sleep 60"))
    starter = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", starter, *launch.argv], env=launch.env)
    mark = f"MARK={scene.root}"
    until((scene.lane / "src/begun").exists)
    process.kill()
    process.wait()
    until(lambda: not processes_with(mark))


def test_asking_it_to_end_reaches_the_program_and_not_the_box(scene: Scene) -> None:
    script = "trap 'echo asked > src/asked; exit 3' TERM; : > src/begun; while :; do sleep 0.02; done"
    launch = scene.box.launch(scene.job("/bin/sh", "-c", script))
    process = subprocess.Popen(launch.argv, env=launch.env)
    try:
        until((scene.lane / "src/begun").exists)
        for one in processes_with(f"MARK={scene.root}"):
            if is_running(one):
                os.kill(one.pid, signal.SIGTERM)
        assert process.wait(PATIENCE) == 3
        assert (scene.lane / "src/asked").read_text() == "asked\n"
    finally:
        process.kill()
        process.wait()


def test_a_fatal_signal_becomes_the_exit_code_of_a_shell(scene: Scene) -> None:
    assert scene.tried("kill -9 $$").returncode == 128 + signal.SIGKILL


def test_a_program_that_is_no_bubblewrap_is_no_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    broken = str(_found())
    assert [text for text in (str(program), "no namespaces here") if text not in broken] == []
    program.unlink()
    assert "'bwrap'" in str(_found())


def test_a_bubblewrap_that_encloses_nothing_is_no_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert str(program) in str(_found())
    assert "not work" in str(_found())


def _found() -> BubblewrapBox | str:
    return asyncio.run(find_box())


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_secret_places_are_followed_through_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"
    (home / ".config" / "gh").mkdir(parents=True)
    kept.mkdir()
    (home / ".ssh").symlink_to(kept)
    (home / ".netrc").symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("HOME", str(home))
    assert home_folders()[0] == home
    assert {path for path in secret_places() if path.is_relative_to(tmp_path)} == {kept, home / ".config/gh"}


@pytest.mark.parametrize("home", ["", "relative", "/"])
def test_an_unusable_home_is_ignored(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert Path(home) not in home_folders()
