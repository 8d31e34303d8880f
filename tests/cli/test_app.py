import os
import subprocess
import sys

import pytest

from treadle.cli.app import COMMANDS, GROUPS

PARTS = {"treadle.cli.demo", "treadle.cli.protocol", "treadle.cli.spec"}


def parts_imported_for(*arguments: str) -> set[str]:
    script = "import sys; from treadle.cli.app import build; build(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", script, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()) & PARTS


def treadle(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treadle", *arguments]
    settings = {**os.environ, **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=settings)


@pytest.mark.parametrize("name", ["demo", "protocol", "spec"])
def test_a_command_does_not_import_the_others(name: str) -> None:
    assert parts_imported_for(name, "whatever") == {f"treadle.cli.{name}"}


def test_help_lists_every_command_and_imports_none() -> None:
    result = treadle("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for name in [*COMMANDS, *GROUPS, "--version"]:
        assert name in result.stdout
    assert parts_imported_for("--help") == set()


@pytest.mark.parametrize("words", [("status", "--watc"), ("protocol", "explor")])
def test_a_shell_completes_the_words_of_a_command(words: tuple[str, ...]) -> None:
    shell = {"_TREADLE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("treadle", *words)), "COMP_CWORD": "2"}
    command = [sys.executable, "-m", "treadle"]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **shell}
    )
    assert result.stdout.strip().startswith(words[-1])


def test_a_group_with_one_command_stays_a_group() -> None:
    assert "new" in treadle("spec", "--help").stdout


@pytest.mark.parametrize("colours", [{}, {"NO_COLOR": "1"}])
def test_help_names_values_without_python_types(colours: dict[str, str]) -> None:
    result = treadle("run", "--help", env=colours)
    assert all(word in result.stdout for word in ("[SPEC]", "AGENT", "KEY=VALUE", "auto|branch|ask|never"))
    assert not any(word in result.stdout for word in ("<", "list[", "x>=", "<=x", "[["))
    assert "[RUN] [ASK] CHOICE" in treadle("answer", "--help", env=colours).stdout


def test_an_unknown_command_gets_a_suggestion() -> None:
    result = treadle("protocl")
    assert result.returncode == 2
    assert "protocol" in result.stderr
    assert "Traceback" not in result.stderr
