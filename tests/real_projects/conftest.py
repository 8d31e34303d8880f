"""Real packages for stories; each test gets a clone of its own."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real_projects.project import RealProject, package_named
from tools.real_projects.packages import RECORD


@pytest.fixture
def clone(tmp_path: Path) -> Callable[[str], RealProject]:
    """A clone of a package with Treadle set up in it, by the package's name."""

    def make(name: str) -> RealProject:
        project = RealProject(package_named(name), tmp_path / "work")
        done = project.set_up()
        assert done.code == 0, done
        return project

    return make


@pytest.fixture
def record() -> Callable[..., None]:
    """Adds numbers to the record, if there is one."""

    def write(**numbers: Any) -> None:
        if name := os.environ.get(RECORD):
            with Path(name).open("a", encoding="utf-8") as file:
                file.write(json.dumps(numbers) + "\n")

    return write
