"""What `make agents` takes for whole, and what it would install."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.agents.install import HERE, PROGRAMS, program, up_to_date
from tools.node.install import MANIFEST

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An installation, as far as it is looked at."""
    for name in MANIFEST:
        shutil.copy(HERE / name, tmp_path)
    for name in ("node", *PROGRAMS):
        program(tmp_path, name).parent.mkdir(parents=True, exist_ok=True)
        program(tmp_path, name).symlink_to(sys.executable)
    return tmp_path


def test_a_whole_installation_is_left_alone(folder: Path) -> None:
    assert up_to_date(folder)


@pytest.mark.parametrize("name", ["node", *PROGRAMS])
def test_an_installation_without_a_program_is_not_up_to_date(folder: Path, name: str) -> None:
    program(folder, name).unlink()
    program(folder, name).symlink_to(folder / "gone")
    assert not up_to_date(folder)


@pytest.mark.parametrize("name", MANIFEST)
def test_an_installation_of_other_versions_is_not_up_to_date(folder: Path, name: str) -> None:
    (folder / name).write_text("{}")
    assert not up_to_date(folder)
    (folder / name).unlink()
    assert not up_to_date(folder)


def test_every_version_is_pinned_and_no_address_is_named() -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    lock = (HERE / "package-lock.json").read_text()
    assert set(wanted) == set(PROGRAMS.values())
    packages = json.loads(lock)["packages"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert all("integrity" in it for name, it in packages.items() if name)
    assert '"resolved"' not in lock


@pytest.mark.agents
def test_an_unreachable_registry_is_an_error_at_once_and_leaves_no_files(tmp_path: Path) -> None:
    nowhere = {"XDG_CACHE_HOME": str(tmp_path), "npm_config_registry": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-m", "tools.agents.install"],
        cwd=ROOT, env={**os.environ, **nowhere}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "`npm view opencode-ai`" in done.stderr
    assert [each.name for each in (tmp_path / "treadle").iterdir() if each.name.startswith("agents")] == ["agents.lock"]
