"""The interpreter that a test command uses, so that other programs of ours can run in the same environment."""

from itertools import pairwise
from pathlib import Path


def instead_of_pytest(command: tuple[str, ...], *words: str) -> tuple[str, ...] | None:
    """A pytest command with a script in front of it: `words`, then `-m pytest` and what was behind it.

    None if the command does not say where it starts pytest.
    """
    for at, (word, after) in enumerate(pairwise(command)):
        if (word, after) == ("-m", "pytest"):
            return (*command[:at], *words, *command[at:])
    for at, word in enumerate(command):
        if Path(word).name == "pytest":
            return (*command[:at], _beside(word), *words, "-m", "pytest", *command[at + 1 :])
    return None


def interpreter(command: tuple[str, ...]) -> tuple[str, ...] | None:
    """How a test command starts Python, without options of its own; None if it does not say."""
    covered = instead_of_pytest(command, "")
    if covered is None:
        return None
    return covered[: covered.index("")]


def _beside(program: str) -> str:
    """The Python of the environment that a program lies in; of a bare name, the one that the PATH has."""
    return str(Path(program).with_name("python")) if "/" in program else "python"
