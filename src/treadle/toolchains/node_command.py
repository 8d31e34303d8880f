"""`node --test` with a reporter of ours in the place of node's own, which does not tell files apart."""

from pathlib import Path, PurePosixPath
from typing import Final

REPORTER: Final = Path(__file__).with_name("probes") / "node_junit.mjs"
_OWN: Final = "--test-reporter=junit"


def with_files(command: tuple[str, ...], checkout: Path) -> tuple[str, ...]:
    """A command of `node --test` with the files that its patterns mean, as a shell would: node 20 takes no patterns."""
    if not _is_node_test(command):
        return command
    return tuple(found for word in command for found in (_files(word, checkout) or (word,)))


def _files(word: str, checkout: Path) -> list[str]:
    pattern = PurePosixPath(word)
    if (
        word.startswith("-")
        or not any(sign in word for sign in "*?[")
        or pattern.is_absolute()
        or ".." in pattern.parts
    ):
        return []
    try:
        found = [path.relative_to(checkout) for path in checkout.glob(word) if path.is_file()]
    except (ValueError, OSError):  # no pattern after all
        return []
    return sorted(path.as_posix() for path in found if "node_modules" not in path.parts)


def _is_node_test(command: tuple[str, ...]) -> bool:
    return bool(command) and Path(command[0]).name == "node" and "--test" in command


def with_reporter(command: tuple[str, ...]) -> tuple[str, ...]:
    """A test command; if node itself reports as JUnit in it, then by our reporter."""
    if not _is_node_test(command):
        return command
    return tuple(f"--test-reporter={REPORTER}" if word == _OWN else word for word in command)
