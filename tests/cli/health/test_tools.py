import pytest

from treadle.cli.health.machine import version_in
from treadle.cli.health.tools import version_question


@pytest.mark.parametrize(
    ("command", "question"),
    [
        ("python3 -m pytest -q", ("-m", "pytest", "--version")),
        ("/r/.venv/bin/python -m compileall .", ("--version",)),
        ("python3 script.py", ("--version",)),
        ("go test ./...", ("version",)),
        ("/r/node_modules/.bin/vitest run", ("--version",)),
        ("./run-tests.sh", None),
        ("sh -c x", None),
        ("npx vitest", None),
    ],
)
def test_only_known_programs_are_asked_for_their_version(command: str, question: tuple[str, ...] | None) -> None:
    assert version_question(tuple(command.split())) == question


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("git version 2.39.5", (2, 39, 5)),
        ("git version 2.39.5.windows.1", (2, 39, 5)),
        ("v10.2", (10, 2)),
        ("none", ()),
    ],
)
def test_versions_in_texts(text: str, version: tuple[int, ...]) -> None:
    assert version_in(text) == version
