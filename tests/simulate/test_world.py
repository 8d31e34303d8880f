"""The world's account of open commands agrees with the kernel's, and notices when it would not."""

from random import Random

import msgspec
import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.answers.inputs import soundness_problems
from treadle.protocol.answers.values import id_fault
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.load import load
from treadle.protocol.model import Exit, Field, Protocol
from treadle.simulate.values import Values, derivation, envelope, input_item
from treadle.simulate.world import Ledger, Nearest
from treadle.testing.scenario import Scenario, items


def account(run: Scenario) -> Ledger:
    ledger, state = Ledger(), State()
    for event in run.log:
        state, commands = reduce(run.protocol, state, event)
        ledger.enter(event, commands)
    return ledger


def test_claims_answers_timers_and_cancellations_are_booked() -> None:
    runs = [
        Scenario(WORK_AND_REVIEW).claims("Ready"),
        Scenario(WORK_AND_REVIEW).says("Stuck"),
        Scenario(WORK_AND_REVIEW).says("Stuck").answers("nonsense").answers("retry"),
        Scenario(WORK_AND_REVIEW).fails("crash"),
        Scenario(WORK_AND_REVIEW).times_out(),
        Scenario(TREE).says("Plan", parts=items("a", "b")).signals("abort", to="root/a"),
        Scenario(WORK_AND_REVIEW).says("Ready").says("Good"),
    ]
    for run in runs:
        assert account(run).differences(run.state) == []


def test_a_lost_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck")
    ledger = account(run)
    silent = msgspec.structs.replace(run.state, asks=State().asks)
    assert [line.split()[:2] for line in ledger.differences(silent)] == [["AskHuman", "root:human#1.1"]]


def test_an_invented_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW)
    assert [line.split()[:2] for line in Ledger().differences(run.state)] == [
        ["RunAgent", "root:work#1.1"],
        ["SetTimer", "root:work#1.1"],
    ]


def test_a_changed_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW)
    ledger = account(run)
    act = run.state.acts["root:work#1.1"]
    changed = msgspec.structs.replace(act, command=msgspec.structs.replace(act.command, attempt=7))
    state = msgspec.structs.replace(run.state, acts=run.state.acts.set("root:work#1.1", changed))
    assert len(ledger.differences(state)) == 1


def test_an_unrelated_event_settles_no_command() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready")
    ledger = account(run)
    ledger.enter(run.log[1], ())
    assert ledger.differences(run.state) == []


# The shortest way to an end.


def test_the_best_exits_are_nearest_to_the_wanted_end() -> None:
    nearest = Nearest(WORK_AND_REVIEW)
    assert nearest.best("main", "work", ("Ready", "Retry", "Stuck"), good=True) == ["Ready", "Stuck"]
    nearest = Nearest(load("v3"))
    keys = ("TestsPassed", "RequestRetry", "Stuck")
    assert nearest.best("node", "impl", keys, good=True) == ["TestsPassed"]
    assert nearest.best("node", "impl", keys, good=False) == ["Stuck"]


def test_a_handler_is_done_when_it_resumes() -> None:
    nearest = Nearest(TREE)
    assert nearest.best("main", "rebase", ("Clean", "Conflict"), good=True) == ["Clean"]
    assert nearest.best("main", "lost", ("replan", "abort"), good=False) == ["abort"]


# Random values fit the protocol's types.


def some(field: Field, protocol: str = "dptr", modest: bool = False, odd: bool = True) -> list[object]:
    values = Values(load(protocol), Random(5), odd=odd)
    values.modest = modest
    return [values.of("x", field) for _ in range(300)]


def test_scalar_fields_take_their_possible_values() -> None:
    assert set(some(Field(type="A | B", route="value"))) == {"A", "B"}
    assert set(some(Field(type="bool?", route="value"))) == {None, True, False}
    assert set(some(Field(type="int", route="value"))) == {0, 1, 2, 3}
    assert set(some(Field(type="text", route="value"))) == {"one", "two"}


def test_routing_sees_the_length_of_a_list_and_the_presence_of_a_record() -> None:
    assert set(some(Field(type="[text]", route="value"))) == {0, 1, 2, 3}
    assert set(some(Field(type="Batch?", route="value"))) == {None, True}


def test_items_nest_and_have_keys() -> None:
    batches = [value for value in some(Field(type="[Batch]", route="items")) if isinstance(value, tuple)]
    items = [item for batch in batches for item in batch if isinstance(item, Item)]
    assert {len(batch) for batch in batches} == {0, 1, 2, 3}
    assert {item.fields["parallel"] for item in items} == {1, 2, 3}
    assert any(item.fields["cycles"] for item in items)
    assert {"a/b", "", "k0"} <= {item.key for item in items}


def test_items_refer_to_each_other_and_sometimes_to_unknown_items() -> None:
    lists = [value for value in some(Field(type="[Story]", route="items"), "waterfall") if isinstance(value, tuple)]
    stories = [item for stories in lists for item in stories if isinstance(item, Item)]
    blocked = [story.fields["blocked_by"] for story in stories]
    named = {name for names in blocked if isinstance(names, tuple) for name in names}
    assert {"k0", "k1", "nobody"} <= named


def test_a_modest_source_makes_one_child_at_most() -> None:
    lists = some(Field(type="[Batch]", route="items"), modest=True)
    assert max(len(value) for value in lists if isinstance(value, tuple)) == 1


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_simulated_inputs_are_sound(name: str) -> None:
    protocol = load(name)
    graph = protocol.graphs[protocol.root]
    values = Values(protocol, Random(5))
    inputs = [input_item(protocol, graph, values.given) for _ in range(300)]
    for item in inputs:
        problems = soundness_problems(protocol, parse_type(graph.input[1]), plain(protocol, graph.input[1], item))
        assert problems == []


def plain(protocol: Protocol, type_: str, item: Item) -> Json:
    """An item as the value that it was made from; null stands for what routing does not see."""
    record = protocol.types[type_]
    assert id_fault(item.key) == ""
    made: dict[str, Json] = dict.fromkeys(record.fields)
    for name, value in item.fields.items():
        inner = record_of(parse_type(record.fields[name].type))
        made[name] = [plain(protocol, inner, one) if isinstance(one, Item) else one for one in as_list(value)]
    return {**made, record.key: item.key}


def as_list(value: Routed) -> list[Item | str]:
    return list(value) if isinstance(value, tuple) else []


def test_odd_values_are_made_only_on_request() -> None:
    lists = [
        value
        for value in some(Field(type="[Story]", route="items"), "waterfall", odd=False)
        if isinstance(value, tuple)
    ]
    for stories in lists:
        keys = [story.key for story in stories]
        assert keys == [f"k{at}" for at in range(len(keys))]
        for at, story in enumerate(stories):
            assert set(as_list(story.fields["blocked_by"])) <= set(keys[:at])


# What a claim says of itself, and what its checks will say.


STUCK = Exit(
    route_on="variant",
    fields={
        "variant": Field(type="Skill | Loop", route="value"),
        "passed": Field(type="int", route="value", by="tests"),
        "note": Field(type="text"),
    },
)


TABLE = protocol(graph({"work": agent({"Stuck": to("@end:Done")})}), exits={"Stuck": STUCK})


def seven(_name: str, _field: Field) -> Routed:
    return 7


def test_the_field_that_refines_the_key_says_the_same_as_the_key() -> None:
    claim = envelope(TABLE, "Stuck.Loop", seven, derived=True)
    assert (claim.key, claim.fields) == ("Stuck.Loop", {"variant": "Loop"})


def test_computed_fields_come_from_the_checks_or_from_an_effect() -> None:
    assert derivation(TABLE, "Stuck.Loop", seven) == {"passed": 7}
    assert envelope(TABLE, "Stuck.Loop", seven, derived=False).fields == {"variant": "Loop", "passed": 7}
