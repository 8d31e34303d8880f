from treadle.evidence.suite import unbelievable
from treadle.toolchains.results import TestResult, TestRun


def test_a_run_that_was_ended_has_the_word() -> None:
    late = TestRun(
        command=("t",),
        exit=None,
        duration=9.0,
        ended="timeout",
        problems=("t did not end within 9 s",),
        output="waits\n",
    )
    assert [one.what for one in unbelievable(late)] == [
        "the tests could not be run: t did not end within 9 s",
        "the tests could not be run: it printed:\nwaits",
    ]
    named = TestRun(
        command=("t",), exit=None, duration=9.0, ended="timeout", tests={"a": TestResult(id="a", verdict="passed")}
    )
    assert [one.what for one in unbelievable(named)] == ["the tests could not be run: it ended by 'timeout'"]
