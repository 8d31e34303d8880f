"""What was verified already, made from the gates."""

from treadle.prompts.verified import verified
from treadle.protocol.catalogue import CHECKS
from treadle.protocol.load import load
from treadle.protocol.model import CheckRef


def helps(*checks: CheckRef) -> list[str]:
    return [CHECKS[check.name].help for check in checks]


def test_an_exit_of_an_agent_has_passed_the_gates_that_refuse() -> None:
    steps = load("v3").graphs["node"].steps
    found = verified(steps, steps["review"])
    gates = steps["impl"].gates["TestsPassed"]
    assert [check.name for check in gates if check.advisory] == ["minimal", "knows_tests", "unsafe_imports", "scaling"]
    assert found["impl"] == {"TestsPassed": helps(*gates[1:8])}, "neither the record nor what only informs"
    assert found["clarify"] == {"Clarified": []}


def test_a_step_of_checks_has_passed_all_of_them_or_failed() -> None:
    steps = load("fractal").graphs["node"].steps
    assert verified(steps, steps["reviewer"])["lock"] == {"Passed": helps(*steps["lock"].checks)}
    assert verified(steps, steps["fix"])["lock"] == {"Failed": []}


def test_what_the_parent_did_is_not_spoken_of() -> None:
    steps = load("v3").graphs["node"].steps
    assert steps["scaffold"].needs[0].up
    assert verified(steps, steps["scaffold"])["scaffold"].keys() == {"InitWork", "ClarificationNeeded"}  # type: ignore[union-attr]
