"""Planted commands that no check runs, and checks whose command nobody is asked for."""

import pytest

from tests.protocol.checks.planted import bugfix, change, said


@pytest.mark.parametrize(
    ("toolchain", "expected"),
    [
        pytest.param(
            ("build", "lint"),
            [
                (
                    "3 toolchain command 'lint' is asked of the project, but no check runs it (add a "
                    "check that does, or remove the command)"
                )
            ],
            id="a_command_that_nothing_runs",
        ),
        pytest.param(
            ("test",),
            [
                (
                    "3 main.fix: check 'build' runs command 'build', which is not in the toolchain (add "
                    "'build' to `toolchain`)"
                )
            ],
            id="a_check_without_its_command",
        ),
        pytest.param(("build", "test"), [], id="what_is_used"),
        pytest.param((), [], id="no_toolchain_at_all"),
    ],
)
def test_a_toolchain(toolchain: tuple[str, ...], expected: list[str]) -> None:
    assert said(change(bugfix(), "", toolchain=toolchain)) == expected
