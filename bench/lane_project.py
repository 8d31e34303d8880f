"""A repository of any size with a small project in it, and what agents write during one cycle."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

MODULES = 50
"""Files in a folder of the filling."""
TESTED = 20
"""Tests that are there before the cycle, all green."""
_GIT = ("git", "-c", "user.name=User", "-c", "user.email=user@localhost", "-c", "gc.auto=0")


class Cycle(msgspec.Struct, frozen=True):
    """What is written: tests that are red, the implementation that makes them green, and a sibling's own work."""

    tests: dict[str, str]
    impl: dict[str, str]
    sibling: dict[str, str]


def make_project(root: Path, files: int) -> None:
    """A repository of about so many files, half of them Python modules, in one commit on `main`."""
    root.mkdir(parents=True)
    written = {
        "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n',
        "src/calc/__init__.py": "",
        "src/calc/add.py": 'def add(a: int, b: int) -> int:\n    """The sum."""\n    raise NotImplementedError\n',
        "src/calc/other.py": "def other() -> int:\n    return 1\n",
        "tests/calc/test_old.py": _old_tests(),
    }
    for n in range(files - len(written)):
        folder = f"src/filling/part{n // MODULES}"
        text = f"def f{n}(x: int) -> int:\n    return x + {n}\n"
        written[f"{folder}/m{n}.py" if n % 2 else f"{folder}/data{n}.txt"] = text
    write(root, written)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first"), ("gc", "-q")):
        subprocess.run([*_GIT, *words], cwd=root, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})


def cycle(nonce: int) -> Cycle:
    """The same work every time, in other words, so that nobody has seen its trees before."""
    manifest = '{"spec_id": "calc", "acceptance_criteria_map": {"test_adds": "AC-1: adds"}}\n'
    test = f"from calc.add import add\n\n\ndef test_adds() -> None:\n    assert add({nonce}, 3) == {nonce + 3}\n"
    return Cycle(
        tests={"tests/calc/test_add.py": test, "tests/calc/test_manifest.json": manifest},
        impl={"src/calc/add.py": f"def add(a: int, b: int) -> int:\n    return a + b  # {nonce}\n"},
        sibling={"src/calc/other.py": f"def other() -> int:\n    return 1  # {nonce}\n"},
    )


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def command() -> tuple[str, ...]:
    return sys.executable, "-m", "pytest"


def _old_tests() -> str:
    tests = [f"def test_{n}() -> None:\n    assert other() == 1\n" for n in range(TESTED)]
    return "\n\n".join(["from calc.other import other", *tests])
