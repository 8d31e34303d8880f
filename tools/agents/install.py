"""Installs the coding agents of this folder, and a node for them, into the user's cache.

Leaves there `node_modules/.bin` with the programs. Everything is made beside it and put in its place only after each
program has said its version, so what is there is whole; does nothing when it is there and up to date.
"""

import fcntl
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.node.install import CACHE, MANIFEST, programs, run

HERE = Path(__file__).parent
FOLDER = CACHE / "agents"
PROGRAMS = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp",
    "codex-acp": "@agentclientprotocol/codex-acp",
}
# What npm would run after it has put the packages there. These two are run, and nobody else's.
SCRIPTS = ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")
# Not `npm ci`: it wants the packages of every platform in the lock, and not every registry has them.
INSTALL = "install --ignore-scripts --no-audit --no-fund --loglevel=error".split()
# npm itself would try each package again and again, for many minutes.
ASK = "view opencode-ai version --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000".split()
ROUND = 0.2
SECONDS_BETWEEN_NEWS = 10.0


def main() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "agents.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever waited here finds it done
        if up_to_date(FOLDER):
            return
        scratch = CACHE / "agents.partial"
        shutil.rmtree(scratch, ignore_errors=True)  # of an installation that was killed
        try:
            install(scratch)
            shutil.rmtree(FOLDER, ignore_errors=True)
            scratch.rename(FOLDER)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"The agents are in {FOLDER} ({megabytes(FOLDER)} MB).")


def up_to_date(folder: Path) -> bool:
    _, changed, missing = filecmp.cmpfiles(HERE, folder, MANIFEST, shallow=False)
    return (
        not changed and not missing and all(os.access(program(folder, name), os.X_OK) for name in ("node", *PROGRAMS))
    )


def install(scratch: Path) -> None:
    print(f"Installing coding agents into {FOLDER} (once; about 1.8 GB) ...", flush=True)
    scratch.mkdir()
    for name in MANIFEST:
        shutil.copy(HERE / name, scratch)
    command = npm()
    ask_registry(command)
    fetch([*command, *INSTALL], scratch)
    for name in MANIFEST:  # npm may have written the lock anew
        shutil.copy(HERE / name, scratch)
    with_node(scratch)
    for script in SCRIPTS:
        run(
            [str(program(scratch, "node")), str(scratch / "node_modules" / script)],
            cwd=scratch / "node_modules" / Path(script).parent,
        )
    for name, package in PROGRAMS.items():
        verify(scratch, name, package)


def npm() -> list[str]:
    """The machine's npm, however old its node is; else one that comes with a node of our own."""
    found = shutil.which("npm")
    works = found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0
    return [found] if found and works else programs()[1]


def ask_registry(npm: list[str]) -> None:
    done = subprocess.run([*npm, *ASK], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        why = next((line for line in done.stderr.splitlines() if "reason:" in line), done.stderr.strip())
        sys.exit(f"The npm registry does not answer; see that `npm view opencode-ai` works, then try again.\n{why}")


def fetch(command: list[str], scratch: Path) -> None:
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=scratch, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        tell_progress(process, scratch)
        output.seek(0)
        said = output.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{said}")


def tell_progress(process: "subprocess.Popen[bytes]", scratch: Path) -> None:
    told = time.monotonic()
    while process.poll() is None:
        time.sleep(ROUND)
        if time.monotonic() - told >= SECONDS_BETWEEN_NEWS:
            told = time.monotonic()
            print(f"  ... {megabytes(scratch)} MB", flush=True)


def with_node(scratch: Path) -> None:
    """There is a package with node for most platforms; elsewhere the one that the node tools use has to do."""
    if not program(scratch, "node").exists():
        program(scratch, "node").symlink_to(programs()[0])


def verify(scratch: Path, name: str, package: str) -> None:
    """The program starts with nothing but its own, and is the version that is asked for."""
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"][package]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [program(scratch, name), "--version"],
            env={"PATH": f"{scratch / 'node_modules' / '.bin'}:/usr/bin:/bin", "HOME": home},
            cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    if done.returncode or wanted not in done.stdout:
        sys.exit(
            f"{name} --version should say {wanted}, but says (code {done.returncode}):\n{done.stdout}{done.stderr}"
        )
    print(f"  {name} {wanted}", flush=True)


def program(folder: Path, name: str) -> Path:
    return folder / "node_modules" / ".bin" / name


def megabytes(folder: Path) -> int:
    """What the files take, those with two names once; what vanishes meanwhile does not count."""
    sizes: dict[int, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(place, name))  # noqa: PTH118 - thousands of them, every few seconds
            except FileNotFoundError:
                continue
            sizes[found.st_ino] = found.st_size
    return sum(sizes.values()) // 1_000_000


if __name__ == "__main__":
    main()
