"""What a demo does in a person's place: by the protocol, each thing once, and nothing that it has no word about."""

from typing import Any, Final

from treadle.cli.standing_in import StandIn
from treadle.protocol.load import load
from treadle.testing.demos import Answer, Demo
from treadle.testing.scenario import Scenario, items

RIPER: Final = load("riper")


def stand_in(**told: Any) -> StandIn:
    return StandIn(Demo(title="", run="it", scenes=(), further=(), **told))


def words(who: StandIn, run: Scenario) -> list[str]:
    return [" ".join(deed.words) for deed in who.due(run.protocol, run.state)]


def test_what_waits_for_a_go_gets_it_each_time_and_once() -> None:
    run, who = Scenario(RIPER, {"modules": ()}), stand_in(starts=("root:O1P",))
    assert words(who, run) == ["go it O1P"]
    assert words(who, run) == []
    run.signals("go", step="O1P").says("Designed", modules=items("a"))
    assert words(who, run) == []
    run.says("REVISE")
    assert words(who, run) == ["go it O1P"]


def test_what_a_demo_has_no_word_about_waits_for_a_person() -> None:
    run = Scenario(RIPER, {"modules": ()})
    assert words(stand_in(), run) == words(stand_in(starts=("root/*:O1P",)), run) == []


def test_below_the_root_the_instance_is_named() -> None:
    run = Scenario(load("dptr"), {"modules": items("a")})
    run.signals("go", step="architecture").says("Architecture", modules=()).signals("go", step="audit").says("ACCEPT")
    assert words(stand_in(starts=("root/*:*",)), run) == ["go it design --at root/a/design"]


def test_a_question_is_answered_by_the_step_that_asks_wherever_it_was_led_to_from() -> None:
    run = Scenario(RIPER, {"modules": ()}).signals("go", step="O1P").fails("blocked")
    who = stand_in(answers=(Answer("root:stopped", "retry", "Once more."), Answer("root:manual", "close")))
    assert [id_.partition("#")[0] for id_ in run.state.asks] == ["root:stopped@O1P"]
    assert words(who, run) == ["answer it root:stopped retry --note Once more."]
    assert words(who, run) == []
