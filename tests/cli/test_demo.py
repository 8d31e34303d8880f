import pytest

from tests.cli.treadle import treadle

LINES = {
    "  1 A run starts: the planner reads the spec.",
    "      root: scaffold · planner:Scaffold",
    "      root/lexer: tests · tdd:WriteTests, attempt 2 of 5",
    "      root/parser: rebase on ContextShift · effect rebase",
    "      root: stuck · asks a person: retry, replan, abort",
    "      root: Merged",
}


def test_the_told_run_goes_from_start_to_end() -> None:
    found = treadle("demo")
    assert (found.code, found.err) == (0, "")
    assert LINES - set(found.out.splitlines()) == set()


@pytest.mark.parametrize("name", ["dptr", "fractal", "riper", "v3", "waterfall"])
def test_a_random_run_of_any_protocol_ends_and_is_the_same_every_time(name: str) -> None:
    first = treadle("demo", "--protocol", name, "--seed", "3")
    assert (first.code, first.err) == (0, "")
    roots = [line for line in first.out.splitlines() if line.startswith("      root: ")]
    assert " · " not in roots[-1]
    assert treadle("demo", "--protocol", name, "--seed", "3").out == first.out
    assert treadle("demo", "--protocol", name, "--seed", "4").out != first.out


def test_a_seed_asks_for_a_random_run() -> None:
    assert treadle("demo", "--seed", "3").out == treadle("demo", "--protocol", "v3", "--seed", "3").out


def test_bad_arguments() -> None:
    assert treadle("demo", "--protocol", "v33").code == 2
    assert treadle("demo", "--faults", "2").code == 2


def test_the_first_run_of_waterfall_has_a_story_and_only_names_that_are_ids() -> None:
    lines = treadle("demo", "--protocol", "waterfall").out.splitlines()
    assert lines[0].startswith("  1 the run starts (")
    assert "stories=[k0" in lines[0]
    assert any("bdd · executor" in line for line in lines)
    assert not any("root/.." in line for line in lines)
