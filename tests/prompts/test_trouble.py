"""What a parent and a person are told of a child that came to no good end."""

from tests.prompts.stage import Memory
from treadle.prompts.report import for_agent
from treadle.prompts.trouble import trouble
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items

V3 = load("v3")
STUCK: Json = {"diagnosis": "no tenth", "recommendation": "say it", "attempts": 3}


def begun() -> Scenario:
    run = Scenario(V3).says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    return run.says("InitWork", at="root/a:scaffold")


def told(run: Scenario, **values: Json) -> str:
    payloads = Memory()
    payloads.values |= {ref.replace("_", ":"): value for ref, value in values.items()}
    payloads.values["ref:root/a:impl#1.1.Stuck"] = STUCK
    return trouble(V3, run.inst("root/a"), payloads, for_agent)


def test_what_blocked_it_is_told_in_its_own_words_and_those_of_who_gave_it_up() -> None:
    run = begun().says("TestsReady", at="root/a:tests").says("Stuck", at="root/a:impl")
    run.answers("abort", note="ref:note")
    assert told(run, ref_note="It is not worth it.").splitlines() == [
        "impl ended with Stuck",
        "diagnosis: no tenth",
        "recommendation: say it",
        "who gave it up says: It is not worth it.",
    ]


def test_what_was_made_good_is_not_told() -> None:
    run = begun().says("InvalidScaffold", at="root/a:tests").says("InitWork", at="root/a:scaffold")
    assert told(run.says("TestsReady", at="root/a:tests").signals("abort", to="root/a")) == ""


def test_a_failure_is_told_by_its_report() -> None:
    run = begun()
    for _ in range(5):
        run.fails("invalid", at="root/a:tests")
    run.answers("abort")
    assert told(run, ref_invalid={"report": "it has not answered"}).splitlines()[1:] == ["it has not answered"]
