"""The toolchain of a project: which commands run, the fingerprint of its environment, and a trial of its canaries."""

import asyncio
import os
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.node_tools import go_program
from tests.toolchains.projects import PYTEST, project, write
from treadle.config.model import Config, ToolchainSettings
from treadle.config.project import Project
from treadle.config.settings import EffectiveSettings
from treadle.toolchains.command import PlainCommand
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.junit import Junit
from treadle.toolchains.pytest import KNOWN_PLUGINS, Pytest, configuration
from treadle.toolchains.toolchain import build, canary_fault, environment_fingerprint, toolchain_of

CONFIG = EffectiveSettings({}).config()


def config(**settings: object) -> Config:
    return msgspec.structs.replace(CONFIG, toolchain=msgspec.structs.replace(CONFIG.toolchain, **settings))


@pytest.mark.parametrize(
    ("kind", "expected"), [("pytest", Pytest), ("junit", Junit), ("gotest", GoTest), ("command", PlainCommand)]
)
def test_the_kind_decides_how_results_are_read(tmp_path: Path, kind: str, expected: type) -> None:
    settings = config(kind=kind, test=("{root}/bin/tests", "{report}"), timeout=7)
    tests: Any = toolchain_of(settings, Project(tmp_path)).tests
    assert type(tests).__name__ == expected.__name__
    assert tests.command == (f"{tmp_path}/bin/tests", "{report}")
    assert tests.timeout == 7.0


def test_plugins_of_the_project_are_loaded_besides_the_well_known_ones(tmp_path: Path) -> None:
    tests: Any = toolchain_of(config(kind="pytest", test=PYTEST, plugins=("mine",)), Project(tmp_path)).tests
    assert tests.plugins == (*KNOWN_PLUGINS, "mine")


def test_an_unset_toolchain_is_detected(tmp_path: Path) -> None:
    write(tmp_path, "go.mod", "module example.com/x\n")
    toolchain = toolchain_of(config(build=("my", "build")), Project(tmp_path))
    assert isinstance(toolchain.tests, GoTest)
    assert toolchain.settings.build == ("my", "build"), "and what somebody said is kept"
    assert toolchain.settings.lint == ("go", "vet", "./...")


def test_without_a_test_command_every_run_says_so(tmp_path: Path) -> None:
    toolchain = toolchain_of(CONFIG, Project(tmp_path))
    ran = asyncio.run(toolchain.test(tmp_path))
    assert not ran.is_green
    assert "(`toolchain.test`)" in ran.problems[0]
    assert asyncio.run(toolchain.collect(tmp_path)).problems == ran.problems
    assert asyncio.run(toolchain.run("build", tmp_path)) is None


def test_a_project_from_end_to_end(tmp_path: Path) -> None:
    checkout = project(tmp_path / "checkout", test_it="def test_a(): pass\n")
    root = tmp_path / "root"
    root.mkdir()
    says = (sys.executable, "-c", "import os, sys; print(os.getcwd(), sys.argv[1]); sys.exit(2)", "{root}")
    settings = config(kind="pytest", test=PYTEST, build=says, lint=("no-such-linter",), format=PYTEST)
    toolchain = toolchain_of(settings, Project(root))
    assert asyncio.run(toolchain.test(checkout)).is_green
    assert asyncio.run(toolchain.collect(checkout)).ids == ("test_it.py::test_a",)
    built = asyncio.run(toolchain.run("build", checkout))
    assert built is not None
    assert (built.exit, built.output, built.is_well) == (2, f"{checkout} {root}\n", False)
    linted = asyncio.run(toolchain.run("lint", checkout))
    assert linted is not None
    assert (linted.exit, linted.ended, linted.is_well) == (None, "missing", False)
    assert [it for it in ("no-such-linter", "No such file", "install it") if it not in linted.output] == []
    assert asyncio.run(toolchain.run("contract", checkout)) is None


def test_a_command_ends_at_its_timeout(tmp_path: Path) -> None:
    built = asyncio.run(build((sys.executable, "-c", "import time; time.sleep(600)"), tmp_path, timeout=1.0))
    assert (built.exit, built.ended, built.is_well) == (None, "timeout", False)
    assert "within 1 s" in built.output


@pytest.mark.parametrize(("code", "green"), [(0, True), (1, False)])
def test_a_command_says_only_yes_or_no(tmp_path: Path, code: int, green: bool) -> None:
    command = (sys.executable, "-c", f"print('ran'); raise SystemExit({code})")
    ran = asyncio.run(PlainCommand(command=command).test(tmp_path, ids=("a",)))
    assert (ran.exit, ran.output, ran.is_green, ran.tests) == (code, "ran\n", green, {})
    assert any("no failure kinds" in limit for limit in ran.limits)
    assert any("whole suite" in limit for limit in ran.limits)


def test_the_sources_of_the_checkout_go_before_those_the_environment_is_linked_to(tmp_path: Path) -> None:
    write(tmp_path, "src/thing.py", "VALUE = 3\n")
    command = (sys.executable, "-c", "import thing; assert thing.VALUE == 3")
    assert asyncio.run(PlainCommand(command=command).test(tmp_path)).is_green


@pytest.mark.parametrize("folder", [".", "lib"])
def test_a_program_of_a_linked_environment_imports_from_the_checkout(tmp_path: Path, folder: str) -> None:
    """A script of the environment, such as `pytest`, has nothing of the current folder on its path."""
    root, checkout = tmp_path, tmp_path / ".treadle" / "local" / "lane"
    for place, value in ((root, 3), (checkout, 4)):
        write(place, f"{folder}/thing.py", f"VALUE = {value}\n")
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    site = next((root / ".venv" / "lib").glob("python*/site-packages"))
    write(site, "__editable__.thing.pth", f"{root / folder}\n")
    python = root / ".venv" / "bin" / "python"
    script = write(root, ".venv/bin/check", f"#!{python}\nimport thing\nassert thing.VALUE == 4\n")
    script.chmod(0o755)
    assert asyncio.run(PlainCommand(command=(str(script),)).test(checkout)).is_green


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, None),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.pytest]\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[broken"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.pytest]\n", "pytest.ini": ""}, "pytest.ini"),
        ({"tox.ini": "[tox]\n"}, None),
        ({"tox.ini": "[pytest]\n", "setup.cfg": "[tool:pytest]\n"}, "tox.ini"),
        ({"setup.cfg": "[tool:pytest]\n"}, "setup.cfg"),
        ({"setup.cfg": "not a section\n"}, None),
    ],
)
def test_the_file_that_configures_pytest(tmp_path: Path, files: dict[str, str], expected: str | None) -> None:
    for name, text in files.items():
        write(tmp_path, name, text)
    found = configuration(tmp_path)
    assert (found.name if found else None) == expected


def settings(root: Path) -> ToolchainSettings:
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath("/bin/sh"))
    packages = root / ".venv" / "lib" / "python3.11" / "site-packages"
    (packages / "six-1.16.0.dist-info").mkdir(parents=True)
    (packages / "six.py").write_text("")
    (root / "node_modules").mkdir()
    (root / "node_modules" / ".package-lock.json").write_text("{}")
    return ToolchainSettings(kind="pytest", timeout=1, test=("{root}/.venv/bin/python", "-m", "pytest"))


PACKAGES = ".venv/lib/python3.11/site-packages"
CHANGES: dict[str, Callable[[Path], object]] = {
    "uninstalled": lambda root: (root / PACKAGES / "six-1.16.0.dist-info").rmdir(),
    "upgraded": lambda root: (root / PACKAGES / "six-1.16.0.dist-info").rename(
        root / PACKAGES / "six-1.17.0.dist-info"
    ),
    "installed": lambda root: (root / PACKAGES / "attrs-25.1.0.dist-info").mkdir(),
    "editable": lambda root: (root / PACKAGES / "own.pth").write_text("/src"),
    "npm install": lambda root: (root / "node_modules" / ".package-lock.json").write_text('{"a": 1}'),
    "environment moved away": lambda root: (root / ".venv").rename(root / "elsewhere"),
    "other interpreter": lambda root: (root / ".venv/bin/python").rename(root / ".venv/bin/python3"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with_the_environment(change: str, tmp_path: Path) -> None:
    said = settings(tmp_path)
    before = environment_fingerprint(said, tmp_path)
    CHANGES[change](tmp_path)
    assert environment_fingerprint(said, tmp_path) != before


def test_the_fingerprint_stays_while_tests_run(tmp_path: Path) -> None:
    said = settings(tmp_path)
    before = environment_fingerprint(said, tmp_path)
    (tmp_path / PACKAGES / "__pycache__").mkdir()
    (tmp_path / "node_modules" / ".cache").mkdir()
    (tmp_path / "src").mkdir()
    assert environment_fingerprint(said, tmp_path) == before


def fault(root: Path, kind: str, *command: str) -> str | None:
    return asyncio.run(canary_fault(ToolchainSettings(kind=kind, timeout=60, test=command), root))


def test_pytest_is_tried_without_the_projects_own_options(tmp_path: Path) -> None:
    assert fault(tmp_path, "pytest", sys.executable, "-m", "pytest", "tests", "-c", "no-such.ini") == ""


def test_a_pytest_that_lies_or_cannot_start_is_a_fault(tmp_path: Path) -> None:
    liar = tmp_path / "pytest"
    liar.write_text("#!/bin/sh\necho '1 passed'\nexit 0\n")
    liar.chmod(0o755)
    assert fault(tmp_path, "pytest", str(liar))
    assert fault(tmp_path, "pytest", str(tmp_path / "nowhere"), "-m", "pytest")


def test_a_go_with_broken_canaries_is_a_fault(tmp_path: Path) -> None:
    real, old = go_program(), tmp_path / "go"
    assert fault(tmp_path, "gotest", real, "test", "./pkg/...") == ""
    old.write_text(f'#!/bin/sh\ncase "$*" in *overlay*) echo "no -overlay"; exit 2;; esac\nexec {real} "$@"\n')
    old.chmod(0o755)
    assert fault(tmp_path, "gotest", str(old), "test", "./...")


def test_other_tools_have_no_canaries(tmp_path: Path) -> None:
    assert fault(tmp_path, "junit", "vitest", "run") is None
    assert fault(tmp_path, "command", "make", "test") is None
