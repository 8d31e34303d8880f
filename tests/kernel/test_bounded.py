"""However long a run goes on, and whatever its surroundings do: nothing piles up, nothing stale comes back."""

import pytest

from tests.kernel.protocols import TREE, agent, ask, graph, protocol, to
from treadle.kernel.commands import Notify
from treadle.kernel.state import dump_state, load_state
from treadle.protocol.model import Becomes, Handler, Limits, Send, Spawn, Step, Wait
from treadle.testing.scenario import Scenario, items

EFFECT = protocol(
    graph(
        {"merge": Step(kind="effect", effect="merge", exits=("Merged",), routes={"Merged": to("@end:Done")})},
        system={"!crash": to("@end:Failed"), "!timeout": to("@end:Failed"), "!exhausted": to("@end:Failed")},
    )
)


@pytest.mark.parametrize("why", ["invalid", "blocked", "store"])
def test_a_failure_without_a_row_is_a_crash_of_the_effect(why: str) -> None:
    run = Scenario(EFFECT).fails(why)
    assert run.inst().last == {"merge": "!crash"}


def test_an_effect_that_claims_a_foreign_exit_has_crashed() -> None:
    assert Scenario(EFFECT).says("Nonsense").where() == "@Failed"


def test_a_spawn_over_the_limit_is_refused_without_other_checks() -> None:
    steps = {
        "plan": agent({"Plan": to("@end:Done", do=(Spawn(group="kids", graph="main", over="parts"),))}),
        "human": ask(abort="@end:Failed"),
    }
    table = protocol(graph(steps, system={"!gate": to("human"), "!*": to("@end:Failed")}), limits=Limits(children=1))
    assert Scenario(table).says("Plan", parts=items("a", "b")).asked() == ["root:human"]


def test_a_queue_survives_being_written_down() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    for key in ("a", "b"):
        run.says("Plan", at=f"root/{key}:plan").says("Worked", at=f"root/{key}:work")
    assert run.state.pools["root:branch"].queue
    assert load_state(dump_state(run.state)) == run.state


def family() -> Scenario:
    """A parent that is busy, and children whose questions a signal can make pointless."""
    parent = graph(
        {
            "plan": agent({"Plan": to("work", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
            "work": agent({"Worked": to("join")}),
            "join": agent({"Joined": to("@end:Done")}, wait=(Wait(kind="group", group="kids"),)),
            "judge": agent({"Yes": to("@resume", do=(Send(signal="Accept", to="sender"),))}),
            "lost": ask(replan="^plan", abort="@end:Failed"),
        },
        ok={"kids": ("Done",)},
        handlers={
            "Judge": Handler(step="judge", prio=3, reply=True),
            "child:Failed": Handler(step="lost", prio=3),
            "child:Aborted": Handler(step="lost", prio=3),
        },
    )
    kid = graph(
        {
            "work": agent({"Ready": to("verdict", do=(Send(signal="Shift", to="siblings"),)), "Slow": to("work")}),
            "verdict": Step(kind="ask", asks="parent", signal="Judge", routes={"Accept": to("@end:Done")}),
            "rebase": agent({"Conflict": to("^work")}),
        },
        handlers={"Shift": Handler(step="rebase", prio=0, coalesce=True)},
    )
    return Scenario(protocol(parent, ("kid", kid))).says("Plan", parts=items("a", "b"))


def test_abandoned_questions_leave_the_mailbox() -> None:
    run = family().says("Ready", at="root/a:work")
    for _ in range(5):
        run.signals("Shift", to="root/a").says("Conflict", at="root/a:rebase").says("Ready", at="root/a:work")
    assert [message.name for message in run.inst().mailbox] == ["Judge"]
    run.says("Worked", at="root:work").says("Yes", at="root:judge")
    assert run.where("root/a") == "@Done"


def test_news_of_a_child_that_was_replaced_is_not_delivered() -> None:
    run = family().says("Worked", at="root:work")
    run.signals("abort", to="root/a").signals("abort", to="root/b")
    assert run.asked() == ["root:lost"]
    run.answers("replan").says("Plan", at="root:plan", parts=items("a", "b"))
    assert run.running() == ["root/a~2:work", "root/b~2:work", "root:work"]
    run.says("Worked", at="root:work")
    assert run.asked() == []
    assert (run.where(), run.status()) == ("join", "queued")


def test_news_of_a_child_that_is_still_listed_is_delivered() -> None:
    run = (
        family()
        .says("Worked", at="root:work")
        .signals("abort", to="root/a")
        .signals("abort", to="root/b")
        .answers("replan")
    )
    run.says("Plan", at="root:plan", parts=items("b")).says("Worked", at="root:work")
    assert run.asked() == []
    run.signals("abort", to="root/b~2")
    assert run.asked() == ["root:lost"]


def test_signals_of_senders_that_have_ended_are_united() -> None:
    run = family()
    for count in range(1, 5):
        name = "root/a" if count == 1 else f"root/a~{count}"
        run.says("Ready", at=f"{name}:work").signals("abort", to=name)
        run.says("Worked", at="root:work").answers("replan").says("Plan", at="root:plan", parts=items("a", "b"))
    assert [message.name for message in run.inst("root/b").mailbox] == ["Shift"]
    [shift] = run.inst("root/b").mailbox
    assert len(shift.refs) == 4


def test_signals_of_living_senders_keep_their_senders() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b", "c"))
    for key in ("a", "b"):
        run.says("Plan", at=f"root/{key}:plan").says("Worked", at=f"root/{key}:work")
    run.says("Merged", at="root/a:merge").says("Clean", at="root/b:rebase").says("Merged", at="root/b:merge")
    assert [(message.name, message.sender) for message in run.inst("root/c").mailbox] == [
        ("Shift", "root/a"),
        ("Shift", "root/b"),
    ]


MANUAL = protocol(
    graph(
        {
            "work": agent({"Again": to("rest"), "Ready": to("@end:Done")}, wait=(Wait(kind="manual"),)),
            "rest": agent({"Rested": to("work")}),
        },
        commands={"/work": "work"},
    )
)


def test_a_second_go_does_not_open_the_next_stop() -> None:
    run = Scenario(MANUAL).signals("go", step="work").signals("go", step="work")
    [notice] = run.issued(Notify)
    assert notice.detail.startswith("work ")
    assert "already" in notice.detail
    run.says("Again").says("Rested")
    assert (run.where(), run.status()) == ("work", "queued")


def test_an_instance_sent_elsewhere_queues_for_the_new_pool() -> None:
    steps = {
        "plan": agent({"Plan": to("work", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
        "work": agent({"Worked": to("@end:Done")}, wait=(Wait(kind="group", group="kids"),)),
    }
    merged = {"Merged": to("@end:Done")}
    kid = {
        "merge": Step(kind="effect", effect="merge", exits=("Merged",), pools=("parent:branch",), routes=merged),
        "think": agent({"Thought": to("merge")}, pools=("parent:desk",)),
    }
    kids = graph(kid, commands={"/think": "think"})
    table = protocol(graph(steps, ok={"kids": ("Done",)}), ("kid", kids), pools={"branch": 1, "desk": 1})
    run = Scenario(table).says("Plan", parts=items("a", "b", "c"))
    run.signals("go", to="root/c", step="/think").signals("go", to="root/b", step="/think")
    assert run.running() == ["root/a:merge", "root/c:think"]
    run.says("Thought", at="root/c:think")
    assert run.running() == ["root/a:merge", "root/b:think"]


def test_an_interrupted_instance_keeps_its_place_in_the_queue() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b", "c"))
    for key in "abc":
        run.says("Plan", at=f"root/{key}:plan").says("Worked", at=f"root/{key}:work")
    before = run.state.pools["root:branch"]
    run.signals("StatusQuery", to="root/b").signals("pause", to="root/b").signals("resume", to="root/b")
    assert run.state.pools["root:branch"] == before
    assert [before.queue[number] for number in sorted(before.queue)] == ["root/b", "root/c"]


def test_a_handler_counts_its_failures_anew() -> None:
    steps = {
        "work": agent({"Ready": to("@end:Done")}),
        "weigh": agent(
            {"Noted": to("@resume"), "Same": to("@end:Failed"), "!gate": to("weigh")},
            gates="readonly",
            attempts=2,
            becomes=(Becomes(key="Same", when="same_failure >= 2"), Becomes(key="Noted")),
        ),
    }
    run = Scenario(protocol(graph(steps, handlers={"Critique": Handler(step="weigh", prio=0, preempt=0)})))
    run.signals("Critique").says("Noted", fails=["readonly"], fingerprint="x").says("Noted")
    run.signals("Critique").says("Noted", fails=["readonly"], fingerprint="x").says("Noted", fails=["readonly"])
    assert run.where() == "work"
