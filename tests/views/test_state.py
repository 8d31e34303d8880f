"""STATE.json, the work order of a story: every field and every status, from the log alone."""

from random import Random
from typing import Any

import msgspec
import pytest

from tests.views.storied import HANDOFF, HISTORY, STATE, Storied, suite, waterfall
from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import encode_event
from treadle.kernel.state import State
from treadle.protocol.alone import TERMS_FILE, read_terms, select_part
from treadle.protocol.load import BUILT_IN, read_tree
from treadle.simulate.world import Ledger, RandomWorld
from treadle.views.chronicle import Chronicle
from treadle.views.stories import RunStories
from treadle.views.story_files import story_files
from treadle.views.work_order import WorkOrder, blank_order, encode_order, work_order_of

FIELDS = (
    "project story step attempt max_attempts status reason dispatched_at completed_at timeout_min tests failing_tests "
    "lint_pass files_changed blocked_by human_note"
).split()
STEPS = {"bdd", "sdd-delta", "contract", "review", "scaffold", "impl", "verify", "update-memory", "done"}
STATUSES = {"pending", "running", "pass", "failing", "needs_human", "timeout"}
REASONS = {None, "constitution_violation", "needs_clarification", "nfr_missing", "scope_warning", "test_timeout"}
NOW = ("step", "attempt", "max_attempts", "status", "timeout_min")


def test_the_published_initial_state_is_that_of_a_project_without_a_story() -> None:
    seed = (
        '{"project":"<name>","story":null,"step":"bdd","attempt":1,"max_attempts":3,"status":"pending","reason":null,'
        '"dispatched_at":null,"completed_at":null,"timeout_min":5,"tests":null,"failing_tests":[],"lint_pass":null,'
        '"files_changed":[],"blocked_by":[],"human_note":null}'
    )
    made = encode_order(blank_order(waterfall(), "<name>"))
    assert msgspec.json.decode(made) == msgspec.json.decode(seed)
    assert list(msgspec.json.decode(made)) == FIELDS


def test_every_step_is_a_part_of_a_row_that_the_table_has() -> None:
    steps = waterfall().graphs["story"].steps
    assert {name: step.row for name, step in steps.items() if step.row not in STEPS and "@" not in name} == {}


def test_a_story_from_its_scenarios_to_its_end() -> None:
    run = Storied()
    assert run.tells("project", "story", *NOW) == ["cart-app", "US-1", "bdd", 1, 3, "running", 5]
    assert run.tells("completed_at", "tests", "reason") == [None, None, None]
    assert run.specified().tells(*NOW) == ["review", 1, 1, "needs_human", 0]
    run.run.answers("approve")
    assert run.tells(*NOW) == ["scaffold", 1, 2, "running", 5]
    run.says("pass_red", reports={"red": suite(3, ["tests/test_a.py::test_it"])})
    assert run.tells(*NOW) == ["impl", 1, 5, "running", 10]
    assert run.tells("tests", "failing_tests") == [{"pass": 3, "fail": 1, "skip": 0}, ["tests/test_a.py::test_it"]]
    run.says("pass_green", reports={"green": suite(4, skipped=1)})
    assert run.tells("tests", "failing_tests") == [{"pass": 4, "fail": 0, "skip": 1}, []]
    run.says("pass_verified", at="verify")
    assert run.tells("step", "status") == ["verify", "pass"], "the orchestrator archives the delta"
    run.says("Archived", at="archive")
    assert run.tells(*NOW) == ["update-memory", 1, 2, "running", 3]
    assert run.tells("tests") == [{"pass": 4, "fail": 0, "skip": 1}], "what the memory is written from"
    run.says("pass", at="update-memory")
    assert run.tells("step", "status") == ["done", "running"]
    run.says("MergeComplete", at="merge")
    assert run.tells("step", "status", "completed_at") == ["done", "pass", "1970-01-01T00:00:18Z"]


def test_a_failed_attempt_is_counted_with_its_tests() -> None:
    run = Storied().scaffolded()
    failed = suite(42, ["cart::coupon", "cart::expired"], skipped=1)
    run.says("failing_measured.none", {"reason": "none"}, reports={"measure": failed})
    assert run.tells(*NOW) == ["impl", 2, 5, "running", 10]
    assert run.tells("tests", "failing_tests", "reason") == [
        {"pass": 42, "fail": 2, "skip": 1},
        ["cart::coupon", "cart::expired"],
        None,
    ]


def test_a_refused_claim_shows_the_measured_results() -> None:
    run = Storied().scaffolded()
    record = {**suite(4, ["a::b"]), "files_changed": ["src/a.py"]}
    run.says("pass_green", fails=["green"], reports={"scope": {"files_changed": ["src/a.py"]}, "green": record})
    assert run.tells("step", "attempt", "status") == ["impl", 2, "running"]
    assert run.tells("failing_tests", "files_changed") == [["a::b"], ["src/a.py"]]


def test_exhausted_attempts_need_a_person() -> None:
    run = Storied().scaffolded()
    for _ in range(5):
        run.says("failing_measured.none")
    assert run.tells(*NOW) == ["impl", 5, 5, "needs_human", 10]


@pytest.mark.parametrize("reason", sorted(one for one in REASONS if one))
def test_the_reason_of_a_failure(reason: str) -> None:
    run = Storied().scaffolded().says(f"failing_measured.{reason}")
    asked = reason in ("needs_clarification", "scope_warning")
    assert run.tells("reason") == [reason if asked else None]
    run = Storied(level=1)
    run.run.signals("go", to="root/US-1", step="bdd")
    run.says(f"failing.{reason}")
    assert run.tells("step", "attempt", "status", "reason") == ["bdd", 1, "failing", reason]


def test_the_reason_of_the_last_attempt_is_shown_unless_it_was_refused() -> None:
    run = Storied().scaffolded()
    for _ in range(5):
        run.says("failing_measured.nfr_missing", {"handoff": "## Not yet resolved\n- which threshold?"})
    assert run.tells("step", "attempt", "status", "reason") == ["impl", 5, "needs_human", "nfr_missing"]
    handed = run.files()[HANDOFF]
    assert "reason: nfr_missing" in handed
    assert "What the orchestrator" not in handed, "nothing was held against what it has said"
    assert "impl (attempt 5): failing (nfr_missing)" in run.files()[HISTORY]
    run = Storied().scaffolded()
    for _ in range(5):
        run.says("failing_measured.nfr_missing", fails=["measure"])
    assert run.tells("status", "reason") == ["needs_human", None]


def test_time_that_is_up() -> None:
    run = Storied().scaffolded()
    run.run.times_out()
    assert run.tells("step", "status", "reason", "timeout_min") == ["impl", "timeout", None, 10]
    assert run.state()["completed_at"]
    run.run.answers("retry")
    assert run.tells("step", "attempt", "status") == ["impl", 1, "running"]


def test_a_step_that_waits_for_a_go_is_pending() -> None:
    run = Storied(level=1)
    assert run.tells("step", "status", "dispatched_at") == ["bdd", "pending", None]
    run.run.signals("go", to="root/US-1", step="bdd")
    assert run.tells("step", "status") == ["bdd", "running"]
    run.says("pass_bdd", complexity="S", parallel_tasks=0)
    assert run.tells("step", "status") == ["sdd-delta", "pending"]
    assert run.state()["completed_at"], "of the session that ended last"


def test_a_service_that_is_out_is_waited_for() -> None:
    run = Storied()
    run.run.is_held_up("rate", wait=60)
    assert run.tells("step", "status") == ["bdd", "pending"]


def test_an_aborted_question_leaves_the_story_failing() -> None:
    run = Storied().says("needs_human", {"question": "Which?"})
    assert run.tells("step", "status") == ["bdd", "needs_human"]
    run.run.answers("abort")
    assert run.tells("step", "status") == ["bdd", "failing"]


def test_an_aborted_story_keeps_a_step_that_did_not_begin() -> None:
    run = Storied(level=1)
    run.run.signals("go", to="root/US-1", step="bdd")
    run.says("pass_bdd", complexity="S", parallel_tasks=0)
    run.run.signals("abort")
    assert run.run.where("root/US-1") == "@Aborted"
    assert run.tells("step", "status", "attempt", "max_attempts") == ["sdd-delta", "pending", 1, 3], "nobody began it"


@pytest.mark.parametrize("exit_", ["", "failing.none"])
def test_a_story_aborted_in_the_middle_of_a_step_has_failed(exit_: str) -> None:
    run = Storied(level=1)
    run.run.signals("go", to="root/US-1", step="bdd")
    if exit_:
        run.says(exit_)
    run.run.signals("abort")
    assert run.tells("step", "status") == ["bdd", "failing"]
    assert run.state()["completed_at"]


def test_a_persons_note_stays_until_the_step_is_done() -> None:
    run = Storied().specified()
    run.said["ref:note"] = "30 seconds"
    run.run.answers("approve", note="ref:note")
    assert run.tells("step", "human_note") == ["scaffold", "30 seconds"]
    assert run.says("pass_red").tells("human_note") == [None]


@pytest.mark.parametrize(
    ("ok", "command", "told"), [(True, ["ruff"], True), (False, ["ruff"], False), (True, [], None)]
)
def test_lint_pass_follows_the_lint_check(ok: bool, command: list[str], told: bool | None) -> None:
    run = Storied().scaffolded()
    run.says("pass_green", fails=[] if ok else ["lint"], reports={"lint": {"command": list[Any](command)}})
    assert run.tells("lint_pass") == [told]


def test_a_team_works_on_the_implementation() -> None:
    run = Storied().team(backend=("b1",), frontend=("f1",))
    assert run.tells(*NOW)[:1] + run.tells("status") == ["impl", "running"]
    assert run.tells("max_attempts", "timeout_min") == [5, 10], "of the row"
    run.says("task_done", at=run.task("b1")).says("blocker", {"reason": "none"}, run.task("f1"))
    assert run.tells("step", "status", "attempt", "max_attempts") == ["impl", "running", 1, 3], "the lead coordinates"
    run.says("needs_human", at="coordinate")
    assert run.tells("step", "status") == ["impl", "needs_human"]


def test_each_of_several_stories_has_its_own_file() -> None:
    run = Storied({"id": "US-1"}, {"id": "US-2", "blocked_by": ["US-1"]})
    assert run.state(".ai/states/US-1.json")["status"] == "running"
    blocked = run.state(".ai/states/US-2.json")
    assert (blocked["story"], blocked["status"], blocked["blocked_by"]) == ("US-2", "pending", ["US-1"])
    assert run.state() == run.state(".ai/states/US-1.json"), "the one that somebody was sent out for last"
    run.finished()
    free = run.state(".ai/states/US-2.json")
    assert (free["status"], free["blocked_by"]) == ("running", [])
    assert run.state() == free
    assert run.state(".ai/states/US-1.json")["step"] == "done"


def test_a_story_with_an_unsafe_id_has_no_file() -> None:
    run = Storied({"id": "US-1"}, {"id": "../../US-2"})
    assert sorted(path for path in run.files() if path.startswith(".ai/states")) == [".ai/states/US-1.json"]


def test_one_story_has_one_file() -> None:
    assert [path for path in Storied().files() if path.endswith(".json")] == [STATE]


def _no_payload(_ref: str) -> None:
    """Nobody has said anything."""


@pytest.mark.parametrize("seed", range(8))
def test_after_every_event_of_any_run_the_file_is_valid_and_agrees_with_the_state(seed: int) -> None:
    protocol = waterfall()
    world, state, ledger, course = (
        RandomWorld(protocol, Random(seed), 0.2),
        State(),
        Ledger(),
        Chronicle(lambda _: protocol),
    )
    event: Event | None = world.start()
    count = 0
    while event is not None and count < 400:
        before, (state, commands) = state, reduce(protocol, state, event)
        ledger.enter(event, commands)
        if state is not before:
            course.take(encode_event(event))
            book = RunStories(protocol, course, _no_payload)
            for one in book.listed:
                _agrees(state, one.inst.id if one.inst else "", work_order_of(book, one))
            assert all(story_files(course, _no_payload).values())
        count += 1
        event = None if state.outcome else world.next(state, ledger, "wild")


def _agrees(state: State, id_: str, order: WorkOrder) -> None:
    found: dict[str, Any] = msgspec.json.decode(encode_order(order))
    assert list(found) == FIELDS
    assert found["step"] in STEPS
    assert found["status"] in STATUSES
    assert found["reason"] in REASONS
    assert found["attempt"] >= 1
    assert found["max_attempts"] >= 1
    inst = state.insts[id_]
    asked = [ask for ask in state.asks.values() if ask.inst == id_ and ask.command]
    busy = [it for it in state.acts.values() if f"{it.command.inst}/".startswith(f"{id_}/") and it.phase != "held"]
    assert (found["status"] in ("needs_human", "timeout")) == bool(asked and inst.live)
    if found["status"] == "running":
        assert busy
        assert found["completed_at"] is None
    if found["status"] == "pending":
        assert not busy
    assert (found["step"] == "done" and found["status"] == "pass") == (inst.outcome == "Done")


def test_a_step_alone_passes_and_the_story_is_not_done() -> None:
    run = Storied(protocol=select_part(waterfall(), "bdd").protocol)
    run.says("pass_bdd", {"summary": "Three."}, "bdd", complexity="S", parallel_tasks=0)
    assert run.tells("step", "status", "max_attempts") == ["bdd", "pass", 3], "it is being merged"
    run.says("MergeRejected.BuildFailure", at="merge")
    assert run.tells("step", "status") == ["bdd", "needs_human"]
    run.run.answers("retry")
    run.says("MergeComplete", at="merge")
    assert run.tells("step", "status", "max_attempts") == ["bdd", "pass", 3]
    assert run.files()[HISTORY].startswith("## US-1 Coupons: bdd done, sdd-delta is next, ")
    assert "step: bdd\nattempt: 1\nstatus: pass\n" in run.files()[HANDOFF]


def test_a_story_of_which_the_last_step_is_done_alone_is_done() -> None:
    terms = read_terms(read_tree(BUILT_IN / "waterfall" / TERMS_FILE))
    run = Storied(protocol=select_part(waterfall(), "update-memory", terms).protocol)
    run.run.checked("update-memory-ready")
    run.says("pass", {"summary": "Remembered."}, "update-memory")
    run.says("MergeComplete", at="merge")
    assert run.tells("step", "status") == ["done", "pass"]
    assert run.files()[HISTORY].startswith("## US-1 Coupons: Done, ")
