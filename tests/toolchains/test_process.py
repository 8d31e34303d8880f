import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.refusals import refused
from treadle.enclosures.port import EnclosedCommand
from treadle.git.files import temporary_folder
from treadle.toolchains.process import BoundedOutput, command_environment, run
from treadle.toolchains.results import CommandResult
from treadle.toolchains.sandbox import NONE, Sandbox, candidates, find_sandbox, works, writable_places

SANDBOXES = [NONE, *(one for one in candidates() if asyncio.run(works(one)))]
KEEPING = [one for one in SANDBOXES if one.narrows or one.keeps_files]


def python(text: str, cwd: Path, *, timeout: float = 30.0, sandbox: Sandbox = NONE) -> CommandResult:
    async def go() -> CommandResult:
        with temporary_folder("scratch") as scratch:
            command = [sys.executable, "-c", text]
            env = command_environment(scratch)
            return await run(command, cwd=cwd, env=env, timeout=timeout, sandbox=sandbox, scratch=scratch)

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass", (0, "done")),
        ("raise SystemExit(7)", (7, "done")),
        ("import os; os.kill(os.getpid(), 9)", (None, "killed")),
        ("import os; os.kill(os.getpid(), 15)", (None, "killed")),
        ("import sys; assert sys.stdin.read() == ''", (0, "done")),
    ],
)
def test_a_finished_program_has_its_exit_code_or_signal(
    tmp_path: Path, text: str, expected: tuple[int | None, str]
) -> None:
    finished = python(text, tmp_path)
    assert (finished.exit, finished.ended) == expected


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
def test_every_sandbox_that_works_gives_the_same(tmp_path: Path, sandbox: Sandbox) -> None:
    text = (
        "import os, socket, subprocess, sys\n"
        "open('made', 'w').close(); open(os.environ['TMPDIR'] + '/made', 'w').close()\n"
        "with socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname()).close()\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('here', os.getcwd()); sys.exit(3)\n"
    )
    finished = python(text, tmp_path, sandbox=sandbox)
    assert (finished.exit, finished.output, finished.isolation) == (3, f"here {tmp_path}\n", sandbox.name)
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize("sandbox", SANDBOXES[1:], ids=lambda sandbox: sandbox.name)
def test_a_sandbox_has_no_network(tmp_path: Path, sandbox: Sandbox) -> None:
    text = "print(sorted(line.split(':')[0].strip() for line in list(open('/proc/self/net/dev'))[2:]))"
    assert python(text, tmp_path, sandbox=sandbox).output == "['lo']\n"


def test_the_best_sandbox_is_one_that_works(tmp_path: Path) -> None:
    found = asyncio.run(find_sandbox())
    assert found in SANDBOXES
    assert python("pass", tmp_path, sandbox=found).exit == 0


def test_bubblewrap_binds_only_writable_paths(tmp_path: Path) -> None:
    sandbox = Sandbox("bubblewrap", ("bwrap", "--ro-bind", "/", "/"), keeps_files=True)
    words = sandbox.launch(EnclosedCommand(argv=("true",), cwd=tmp_path, env={})).argv
    at = words.index(str(tmp_path))
    assert words[at - 1 : at + 2] == ("--bind", str(tmp_path), str(tmp_path))
    assert words[-4:] == ("--chdir", str(tmp_path), "--", "true")


def test_a_checkout_may_be_written_to_and_the_project_around_it_may_not(tmp_path: Path) -> None:
    checkout, scratch = tmp_path / "project/.treadle/local/check-1", tmp_path / "scratch"
    checkout.mkdir(parents=True)
    scratch.mkdir()
    found = writable_places(
        EnclosedCommand(argv=("true",), cwd=checkout, env={}, writable=(scratch, tmp_path / "gone"))
    )
    own = [one for one in found if str(tmp_path) in one]
    assert sorted(own) == [f"+{checkout}", f"+{scratch}", f"-{tmp_path / 'project'}"]
    assert own[-1] == f"+{checkout}", "what lies deeper comes later"


@pytest.mark.skipif(not KEEPING, reason="neither bubblewrap nor namespaces can make files read-only here")
@pytest.mark.parametrize("sandbox", KEEPING, ids=lambda sandbox: sandbox.name)
def test_a_program_in_a_checkout_cannot_change_the_users_files(tmp_path: Path, sandbox: Sandbox) -> None:
    checkout, users = tmp_path / "project/.treadle/local/check-1", tmp_path / "project/own.txt"
    checkout.mkdir(parents=True)
    users.write_text("mine")
    text = (
        "import subprocess as s\n"
        f"root, users = {str(users.parent)!r}, {str(users)!r}\n"
        "for words in (['umount', '-l', root], ['mount', '-o', 'remount,rw,bind', root],\n"
        "              ['unshare', '-Urm', 'mount', '-o', 'remount,rw,bind', root], ['rm', '-f', users]):\n"
        "    s.run(words, capture_output=True)\n"
        "for path in (users, root + '/new'):\n"
        "    try: open(path, 'w')\n"
        "    except OSError as error: print(error.errno)\n"
        "open('made', 'w').close(); print(open(users).read())\n"
    )
    finished = python(text, checkout, sandbox=sandbox)
    assert finished.output == "30\n30\nmine\n"
    assert (users.read_text(), (checkout / "made").exists()) == ("mine", True)


def test_time_is_up(tmp_path: Path) -> None:
    text = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print('begun', flush=True); time.sleep(600)"
    finished = python(text, tmp_path, timeout=1.5)
    assert (finished.exit, finished.ended, finished.output) == (None, "timeout", "begun\n")


def test_no_program_and_no_folder(tmp_path: Path) -> None:
    async def go(cwd: Path) -> CommandResult:
        with temporary_folder("scratch") as scratch:
            return await run(["no-such-program"], cwd=cwd, env={}, timeout=9, sandbox=NONE, scratch=scratch)

    finished = asyncio.run(go(tmp_path))
    assert (finished.ended, finished.exit, finished.detail) == ("missing", None, "No such file or directory")
    with refused("toolchain.broken", str(tmp_path / "nowhere")):
        asyncio.run(go(tmp_path / "nowhere"))


@pytest.mark.parametrize("pieces", [[b"a" * 200], [b"a"] * 200, [b"a" * 60, b"a" * 140], [b"a" * 50, b"a" * 150]])
def test_too_much_output_keeps_its_beginning_and_its_end(pieces: list[bytes]) -> None:
    kept = BoundedOutput(limit=100)
    for piece in pieces:
        kept.add(piece)
    assert str(kept) == "a" * 50 + "\n… 100 bytes are left out …\n" + "a" * 50


def test_output_that_fits_is_kept_whole() -> None:
    kept = BoundedOutput(limit=100)
    for number in range(10):
        kept.add(f"line {number}\n".encode())
    assert str(kept) == "".join(f"line {number}\n" for number in range(10))


def test_the_environment_is_built_anew(tmp_path: Path) -> None:
    ours = {
        "PATH": "/usr/bin:relative::/bin",
        "HOME": "/home/me",
        "SECRET": "x",
        "PYTHONPATH": "/x",
        "LD_PRELOAD": "/x",
    }
    env = command_environment(tmp_path, ours)
    assert env["PATH"] == "/usr/bin:/bin"
    assert env["HOME"] == "/home/me"
    assert env["TMPDIR"].startswith(str(tmp_path))
    assert not {"SECRET", "PYTHONPATH", "LD_PRELOAD"} & set(env)


@pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
def test_a_killed_treadle_leaves_no_process_behind(tmp_path: Path, sandbox: Sandbox) -> None:
    mark = tmp_path / "begun"
    command = ["sh", "-c", f"sleep 600 & echo x > {mark}; sleep 600; true {tmp_path}"]
    text = (
        "import asyncio, pathlib\n"
        "from treadle.toolchains.process import run\nfrom treadle.toolchains.sandbox import Sandbox\n"
        f"sandbox = Sandbox({sandbox.name!r}, {sandbox.prefix!r}, {sandbox.loopback!r}, {sandbox.narrows!r},"
        f" {sandbox.keeps_files!r})\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        f"asyncio.run(run({command!r}, cwd=here, env={{'PATH': '/usr/bin:/bin'}}, timeout=60, sandbox=sandbox,"
        " scratch=here))\n"
    )
    with subprocess.Popen([sys.executable, "-c", text]) as treadle:
        while not mark.exists():
            assert treadle.poll() is None
            time.sleep(0.01)
        treadle.kill()
    until = time.monotonic() + 20
    while left := [process for process in Path("/proc").iterdir() if f"true {tmp_path}" in _command_line(process)]:
        assert time.monotonic() < until, left
        time.sleep(0.01)


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace") if process.name.isdigit() else ""
    except OSError:
        return ""
