"""`node --test` with a reporter of ours in the place of node's own, which does not tell files apart."""

from pathlib import Path
from typing import Final

REPORTER: Final = Path(__file__).with_name("probes") / "node_junit.mjs"
_OWN: Final = "--test-reporter=junit"


def with_reporter(command: tuple[str, ...]) -> tuple[str, ...]:
    """A test command; if node itself reports as JUnit in it, then by our reporter."""
    if not command or Path(command[0]).name != "node" or "--test" not in command:
        return command
    return tuple(f"--test-reporter={REPORTER}" if word == _OWN else word for word in command)
