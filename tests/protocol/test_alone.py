"""A part of a protocol by itself: one list of its input, or one step of what works through it."""

from typing import Any

import msgspec
import pytest

from tests.refusals import refused
from treadle.errors import TreadleError
from treadle.protocol.alone import TERMS_FILE, Terms, read_terms, select_part
from treadle.protocol.load import BUILT_IN, load, read_tree
from treadle.testing.scenario import Scenario, items

WATERFALL = load("waterfall")
TERMS = read_terms(read_tree(BUILT_IN / "waterfall" / TERMS_FILE))
BACKLOG: dict[str, Any] = {
    "project": "cart",
    "bootstrap": [{"id": "cart"}],
    "supplements": [{"id": "nfr"}, {"id": "glossary"}],
    "stories": [{"id": "US-1"}, {"id": "US-2"}],
}


def test_a_part_leaves_the_other_lists_empty() -> None:
    found = select_part(WATERFALL, "bootstrap")
    assert found.protocol is WATERFALL
    assert found.narrowed(BACKLOG) == {"project": "cart", "bootstrap": [{"id": "cart"}]}
    one = select_part(WATERFALL, "glossary:supplements").narrowed(BACKLOG)
    assert one == {"project": "cart", "supplements": [{"id": "glossary"}]}


def test_a_story_done_alone_does_not_wait_for_others() -> None:
    stories = [{"id": "US-1"}, {"id": "US-2", "blocked_by": ["US-1"]}, {"id": "US-3", "blocked_by": ["US-2"]}]
    given: dict[str, Any] = {"project": "cart", "stories": stories}
    assert select_part(WATERFALL, "US-2:bdd").narrowed(given) == {
        "project": "cart",
        "stories": [{"id": "US-2", "blocked_by": []}],
    }
    assert select_part(WATERFALL, "bdd").narrowed(given) == given, "all of them are done, one after the other"


def test_a_run_without_stories_delivers_its_documents() -> None:
    run = Scenario(WATERFALL, {"bootstrap": items("cart"), "stories": ()})
    run.says("pass", "write").says("MergeComplete", "merge")
    assert run.where() == "deliver"
    assert run.says("MergeComplete").where() == "@Done"


@pytest.mark.parametrize(("step", "exit_"), [("bdd", "pass_bdd"), ("sdd-delta", "pass"), ("contract", "pass")], ids=str)
def test_only_a_merge_follows_a_step_alone(step: str, exit_: str) -> None:
    found = select_part(WATERFALL, f"US-1:{step}")
    assert found.narrowed(BACKLOG) == {"project": "cart", "stories": [{"id": "US-1"}]}
    fields: dict[str, Any] = {"complexity": "L", "parallel_tasks": 3} if step == "bdd" else {}
    run = Scenario(found.protocol, {"stories": items("US-1")})
    assert run.where("root/US-1") == step
    run.says("failing.none")
    assert run.where("root/US-1") == step, "its own attempts are there"
    run.says(exit_, **fields)
    assert run.where("root/US-1") == "merge"
    run.says("MergeRejected.ContractViolation")
    assert run.where("root/US-1") == "unmerged"
    run.answers("retry").says("MergeComplete")
    assert run.where("root/US-1") == "@Done"
    assert run.says("MergeComplete").where() == "@Done"


def test_a_stuck_step_alone_offers_only_retry_and_abort() -> None:
    run = Scenario(select_part(WATERFALL, "contract").protocol, {"stories": items("US-1")}).says("needs_human")
    assert run.ask().choices == ("retry", "abort")
    assert run.answers("retry").where("root/US-1") == "contract"
    run.says("needs_human").answers("abort")
    assert run.where("root/US-1") == "@Aborted"


def test_every_row_of_the_table_can_be_done_alone() -> None:
    rows = [name for name, step in WATERFALL.graphs["story"].steps.items() if step.kind == "agent" and step.row == name]
    assert rows == ["bdd", "sdd-delta", "contract", "scaffold", "impl", "verify", "update-memory"]
    for row in rows:
        assert select_part(WATERFALL, row, TERMS).step == row


def test_a_step_alone_knows_the_next_step() -> None:
    rows = ["bdd", "sdd-delta", "contract", "scaffold", "impl", "verify", "update-memory"]
    found = [select_part(WATERFALL, row, TERMS).protocol.graphs["story"] for row in rows]
    then = [graph.only.then for graph in found if graph.only]
    assert then == ["sdd-delta", "contract", "review", "impl", "verify", "update-memory", ""]
    assert [graph.steps["merge"].row for graph in found] == [*rows[:-1], "done"], "the merge is that of the step's work"


def test_new_tests_are_merged_whether_they_fail_or_not() -> None:
    found = select_part(WATERFALL, "scaffold", TERMS)
    step = found.protocol.graphs["story"].steps["scaffold"]
    assert step.exits == ("pass_added", "failing", "needs_human")
    assert "added" in [ref.name for ref in step.gates["pass_added"]]
    assert found.protocol.exits["pass_added"].also == ("pass",)
    assert not found.protocol.exits["pass_added"].proves
    run = Scenario(found.protocol, {"stories": items("US-1")}).says("pass_added")
    assert run.where("root/US-1") == "merge"


def test_a_lone_implementation_first_needs_failing_tests() -> None:
    run = Scenario(select_part(WATERFALL, "impl", TERMS).protocol, {"stories": items("US-1")})
    assert run.where("root/US-1") == "impl-ready"
    run.checked(fails=["owed"])
    assert run.where("root/US-1") == "stuck@impl-ready"
    run.answers("retry")
    assert run.where("root/US-1") == "impl-ready", "a person has mended it, which is looked at"
    run.checked()
    assert run.where("root/US-1") == "impl"
    run.says("failing_measured.none")
    assert run.where("root/US-1") == "impl"
    assert run.says("pass_green").where("root/US-1") == "merge"


@pytest.mark.parametrize("reason", ["constitution_violation", "needs_clarification", "scope_warning"])
def test_reasons_that_lead_to_others_lead_to_a_person(reason: str) -> None:
    run = Scenario(select_part(WATERFALL, "impl", TERMS).protocol, {"stories": items("US-1")}).checked()
    run.says(f"failing_measured.{reason}")
    assert run.where("root/US-1") == "stuck@impl"
    assert run.ask().choices == ("retry", "abort")
    assert "impl.failing_measured" in run.ask().inputs, "what it says is told"
    assert run.answers("retry").where("root/US-1") == "impl"


def test_a_lone_verification_archives_the_delta_and_goes_back_to_no_other_step() -> None:
    run = Scenario(select_part(WATERFALL, "verify", TERMS).protocol, {"stories": items("US-1")})
    run.says("failing_measured.none")
    assert run.where("root/US-1") == "stuck@verify"
    run.answers("retry").says("pass_verified")
    assert run.where("root/US-1") == "archive"
    assert run.says("Archived").where("root/US-1") == "merge"


def test_a_lone_memory_update_first_checks_that_the_story_is_done() -> None:
    run = Scenario(select_part(WATERFALL, "update-memory", TERMS).protocol, {"stories": items("US-1")})
    assert run.where("root/US-1") == "update-memory-ready"
    run.checked().says("needs_human")
    assert run.ask().choices == ("retry", "abort"), "there is nothing to go on to without it"
    assert run.answers("retry").says("pass").where("root/US-1") == "merge"


def test_a_missing_input_is_named_with_the_step_that_writes_it() -> None:
    found = select_part(WATERFALL, "US-1:verify", TERMS)
    missing = list(found.missing(BACKLOG, lambda path: path == "docs/bdd/US-1.md"))
    assert [(one.paths, one.by) for one in missing] == [
        (("tests/US-1/test_manifest.json",), "US-1:scaffold"),
        (("docs/deltas/US-1.md", "docs/deltas/archive/*-US-1.md"), "US-1:sdd-delta"),
    ]
    memory = list(select_part(WATERFALL, "update-memory", TERMS).missing(BACKLOG, lambda path: "MEMORY" not in path))
    assert [(one.paths, one.by) for one in memory] == 2 * [(("PROJECT_MEMORY.md",), "bootstrap")]
    assert not list(found.missing(BACKLOG, lambda path: "*" in path or "bdd" in path or "manifest" in path))


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("coordinate", "it answers others, who would not be there"),
        ("breakdown", "it needs what others leave first (scaffold.pass_red); run the whole story"),
        ("reconcile", "it needs what others leave first"),
        ("sdd_delta", "has no part or step 'sdd_delta' to be done alone; did you mean 'sdd-delta'?"),
        (
            "nonsense",
            "stories, bdd, sdd-delta, contract, scaffold, impl, verify, update-memory",
        ),
    ],
)
def test_a_step_that_cannot_be_done_alone_is_refused(step: str, why: str) -> None:
    with pytest.raises(TreadleError) as caught:
        select_part(WATERFALL, step, TERMS)
    assert why in str(caught.value)


def test_without_terms_a_step_that_follows_others_is_not_done_alone() -> None:
    with refused("part.unfit", "(bdd.pass_bdd)"):
        select_part(WATERFALL, "scaffold")
    story = WATERFALL.graphs["story"]
    free = msgspec.structs.replace(story.steps["scaffold"], needs=())
    graph = msgspec.structs.replace(story, steps={**story.steps, "scaffold": free})
    loose = msgspec.structs.replace(WATERFALL, graphs={**WATERFALL.graphs, "story": graph})
    with refused("part.unfit", "tests that fail"):
        select_part(loose, "scaffold")


def test_terms_that_name_an_unknown_check_are_refused() -> None:
    with refused("protocol.invalid", "'owd'", "'owed'"):
        select_part(WATERFALL, "impl", {"impl": Terms(ready="owd")})


def test_a_part_that_the_input_lacks_is_refused() -> None:
    with refused("spec.incomplete", "'US-9'", "stories"):
        select_part(WATERFALL, "US-9:bdd").narrowed(BACKLOG)
    with refused("spec.incomplete", "supplements"):
        select_part(WATERFALL, "supplements").narrowed({"stories": []})


def test_a_protocol_without_lists_has_no_parts() -> None:
    with refused("part.unknown", "v3 ", "'impl'", "no parts"):
        select_part(load("v3"), "impl")
