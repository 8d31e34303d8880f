"""Puts bubblewrap into the user's cache, for the tests of the box that agents run in.

Leaves there `bwrap`: a link to the machine's own if it works, else the program of the Debian package, which needs no
root rights to be unpacked, else the one that a coding agent has brought along. Does nothing when it is there and works.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.node.install import CACHE

FOLDER = CACHE / "box"
PROGRAM = FOLDER / "bwrap"
TRIAL = "--ro-bind / / --dev /dev --proc /proc --unshare-pid --die-with-parent --cap-drop ALL true".split()
PATIENCE = 60


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    complaints = []
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        for path in candidates(Path(scratch)):
            why = fault(path)
            if not why and path != PROGRAM:
                put(path, Path(scratch))
                print(f"bubblewrap is in {FOLDER}.")
            if not why:
                return
            complaints.append(f"  {path}: {why}")
    tried = "\n".join(complaints) or "  there is none, and no Debian package can be had"
    sys.exit(f"No bubblewrap works here, so the tests of the box will be skipped; `apt install bubblewrap`.\n{tried}")


def candidates(scratch: Path) -> Iterator[Path]:
    """What could be used, the best first; each is made only when it is asked for."""
    if PROGRAM.exists():
        yield PROGRAM
    if own := shutil.which("bwrap"):
        yield Path(own)
    if unpacked := from_package(scratch):
        yield unpacked
    yield from (CACHE / "agents" / "node_modules").glob("@openai/codex-*/vendor/*/codex-resources/bwrap")


def fault(program: Path) -> str:
    """Why it does not work here; empty if it does."""
    try:
        done = subprocess.run([program, *TRIAL], capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""


def from_package(scratch: Path) -> Path | None:
    """The program of the Debian package that this machine's own sources have."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return None
    print(f"Installing bubblewrap into {FOLDER} (once) ...", flush=True)
    lists = scratch / "lists"
    own = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={scratch / 'cache'}"]
    # Where the machine has no list of packages, one of our own will do.
    if not well(["apt-get", "-qq", "download", "bubblewrap"], scratch):
        (lists / "partial").mkdir(parents=True)
        if not well(["apt-get", "-qq", *own, "update"], scratch):
            return None
        if not well(["apt-get", "-qq", *own, "download", "bubblewrap"], scratch):
            return None
    package = next(scratch.glob("bubblewrap_*.deb"), None)
    if package is None or not well(["dpkg-deb", "-x", str(package), str(scratch / "unpacked")], scratch):
        return None
    return scratch / "unpacked" / "usr" / "bin" / "bwrap"


def well(command: list[str], cwd: Path) -> bool:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command)}: no answer within {PATIENCE} s")
        return False
    if done.returncode:
        print(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.returncode == 0


def put(path: Path, scratch: Path) -> None:
    """In one step: others may be starting it."""
    new = scratch / "new"
    if path.is_relative_to(scratch):
        shutil.copy(path, new)
    else:
        new.symlink_to(path)
    new.replace(PROGRAM)


if __name__ == "__main__":
    main()
