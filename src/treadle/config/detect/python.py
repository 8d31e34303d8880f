"""Python: pytest or unittest; ruff, black or flake8."""

import re

from treadle.config.detect.folder import Folder, table
from treadle.config.detect.found import Found, Guess, guess

_TESTS = ("test_*.py", "tests/**/test_*.py", "test/**/test_*.py", "tests/**/*_test.py", "src/**/test_*.py")
_NEEDS = ("requirements*.txt", "requirements/*.txt", "*-requirements.txt", "pyproject.toml", "setup.py", "setup.cfg")
_PYTEST = re.compile(r"""(?:^|["'])\s*pytest\s*(?:$|["'\[<>=~!;#@])""", re.MULTILINE)
_RUNNERS = {"uv.lock": "uv run", "poetry.lock": "poetry run", "pdm.lock": "pdm run"}


def python(folder: Folder) -> Found | None:
    """A Python project, if this is one."""
    why = folder.first("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini")
    why = why or folder.any_file("*.py", "src/**/*.py", "tests/**/*.py")
    if not why:
        return None
    kind, test, advice = _test(folder)
    commands = {"test": test, "build": _run(folder, "-m compileall -q .", "Python has no build; this compiles it")}
    commands |= _style(folder)
    return Found(language="Python", why=why, is_tested=not advice, kind=kind, commands=commands, advice=advice)


def _test(folder: Folder) -> tuple[str, Guess, tuple[str, ...]]:
    why = _pytest_config(folder) or _pytest_needed(folder)
    tests = folder.files(*_TESTS)
    if not why and tests and all(_only_unittest(folder.text(name)) for name in tests[:20]):
        return "command", _run(folder, "-m unittest discover", f"{tests[0]} uses unittest"), ()
    advice = () if why or tests else ("there are no tests yet; pytest is assumed",)
    return "pytest", _run(folder, "-m pytest", why or (tests[0] if tests else "there are no tests yet")), advice


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


def _run(folder: Folder, arguments: str, why: str) -> Guess:
    """A command of the project's own interpreter: the environment in the checkout, or the tool that makes it."""
    environment = next((name for name in (".venv", "venv") if folder.has(f"{name}/pyvenv.cfg")), "")
    if environment:
        return guess(f"{{root}}/{environment}/bin/python {arguments}", f"{why}; {environment} is there")
    lock = folder.first(*_RUNNERS)
    if lock:
        return guess(f"{_RUNNERS[lock]} python {arguments}", f"{why}; {lock} is there")
    return guess(f"python3 {arguments}", why)


def _style(folder: Folder) -> dict[str, Guess]:
    tools = table(folder.toml("pyproject.toml"), "tool")
    why = folder.first("ruff.toml", ".ruff.toml") or ("[tool.ruff] in pyproject.toml" if "ruff" in tools else "")
    commands = {}
    if why:
        commands = {
            "lint": _run(folder, "-m ruff check .", why),
            "format": _run(folder, "-m ruff format --check .", why),
        }
    if "black" in tools:
        commands["format"] = _run(folder, "-m black --check .", "[tool.black] in pyproject.toml")
    if not why and folder.has(".flake8"):
        commands["lint"] = _run(folder, "-m flake8", ".flake8")
    return commands
