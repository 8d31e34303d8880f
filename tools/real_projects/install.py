"""Downloads the real packages that Treadle is tried on into the user's cache, each pinned by its hash.

They come from the registries that pip, npm and go are configured for. Each language has a folder that is made beside
its place and moved there when it is whole; one that is there and up to date is left alone. Where a language cannot be
had, the others are installed all the same, and the reason is printed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

import msgspec

from tools.go.install import FOLDER as GO_TOOLS
from tools.go.install import main as install_go
from tools.node.install import install as install_packages
from tools.node.install import run
from tools.real_projects.packages import FOLDER, GO, NODE, PACKAGES, PYTHON, Language

HERE = Path(__file__).parent
STAMP = "installed"
PIP = ["-m", "pip", "--disable-pip-version-check"]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    steps: dict[Language, Callable[[], None]] = {"python": python, "javascript": javascript, "go": go}
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        failed = [language for language, install in steps.items() if not succeeds(language, install)]
    if failed:
        sys.exit(f"Not installed: {', '.join(failed)}. Their tests are skipped.")


def succeeds(language: str, install: Callable[[], None]) -> bool:
    try:
        install()
    except (SystemExit, OSError, subprocess.SubprocessError) as problem:
        print(f"{language}: {problem}", file=sys.stderr, flush=True)
        return False
    return True


def python() -> None:
    """The source distributions, unpacked, and the environment that their tests need."""
    pins = "".join((HERE / name).read_text(encoding="utf-8") for name in ("environment.txt", "sdists.txt"))
    if is_current(PYTHON, pins):
        return
    print(f"Installing Python packages into {PYTHON} (once) ...", flush=True)
    # An environment cannot be moved, so it is made in place; without its stamp it counts as not there.
    shutil.rmtree(PYTHON, ignore_errors=True)
    venv.create(PYTHON, with_pip=True)
    own = str(PYTHON / "bin" / "python")
    hashed = ["-qq", "--require-hashes", "--no-deps"]
    run([own, *PIP, "install", *hashed, "--only-binary", ":all:", "-r", str(HERE / "environment.txt")])
    archives = PYTHON / "archives"
    # The pinned environment has their build tools: nothing that is not pinned is fetched to build in isolation.
    download = [*PIP, "download", *hashed, "--no-binary", ":all:", "--no-build-isolation"]
    run([own, *download, "-r", str(HERE / "sdists.txt"), "--dest", str(archives)])
    for archive in archives.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(PYTHON / "sources", filter="data")
    stamp(PYTHON, pins)


def javascript() -> None:
    """The package as a dependency of a manifest with a lock, beside what it depends on itself."""
    install_packages(HERE, NODE)


def go() -> None:
    """The modules, copied out of a module cache of their own; the hash is that of `go.sum`."""
    wanted = [package for package in PACKAGES if package.language == "go"]
    pins = msgspec.json.encode(wanted).decode()
    if is_current(GO, pins):
        return
    install_go()
    program = GO_TOOLS / "go"
    print(f"Installing Go modules into {GO} (once) ...", flush=True)
    shutil.rmtree(GO, ignore_errors=True)
    (GO / "bin").mkdir(parents=True)
    env = {**os.environ, "GOMODCACHE": str(GO / "modules"), "GOFLAGS": "-modcacherw"}
    for package in wanted:
        name = f"{package.registered}@{package.version}"
        command = [str(program), "mod", "download", "-json", name]
        done = subprocess.run(command, cwd=GO, env=env, capture_output=True, text=True, check=False)
        told = msgspec.json.decode(done.stdout or "{}")
        if done.returncode:
            sys.exit(f"go mod download {name} failed: {told.get('Error') or done.stderr}")
        if told["Sum"] != package.sum:
            sys.exit(f"{name} has the hash {told['Sum']}, and {package.sum} was expected; nothing of it is used")
        shutil.copytree(told["Dir"], package.source)
    (GO / "bin" / "go").symlink_to(program.resolve())
    stamp(GO, pins)


def is_current(folder: Path, pins: str) -> bool:
    file = folder / STAMP
    return file.is_file() and file.read_text(encoding="utf-8") == pins


def stamp(folder: Path, pins: str) -> None:
    (folder / STAMP).write_text(pins, encoding="utf-8")


if __name__ == "__main__":
    main()
