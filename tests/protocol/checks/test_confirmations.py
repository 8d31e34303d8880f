"""A planted refusal of protected files that no person hears of."""

from tests.protocol.checks.planted import bugfix, gates, put, said, to
from treadle.protocol.model import Protocol


def _protected() -> Protocol:
    protocol = put(bugfix(), "graphs.main.steps.repro.gates", "Reproduced", gates("commit scope red protection"))
    checks = gates("commit scope build green tests_unmodified protection")
    protocol = put(protocol, "graphs.main.steps.fix.gates", "Fixed", checks)
    return put(protocol, "graphs.main.steps.repro.routes", "!gate.protection", to("human"))


def test_a_refusal_that_is_only_tried_again() -> None:
    assert said(_protected()) == [
        (
            "16 main.fix: is gated by 'protection', but its refusal does not lead to a person (lead "
            "'!gate.protection' to an `ask: human`)"
        )
    ]


def test_a_refusal_that_a_person_hears_of() -> None:
    assert said(put(_protected(), "graphs.main.steps.fix.routes", "!gate.protection", to("human"))) == []
