"""What is advised of work that was accepted is told in a line."""

from treadle.kernel.replay import encode_event
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.advice import Advice, told
from treadle.views.chronicle import Chronicle
from treadle.views.evidence_advice import advice


def advised(run: Scenario, report: Json) -> tuple[Advice, ...]:
    chronicle = Chronicle(lambda _: run.protocol)
    for event in run.log:
        chronicle.take(encode_event(event))
    return tuple(advice(chronicle.deeds.values(), lambda _ref: report))


def designed() -> Scenario:
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    return run.says("pass_bdd", "bdd", complexity="S", parallel_tasks=0).says("pass", "sdd-delta")


def test_advice_is_told_by_its_first_words_and_where_the_rest_is() -> None:
    run = designed().says("pass", "contract", fails=["diff_only"])
    found = advised(run, {"report": "- docs/api/openapi.yaml: was rewritten\n- docs/api/b.yaml: was rewritten"})
    words = "docs/api/openapi.yaml: was rewritten"
    assert found == (Advice(act="root/US-1:contract#1.1", check="diff_only", text=words),)
    first = f"root/US-1:contract#1.1: diff_only: {words}"
    assert list(told("my run", found)) == [f"1 piece of advice, see `treadle evidence 'my run'`: {first}"]
    assert list(told("r", (*found, *found))) == [f"2 pieces of advice, see `treadle evidence r`: {first}"]


def test_what_refuses_is_no_advice_nor_is_that_of_work_that_was_refused() -> None:
    run = designed().says("pass", "contract", fails=["diff_only", "scope"])
    assert advised(run, {"report": "- x"}) == ()
    assert list(told("r", ())) == []
