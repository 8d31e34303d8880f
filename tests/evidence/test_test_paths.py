"""Which files belong to the tests."""

import pytest

from treadle.evidence.test_paths import TestPaths, test_configuration

PATHS = TestPaths(("checks/unit",))


@pytest.mark.parametrize(
    "path",
    "tests/a.py test/x.json src/test_a.py a_test.go src/a.test.ts a.spec.js conftest.py pkg/conftest.py pytest.ini"
    " src/__tests__/a.js test_manifest.json a/FooTest.java checks/unit/x.py checks/unit sitecustomize.py"
    " tests/fixtures/deep/data.bin".split(),
)
def test_these_do(path: str) -> None:
    assert PATHS.is_test(path)


@pytest.mark.parametrize(
    "path", "src/a.py pyproject.toml contest.py src/latest.py checks/unity.py README.md attest/a.py".split()
)
def test_these_do_not(path: str) -> None:
    assert PATHS.is_code(path)


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
