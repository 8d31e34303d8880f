"""What people hear of a run as it goes."""

from collections.abc import Callable

import pytest

from treadle.kernel.replay import encode_event
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.talk.news import news, told_of_tests
from treadle.testing.scenario import Scenario, items
from treadle.views.chronicle import Chronicle


def told(play: Callable[[Scenario], object], said: dict[str, Json] | None = None) -> list[str]:
    """The messages about what a story goes through, from its scenarios on."""
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    before = len(run.log)
    play(run)
    chronicle = Chronicle(lambda _: run.protocol)
    moves = [chronicle.take(encode_event(event)) for event in run.log]
    return [text for made in moves[before:] for text in news(made, lambda _ref: said or {})]


def specified(run: Scenario) -> Scenario:
    return run.says("pass_bdd", "bdd", complexity="S", parallel_tasks=0)


@pytest.mark.parametrize(
    ("play", "said", "expected"),
    [
        (
            specified,
            {},
            ["US-1 bdd complete ✓ Next: sdd-delta.", "US-1 sdd-delta has begun: SDD delta"],
        ),
        (
            lambda run: run.says("pass_bdd", "bdd", fails=("schema",)),
            {"report": "### schema\n- line 3: no level"},
            [
                "US-1 bdd is not accepted: refused by schema: line 3: no level",
                "US-1 bdd (attempt 2 of 3) has begun: BDD scenarios",
            ],
        ),
        (
            lambda run: run.says("failing.none", "bdd"),
            {"summary": "I do not know the shop."},
            [
                "US-1 bdd came back with failing: I do not know the shop.",
                "US-1 bdd (attempt 2 of 3) has begun: BDD scenarios",
            ],
        ),
        (lambda run: run.times_out(), {}, ["US-1 bdd timed out (5 minutes)"]),
        (
            lambda run: run.says("needs_human", "bdd"),
            {"question": "Whose shop?"},
            ["US-1 bdd came back with needs_human: Whose shop?"],
        ),
        (lambda run: run.signals("abort", to="root/US-1"), {}, ["US-1 has ended with Aborted"]),
    ],
)
def test_each_thing_has_its_message(
    play: Callable[[Scenario], object], said: dict[str, Json], expected: list[str]
) -> None:
    assert told(play, said) == expected


def test_the_last_attempt_is_told_as_what_it_has_said() -> None:
    def play(run: Scenario) -> None:
        for _ in range(3):
            run.says("failing.needs_clarification", "bdd")

    said = told(play, {"summary": "Whose shop?"})
    assert said[0] == "US-1 bdd came back with failing (needs_clarification): Whose shop?"
    assert said[-1] == f"{said[0]}; no attempt is left"


def test_the_last_attempt_that_is_refused_is_told_as_refused() -> None:
    def play(run: Scenario) -> None:
        for _ in range(3):
            run.says("pass_bdd", "bdd", fails=("schema",))

    said = told(play, {"report": "### schema\n- line 3: no level"})
    assert said[-1] == "US-1 bdd is not accepted: no attempt is left, refused by schema: line 3: no level"


def test_what_the_orchestrator_does_itself_is_told_in_words() -> None:
    def play(run: Scenario) -> None:
        specified(run).says("pass", "sdd-delta").says("pass", "contract").answers("approve")
        run.says("pass_red", "scaffold").says("pass_green", "impl").says("pass_verified", "verify")
        run.says("Archived", "archive").says("pass", "update-memory")

    said = told(play)
    assert "US-1 verify complete ✓ Next: Archive the delta." in said
    assert said[-1] == "US-1 update-memory complete ✓ Next: Take the story into the backlog's branch."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"passed_tests": ["a"] * 44}, "All tests pass (44/44)."),
        ({"new_tests": ["a"]}, "1 new test fails, as it must."),
        ({"new_tests": ["a", "b"]}, "2 new tests fail, as they must."),
        ({"tests_pass": 42, "tests_fail": 2}, "42 of 44 tests pass."),
        ({"summary": "All 99 tests pass!"}, ""),
    ],
)
def test_only_what_was_measured_is_told_of_tests(fields: dict[str, Json], text: str) -> None:
    assert told_of_tests(fields) == text
