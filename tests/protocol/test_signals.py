"""Who may send what."""

import pytest

from treadle.protocol.load import load
from treadle.protocol.model import outside_signals, sent_signals

FRACTAL = load("fractal")


def test_a_signal_that_the_protocol_sends_itself_takes_no_text_from_outside() -> None:
    assert "ContextShift" in sent_signals(FRACTAL.graphs.values())
    assert outside_signals(FRACTAL, "node") == {
        "ContextShift": "none",
        "SemanticCritique": "must",
        "StatusQuery": "may",
    }


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_signals_of_children_and_questions_cannot_come_from_outside(name: str) -> None:
    protocol = load(name)
    for graph, parts in protocol.graphs.items():
        taken = outside_signals(protocol, graph)
        assert not [signal for signal in taken if signal.startswith("child:") or parts.handlers[signal].reply]
