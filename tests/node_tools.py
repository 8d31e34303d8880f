"""Where `make node-tools` put node and its packages, and `make go-tools` Go, for the tests that need them."""

import os
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
FOLDER = CACHE / "treadle" / "node-tools"
SCRIPTS = Path(__file__).parents[1] / "tools" / "node"


def node_tools() -> tuple[Path, Path]:
    """The node program and the folder with its packages; skips the test, saying what to do, if they are not there."""
    node = FOLDER / "node"
    if not node.exists() or not (FOLDER / "node_modules").is_dir():
        pytest.skip(f"node and its packages are not in {FOLDER}; run `make node-tools`")
    return node, FOLDER


def go_program() -> str:
    """The Go program; skips the test, saying what to do, if there is none."""
    own = CACHE / "treadle" / "go-tools" / "go"
    if not own.exists():
        pytest.skip(f"go is not in {own.parent}; run `make go-tools`")
    return str(own)


def check_mermaid(*files: Path) -> subprocess.CompletedProcess[str]:
    """Parses Mermaid files with the real mermaid package: exit code 0, or 1 with the file and the error on stderr."""
    node, folder = node_tools()
    command = [node, SCRIPTS / "check_mermaid.mjs", folder, *files]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
