"""An engine for containers that is none: a daemon and its client, as `docker` or `podman` would behave on this machine.

What it is told to run really runs, below the daemon and not below the client, so nothing ends with the client. Where
the machine allows it, the command sees nothing but the "image" (the machine's programs) and what is mounted.

daemon FOLDER     listens on FOLDER/socket until its standard input closes
inside FILE       becomes the command of one container
anything else     is the client's command line
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

IMAGE = "sha256:" + "ab12" * 16
VALUED = set(
    "--pull --log-driver --tmpfs --cap-drop --security-opt --name --label --userns --user --network --pids-limit"
    " --memory --cpus --mount --env --workdir --entrypoint".split()
)
PLAIN = {"--rm", "--init", "--read-only"}
PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/opt")
NEW_NS, NEW_USER, NEW_NET = 0x20000, 0x10000000, 0x40000000
RDONLY, REMOUNT, BIND, REC, PRIVATE = 1, 32, 4096, 16384, 1 << 18


def client(kind: str, folder: Path, argv: list[str]) -> None:
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(str(folder / "socket"))
    except OSError:
        sys.stdout.write(" null\n")  # as docker does
        sys.exit("Cannot connect to the daemon. Is it running?")
    request = json.dumps({"kind": kind, "argv": argv, "env": dict(os.environ)}).encode()
    signal.signal(signal.SIGTERM, lambda *_: line.sendall(b"15\n"))
    socket.send_fds(line, [len(request).to_bytes(4, "big")], [1, 2])
    line.sendall(request)
    answer = json.loads(line.makefile().readline() or '{"code": 125}')
    sys.exit(answer["code"])


class Daemon:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.containers: dict[str, dict[str, Any]] = {}

    def listen(self) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self.folder / "socket"))
        server.listen()
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()
        sys.stdin.read()
        os._exit(0)

    def _accept(self, server: socket.socket) -> None:
        while True:
            threading.Thread(target=self._serve, args=(server.accept()[0],), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        size, fds, _, _ = socket.recv_fds(line, 4, 2)
        request = json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        with (self.folder / "log").open("a") as log:
            log.write(json.dumps(request["argv"]) + "\n")
        out, err = (os.fdopen(fd, "w") for fd in fds)
        with out, err:
            code = self._do(line, request, out, err)
        with suppress(OSError):  # the client may be gone
            line.sendall(json.dumps({"code": code}).encode() + b"\n")

    def _do(self, line: socket.socket, request: dict[str, Any], out: Any, err: Any) -> int:
        verb, *rest = request["argv"]
        if verb == "info":
            out.write("28.0.0 []\n" if request["kind"] == "docker" else "5.4.0 rootless=true\n")
        elif verb == "image":
            if rest[-1] not in (self.folder / "images").read_text().split():
                err.write(f"No such image: {rest[-1]}\n")
                return 1
            out.write(f"{IMAGE}\n")
        elif verb == "ps":
            wanted = [rest[at + 1].removeprefix("label=") for at, word in enumerate(rest) if word == "--filter"]
            for name, one in list(self.containers.items()):
                if all(label in one["labels"] for label in wanted):
                    by = next((it.partition("=")[2] for it in one["labels"] if it.startswith("treadle.by=")), "")
                    out.write(f"{name} {by}\n")
        elif verb == "rm":
            return self._remove([word for word in rest if not word.startswith("-")], err)
        elif verb == "run":
            return self._run(line, rest, request["env"], out, err)
        else:
            err.write(f"unknown command {verb}\n")
            return 125
        return 0

    def _remove(self, names: list[str], err: Any) -> int:
        code = 0
        for name in names:
            one = self.containers.get(name)
            if one is None:
                err.write(f"Error: No such container: {name}\n")
                code = 1
            else:
                one["process"].stdin.close()  # upon which its minder ends everything
                one["process"].wait()
        return code

    def _run(self, line: socket.socket, words: list[str], env: dict[str, str], out: Any, err: Any) -> int:
        try:
            told = parse(words, env)
            if told["name"] in self.containers:
                raise ValueError(f"the name {told['name']} is already in use")
            if told["image"] != IMAGE:
                raise ValueError(f"there is no image {told['image']}")
        except ValueError as error:
            err.write(f"engine: {error}\n")
            return 125
        spec = self.folder / f"{told['name']}.json"
        spec.write_text(json.dumps(told))
        reading, writing = os.pipe()
        minder = [sys.executable, "-IS", (self.folder / "minder").read_text(), str(writing), "0", "0", "0"]
        process = subprocess.Popen(
            [*minder, sys.executable, "-IS", __file__, "inside", str(spec)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={},
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        self.containers[told["name"]] = {"process": process, "labels": told["labels"]}
        threading.Thread(target=self._signals, args=(line, spec), daemon=True).start()
        process.wait()
        word, _, code = os.read(reading, 100).decode().partition(" ")
        os.close(reading)
        del self.containers[told["name"]]
        if word != "exit":
            return 137
        return int(code) if int(code) >= 0 else 128 - int(code)

    def _signals(self, line: socket.socket, spec: Path) -> None:
        with suppress(OSError, ValueError):  # the client may be gone, or the container
            while line.recv(3):
                os.kill(int(spec.with_suffix(".pid").read_text()), signal.SIGTERM)


def parse(words: list[str], env: dict[str, str]) -> dict[str, Any]:
    """What a command line means; a word that no engine knows is refused."""
    said: dict[str, list[str]] = {}
    at = 0
    while words[at].startswith("-"):
        if words[at] not in VALUED | PLAIN:
            raise ValueError(f"unknown flag: {words[at]}")
        if words[at] in VALUED:
            said.setdefault(words[at], []).append(words[at + 1])
            at += 1
        else:
            said[words[at]] = []
        at += 1
    inside = {}
    for word in said.get("--env", []):
        name, given, value = word.partition("=")
        if given or name in env:
            inside[name] = value if given else env[name]
    return {
        "name": said["--name"][0],
        "labels": said.get("--label", []),
        "image": words[at],
        "argv": [*said["--entrypoint"], *words[at + 1 :]],
        "env": {"PATH": "/usr/local/bin:/usr/bin:/bin", **inside},
        "workdir": said["--workdir"][0],
        "network": said.get("--network", ["default"])[0],
        "mounts": [fields(word) for word in said.get("--mount", [])],
    }


def fields(text: str) -> dict[str, str]:
    import csv  # noqa: PLC0415 - only the daemon needs it

    parts = [part.partition("=") for part in next(csv.reader([text]))]
    return {name: value for name, _, value in parts}


def inside(file: Path) -> None:
    """Become the command, in a root of its own if this machine allows it."""
    told = json.loads(file.read_text())
    file.with_suffix(".pid").write_text(str(os.getpid()))
    try:
        enclose(told, file.parent / "roots" / told["name"])
        os.chdir(told["workdir"])
    except OSError as error:
        sys.stderr.write(f"engine: {error}\n")
        sys.exit(125)
    try:
        os.execvpe(told["argv"][0], told["argv"], told["env"])
    except FileNotFoundError:
        sys.stderr.write(f"engine: {told['argv'][0]}: not found\n")
        sys.exit(127)
    except OSError:
        sys.exit(126)


def enclose(told: dict[str, Any], root: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function: Any, *arguments: Any) -> None:
        if function(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(arguments))

    def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        call(libc.mount, source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())

    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER | NEW_NS | (NEW_NET if told["network"] == "none" else 0)):
        return  # then everything is within reach
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    mount("none", "/", "", REC | PRIVATE)
    root.mkdir(parents=True)
    mount("tmpfs", str(root), "tmpfs", 0)
    (root / "tmp").mkdir(mode=0o1777)
    programs = (root.parents[1] / "programs").read_text().split("\n")
    seen = [(path, False) for path in (*PROGRAMS, *programs) if Path(path).exists()]
    for path, is_readonly in [*seen, *((it["source"], "readonly" in it) for it in told["mounts"])]:
        target = Path(f"{root}{path}")
        if Path(path).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        mount(path, str(target), "", BIND | REC)
        if is_readonly:
            locked = os.statvfs(target).f_flag & 0b1110
            mount("none", str(target), "", BIND | REMOUNT | RDONLY | locked)
    os.chroot(root)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["daemon", folder]:
            Daemon(Path(folder)).listen()
        case ["inside", file]:
            inside(Path(file))
        case [kind, folder, *argv]:
            client(kind, Path(folder), argv)
