"""What shared configuration files say about tests."""

import pytest

from treadle.evidence.checks.scope import test_configuration


@pytest.mark.parametrize(
    ("path", "one", "other", "same"),
    [
        ("pyproject.toml", "[project]\nname='a'\n", "[project]\nname='b'\n", True),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts=''\n",
            "[tool.pytest.ini_options]\naddopts='-x'\n",
            False,
        ),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts='-x'\n", False),
        ("pyproject.toml", "[tool.ruff]\na=1\n", "[tool.ruff]\na=2\n", True),
        ("setup.cfg", "[metadata]\nname=a\n", "[metadata]\nname=b\n", True),
        ("setup.cfg", "[tool:pytest]\naddopts=\n", "[tool:pytest]\naddopts=-x\n", False),
        ("tox.ini", "[pytest]\nx=1\n", "[pytest]\nx=2\n", False),
    ],
)
def test_shared_files_count_by_their_sections(path: str, one: str, other: str, same: bool) -> None:
    assert (test_configuration(path, one.encode()) == test_configuration(path, other.encode())) == same
