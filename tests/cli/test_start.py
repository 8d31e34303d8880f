import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle

HEAVY = {"msgspec", "typer", "click", "rich", "jinja2", "ruamel.yaml", "immutables", "grandalf", "asyncio", "re"}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treadle", *arguments]
    env = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)


def test_version_prints_the_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"treadle {treadle.__version__}\n", "")


def test_the_installed_program_answers_too() -> None:
    program = Path(sys.executable).with_name("treadle")
    result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == f"treadle {treadle.__version__}\n"


def test_alone_it_offers_the_next_commands() -> None:
    result = run()
    assert (result.returncode, result.stderr) == (0, "")
    for command in ["demo", "protocol list", "protocol sim v3", "init", "doctor", "spec new", "--help"]:
        assert f"treadle {command} " in result.stdout


def test_no_colours_and_no_markup_unless_on_a_terminal() -> None:
    output = run().stdout
    assert "\033" not in output
    assert "*" not in output


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_on_a_terminal(environment: dict[str, str], coloured: bool) -> None:
    master, slave = os.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment
    subprocess.run([sys.executable, "-m", "treadle"], stdout=slave, env=env, timeout=60, check=True)
    os.close(slave)
    output = os.read(master, 10_000).decode()
    os.close(master)
    assert ("\033[" in output) is coloured
    assert output.count("\033[1;36m") == output.count("\033[0m")
    assert "*" not in output


@pytest.mark.parametrize("arguments", [[], ["--version"]])
def test_the_fast_path_imports_no_heavy_module(arguments: list[str]) -> None:
    script = (
        "import sys; before = set(sys.modules); sys.argv = ['treadle', *sys.argv[1:]]\n"
        "from treadle.cli.start import main; main()\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(result.stderr.split())
    assert imported >= {"treadle", "treadle.cli.start"}
    assert imported & HEAVY == set()
    assert imported <= {
        "treadle",
        *(f"treadle.{it}" for it in ("cli", "cli.start", "cli.welcome", "cli.project", "cli.brought")),
    }


def test_a_closed_pipe_is_met_with_silence() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "treadle"], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")
