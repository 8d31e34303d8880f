"""Python: pytest or unittest; ruff, black or flake8."""

import re
from collections.abc import Iterator

from treadle.config.detect.folder import Folder, table
from treadle.config.detect.found import Found, Guess, Hint, guess
from treadle.config.detect.python_environment import PythonEnvironment, python_environment

_TESTS = ("test_*.py", "tests/**/test_*.py", "test/**/test_*.py", "tests/**/*_test.py", "src/**/test_*.py")
_NEEDS = ("requirements*.txt", "requirements/*.txt", "*-requirements.txt", "pyproject.toml", "setup.py", "setup.cfg")
_PYTEST = re.compile(r"""(?:^|["'])\s*pytest\s*(?:$|["'\[<>=~!;#@])""", re.MULTILINE)


def python(folder: Folder) -> Found | None:
    """A Python project, if this is one."""
    why = folder.first("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini")
    why = why or folder.any_file("*.py", "src/**/*.py", "tests/**/*.py")
    if not why:
        return None
    environment = python_environment(folder)
    tests = folder.files(*_TESTS)
    reason = _pytest_config(folder) or _pytest_needed(folder)
    kind, test = _test(folder, environment, tests, reason)
    build = _run(environment, "-m compileall -q .", "Python has no build; this compiles it")
    style, advice = _style(folder, environment)
    if not (reason or tests):
        advice.insert(0, Hint("init.no_tests", "there are no tests yet; pytest is assumed"))
    return Found(
        language="Python",
        why=why,
        is_tested=bool(reason or tests),
        kind=kind,
        commands={"test": test, "build": build} | style,
        advice=(*advice, *_setup(folder, environment, kind)),
    )


def _test(folder: Folder, environment: PythonEnvironment, tests: list[str], why: str) -> tuple[str, Guess]:
    """pytest wherever it is there or wanted: it runs the tests of unittest, too, and tells how each of them ended."""
    is_unittest = bool(tests) and all(_only_unittest(folder.text(name)) for name in tests[:20])
    if is_unittest and not why and not environment.has("pytest"):
        return "command", _run(environment, "-m unittest discover", f"{tests[0]} uses unittest")
    why = why or (tests[0] if tests else "there are no tests yet")
    return "pytest", _run(environment, "-m pytest", why)


def _setup(folder: Folder, environment: PythonEnvironment, kind: str) -> Iterator[Hint]:
    """What is missing in the environment, or the environment itself."""
    if environment.setup:
        yield Hint("init.not_installed", f"`{environment.setup}`: the project's environment is not there yet")
    if not environment.name:
        project = folder.first("pyproject.toml", "setup.py")
        needs = (
            "-e . pytest" if project else "-r requirements.txt pytest" if folder.has("requirements.txt") else "pytest"
        )
        yield Hint(
            "init.no_environment",
            f"`python3 -m venv .venv && .venv/bin/python -m pip install {needs}`, then remove treadle.toml and "
            "`treadle init` again: the project has no environment of its own, so its tests would run in the machine's",
        )
    elif kind == "pytest" and environment.has("pytest") is False:
        text = f"`{environment.install('pytest')}`: {environment.name} has no pytest, and no run can test without it"
        yield Hint("init.no_pytest", text)


def _pytest_config(folder: Folder) -> str:
    if table(folder.toml("pyproject.toml"), "tool", "pytest"):
        return "[tool.pytest] in pyproject.toml"
    if "[tool:pytest]" in folder.text("setup.cfg"):
        return "[tool:pytest] in setup.cfg"
    if "[pytest]" in folder.text("tox.ini"):
        return "[pytest] in tox.ini"
    return folder.first("pytest.ini", "conftest.py", "tests/conftest.py")


def _pytest_needed(folder: Folder) -> str:
    """The file that asks for pytest, which runs tests of unittest, too, and tells how each of them ended."""
    name = next((name for name in folder.files(*_NEEDS, "Pipfile") if _PYTEST.search(folder.text(name))), "")
    return f"pytest in {name}" if name else ""


def _only_unittest(text: str) -> bool:
    return "unittest" in text and "import pytest" not in text


def _run(environment: PythonEnvironment, arguments: str, why: str) -> Guess:
    """A command of the project's own interpreter."""
    there = f"{why}; {environment.name} is there" if environment.name else why
    return guess(f"{environment.python} {arguments}", there)


def _style(folder: Folder, environment: PythonEnvironment) -> tuple[dict[str, Guess], list[Hint]]:
    """Linters and formatters that the project configures and its environment has; of the others, how to get them."""
    tools = table(folder.toml("pyproject.toml"), "tool")
    ruff = folder.first("ruff.toml", ".ruff.toml") or ("[tool.ruff] in pyproject.toml" if "ruff" in tools else "")
    black = "[tool.black] in pyproject.toml" if "black" in tools else ""
    flake8 = folder.first(".flake8") if not ruff else ""
    wanted = [
        ("lint", "ruff", "-m ruff check .", ruff),
        ("format", "ruff", "-m ruff format --check .", ruff),
        ("format", "black", "-m black --check .", black),
        ("lint", "flake8", "-m flake8", flake8),
    ]
    commands: dict[str, Guess] = {}
    missing: dict[str, Hint] = {}
    for name, tool, arguments, why in wanted:
        if why and environment.has(tool) is False:
            text = f"{why} asks for {tool}, which is not installed, so it is not set up: `{environment.install(tool)}`"
            missing[tool] = Hint("init.tool_missing", f"{text}, then set `toolchain.lint` or `toolchain.format`")
        elif why:
            commands[name] = _run(environment, arguments, why)
    return commands, list(missing.values())
