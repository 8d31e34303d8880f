"""What is shown of runs while they are driven."""

import pytest

from tests.kernel.protocols import WORK_AND_REVIEW
from treadle.cli.progress_board import Lines, duration, printable
from treadle.testing.scenario import Scenario


@pytest.mark.parametrize(
    ("seconds", "said"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (3600, "1 h 0 min"), (90061, "25 h 1 min")]
)
def test_durations_are_told_in_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_line_is_printed_for_each_change_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    run, lines = Scenario(WORK_AND_REVIEW), Lines(names_runs=True)
    lines.show("r1", WORK_AND_REVIEW, run.state)
    first = capsys.readouterr().out
    assert first.startswith("r1 root: ")
    lines.show("r1", WORK_AND_REVIEW, run.state)
    assert capsys.readouterr().out == ""


def test_an_agents_words_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[2J\nb") == "a [2J b"
