"""The trial of a test tool on a small project of our own."""

import asyncio
import sys
from pathlib import Path

from tests.node_tools import go_program
from treadle.config.model import Toolchain
from treadle.toolchains.canary_trial import canary_fault


def fault(root: Path, kind: str, *command: str) -> str | None:
    return asyncio.run(canary_fault(Toolchain(kind=kind, timeout=60, test=command), root))


def test_pytest_is_tried_without_the_projects_own_options(tmp_path: Path) -> None:
    assert fault(tmp_path, "pytest", sys.executable, "-m", "pytest", "tests", "-c", "no-such.ini") == ""


def test_a_pytest_that_lies_or_cannot_start_is_a_fault(tmp_path: Path) -> None:
    liar = tmp_path / "pytest"
    liar.write_text("#!/bin/sh\necho '1 passed'\nexit 0\n")
    liar.chmod(0o755)
    assert fault(tmp_path, "pytest", str(liar))
    assert fault(tmp_path, "pytest", str(tmp_path / "nowhere"), "-m", "pytest")


def test_a_go_whose_canaries_do_not_work_is_a_fault(tmp_path: Path) -> None:
    real, old = go_program(), tmp_path / "go"
    assert fault(tmp_path, "gotest", real, "test", "./pkg/...") == ""
    old.write_text(f'#!/bin/sh\ncase "$*" in *overlay*) echo "no -overlay"; exit 2;; esac\nexec {real} "$@"\n')
    old.chmod(0o755)
    assert fault(tmp_path, "gotest", str(old), "test", "./...")


def test_other_tools_have_no_canaries(tmp_path: Path) -> None:
    assert fault(tmp_path, "junit", "vitest", "run") is None
    assert fault(tmp_path, "command", "make", "test") is None
