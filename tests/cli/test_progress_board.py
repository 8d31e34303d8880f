"""What is shown of runs while they are driven."""

import pytest

from tests.kernel.protocols import WORK_AND_REVIEW
from treadle.cli.progress_board import Lines
from treadle.testing.scenario import Scenario


def test_a_line_is_printed_for_each_change_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    run, lines = Scenario(WORK_AND_REVIEW), Lines(names_runs=True)
    lines.show("r1", WORK_AND_REVIEW, run.state)
    first = capsys.readouterr().out
    assert first.startswith("r1 root: ")
    lines.show("r1", WORK_AND_REVIEW, run.state)
    assert capsys.readouterr().out == ""
