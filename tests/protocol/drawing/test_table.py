from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.sample import SAMPLE, rows
from treadle.protocol.drawing.table import COLUMNS, Row, escape_markdown, markdown_table, table, without_repeats
from treadle.protocol.model import Graph, Protocol, Route, Step


def one(found: list[Row], step: str, exit_: str) -> Row:
    (row,) = [row for row in found if (row.step, row.exit) == (step, exit_)]
    return row


def test_a_row_has_role_exit_target_and_actions() -> None:
    assert one(table(SAMPLE), "plan", "InitWork") == Row(
        graph="node",
        step="plan",
        kind="agent",
        who="planner",
        symbol="Ω₁ᴰ",
        exit="InitWork",
        to="tests",
        do=("spawn children: node over childSpecs",),
        gates=("commit", "scope"),
    )


def test_a_self_route_is_bounded_by_attempts_and_a_charged_one_by_its_budget() -> None:
    found = table(SAMPLE, "node")
    retry, stuck = one(found, "impl", "RequestRetry"), one(found, "impl", "Stuck.SkillCeiling")
    assert (retry.to, retry.max, retry.then) == ("@self", 5, "Stuck.SkillCeiling")
    assert (stuck.to, stuck.charge, stuck.max, stuck.then) == ("@self", "reviews", 5, "stuck")
    assert stuck.do == ("tier +1", "fresh")


def test_guarded_rows_keep_their_order() -> None:
    found = [row for row in table(SAMPLE, "node") if row.exit == "MoreTests"]
    assert [(row.when, row.to) for row in found] == [("data.additionalTests > 0", "tests"), ("", "impl")]
    assert found[0].do == ("round = round + 1",)


def test_waits_and_advisory_gates_are_shown() -> None:
    found = one(table(SAMPLE), "impl", "TestsPassed")
    assert (found.wait, found.gates) == (("children",), ("green", "minimal?"))
    assert one(table(SAMPLE), "sdd-delta", "InitWork").wait == ("manual",)


def test_signals_come_last_with_their_handlers() -> None:
    found = table(SAMPLE, "node")[-2:]
    assert [(row.exit, row.to, row.do) for row in found] == [
        ("ContextShift", "rebase", ("priority 0", "coalesce")),
        ("ChildMerged", "judge", ("priority 1", "reply", "preempt")),
    ]


def test_clones_of_a_gate_are_one_step_that_leads_back() -> None:
    found = [row for row in table(SAMPLE, "node") if row.step.startswith("stuck")]
    assert [(row.step, row.exit, row.to) for row in found] == [
        ("stuck", "retry", "@back"),
        ("stuck", "abort", "@end:Aborted"),
    ]


def test_a_row_of_a_gate_that_only_happens_to_lead_to_one_caller_keeps_its_target() -> None:
    asks = {
        f"ask@{name}": Step(kind="ask", asks="human", routes={"replan": rows("plan"), "retry": rows(name)})
        for name in ("plan", "work")
    }
    work = {
        name: Step(kind="effect", effect="merge", exits=("Done",), routes={"Done": rows(f"ask@{name}")})
        for name in ("plan", "work")
    }
    graph = Graph(start="plan", ends={}, steps=work | asks)
    found = [row for row in table(Protocol(name="p", version="1", root="g", graphs={"g": graph})) if row.kind == "ask"]
    assert {(row.exit, row.to) for row in found} == {("replan", "plan"), ("retry", "@back")}


def test_system_exits_that_most_steps_share_are_rows_of_any_step() -> None:
    found = [row for row in table(SAMPLE, "node") if row.exit.startswith("!")]
    assert [(row.step, row.exit, row.to) for row in found] == [
        ("impl", "!crash", "@end:Aborted"),
        ("rebase", "!timeout !crash !exhausted", "@end:Aborted"),
        ("judge", "!crash", "@end:Aborted"),
        ("*", "!*", "stuck"),
    ]


def test_trying_again_is_one_row_for_all_steps_with_attempts() -> None:
    step = Step(kind="agent", role="r", exits=("A",), attempts=3, gates={"A": ()}, routes={"A": rows("@end:Done")})
    graph = Graph(start="a", ends={"Done": ()}, steps={"a": step}, system={"!*": rows("@end:Done")})
    found = table(Protocol(name="p", version="1", root="g", graphs={"g": graph}))
    assert ("*", "!invalid !gate", "@self") in {(row.step, row.exit, row.to) for row in found}


def test_the_full_table_has_every_row_of_every_step_and_clone() -> None:
    found = table(SAMPLE, "node", full=True)
    assert {(row.step, row.to) for row in found if row.exit == "retry"} == {
        (f"stuck@{step}", step) for step in ("plan", "tests", "impl", "review", "merge")
    }
    crashes = {(row.step, row.to) for row in found if row.exit == "!crash"}
    assert ("tests", "stuck@tests") in crashes
    assert ("judge", "@end:Aborted") in crashes
    assert not [row for row in found if row.step == "*" and row.kind != "signal"]


def test_a_table_covers_one_graph_or_all() -> None:
    assert {row.graph for row in table(SAMPLE)} == {"stories", "node"}
    assert {row.graph for row in table(SAMPLE, "stories")} == {"stories"}


def test_a_protocol_that_is_wrong_still_has_a_table() -> None:
    step = Step(kind="agent", role="r", exits=("A",), routes={"A": (Route(to="nowhere", charge="nothing"),)})
    broken = Protocol(name="p", version="1", root="g", graphs={"g": Graph(start="b", ends={}, steps={"a": step})})
    found = one(table(broken), "a", "A")
    assert (found.to, found.charge, found.max) == ("nowhere", "nothing", 0)


def test_markdown_names_a_step_once_and_leaves_out_empty_columns() -> None:
    lines = markdown_table(COLUMNS, without_repeats(table(SAMPLE, "stories"))).splitlines()
    assert lines[0] == "| From | Who | Exit | To |"
    assert lines[2] == "| sdd-delta (waits for manual) | planner | InitWork | each |"
    assert lines[4] == "|  |  | SomeFailed | @end:Failed |"


@given(st.lists(st.text(), min_size=3, max_size=3))
def test_no_text_leaves_its_cell(texts: list[str]) -> None:
    shown = markdown_table(("a", "b", "c"), [tuple(texts), ("x", "y", "z")])
    assert len(shown.split("\n")) == 5
    for line in shown.split("\n")[:-1]:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 4


def test_markdown_marks_are_shown_as_they_are() -> None:
    assert escape_markdown("a_b *c* <d> [e](f) `g _h_") == "a_b \\*c\\* &lt;d> \\[e](f) \\`g \\_h\\_"


def test_text_between_backticks_is_code() -> None:
    assert escape_markdown("run `treadle *x* <y>`, or `z`") == "run `treadle *x* <y>`, or `z`"
    assert escape_markdown("``a`` `b|c` ` d` \\`e`") == "\\`\\`a\\`\\` \\`b\\|c\\` \\` d\\` \\\\\\`e\\`"
