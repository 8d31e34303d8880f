"""What is wrong with a command line is told like every other error: a line, exit code 2, a near word."""

import pytest

from tests.cli.treadle import treadle


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("frob", "there is no command 'frob'; see `treadle --help`"),
        ("protocl", "there is no command 'protocl' (did you mean 'protocol'?); see `treadle --help`"),
        ("protocol lst", "there is no command 'lst' (did you mean 'list'?); see `treadle protocol --help`"),
        ("run --nam x", "there is no option '--nam' (did you mean '--name'?); see `treadle run --help`"),
        ("--frob", "there is no option '--frob'; see `treadle --help`"),
    ],
)
def test_a_usage_mistake_is_one_line(arguments: str, said: str) -> None:
    result = treadle(*arguments.split())
    assert (result.code, result.out, result.err) == (2, "", f"treadle: {said} [usage.invalid]\n")


@pytest.mark.parametrize(
    ("arguments", "begins", "ends"),
    [
        ("spec check", "FILE is missing: ", "; see `treadle spec check --help`"),
        ("protocol draw", "NAME is missing: ", "; see `treadle protocol draw --help`"),
        ("run --level 7", "--level ", "; see `treadle run --help`"),
        ("run --merge bad", "--merge ", "; see `treadle run --help`"),
        ("protocol sim v3 --runs x", "--runs ", "; see `treadle protocol sim --help`"),
        ("run --name", "option '--name' requires an argument", "; see `treadle run --help`"),
        ("status a b", "got unexpected extra argument", "; see `treadle status --help`"),
    ],
)
def test_usage_errors_of_the_library_have_our_form(arguments: str, begins: str, ends: str) -> None:
    result = treadle(*arguments.split())
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"treadle: {begins}")
    assert result.err.endswith(f"{ends} [usage.invalid]\n")


def test_a_group_alone_lists_its_commands() -> None:
    result = treadle("spec")
    assert (result.code, result.err) == (0, "")
    assert "check" in result.out
