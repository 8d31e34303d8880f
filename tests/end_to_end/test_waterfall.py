"""The waterfall from a story to delivered code, one executor at a time."""

import re
from pathlib import Path

import pytest

from tests.end_to_end.waterfall import FILES, LABEL, MEMORY, OPENAPI, SDD, STORY, backlog, failing, says
from tests.end_to_end.world import Said, World
from tests.git.place import git

UNCLEAR = f"{LABEL.text} [NEEDS CLARIFICATION: what about none?]"
ASKED = {"question": "What about none?", "suggestion": "0 pens"}


def test_a_story_from_scenarios_to_memory(place: Path) -> None:
    world = World(place, **backlog())
    specified = says("pass", "One scenario.", clarifications=[ASKED], risks=["Irregular plurals."])
    world.agent("bdd", LABEL.at, write={LABEL.bdd_file: LABEL.bdd(UNCLEAR)}, exit=specified)
    answered = {LABEL.bdd_file: LABEL.bdd(f"{LABEL.text} None of them are no pens.")}
    world.agent("scaffold", LABEL.at, write=LABEL.scaffold() | answered, exit=says("pass", "label is tested."))

    end = world.run({"root/US-1:review": ("approve", "No pens, others OK.")})

    assert end.outcome == "Done", end.told
    assert end.steps(LABEL.at) == STORY
    assert end.steps() == ["deliver MergeComplete"]

    review = end.ask("root/US-1:review")
    assert "US-1: About labels" in review
    assert "- The function label" in review
    assert "What about none? Suggested: 0 pens" in review
    assert "Irregular plurals." in review
    assert "Non-goals: Other currencies." in review
    assert len(review.split()) < 150, "it is read in half a minute"
    way = re.search(r"`git show (\S+):docs/bdd/US-1\.md`", review)
    assert way, "and says how to read the rest"
    assert git(end.root, "show", f"{way[1]}:{LABEL.bdd_file}").startswith("# US-1: About labels")
    for step, told in {"bdd": "PROJECT_CONTEXT.md", "sdd-delta": SDD, "contract": LABEL.delta_file}.items():
        assert f"- {told}" in end.prompt(f"{LABEL.at}:{step}#1.1"), "reads are the reading list"
    scaffold = end.prompt(f"{LABEL.at}:scaffold#1.1")
    assert " from a person\n> No pens, others OK." in scaffold, "the note reaches the next agent"
    assert "> What about none? Suggested: 0 pens" in scaffold
    assert "- tests/test_labels.py::test_label" in end.prompt(f"{LABEL.at}:impl#1.1")
    assert "No pens" not in end.prompt(f"{LABEL.at}:impl#1.1"), "and only the next"

    assert end.payload(f"{LABEL.at}:bdd#1.1")["open_questions"] == ["what about none?"]
    assert end.payload(f"{LABEL.at}:scaffold#1.1")["new_tests"] == ["tests/test_labels.py::test_label"]
    assert end.payload(f"{LABEL.at}:verify#1.1")["coverage"] == ["AC-1: tests/test_labels.py::test_label"]
    files = end.files()
    archived = [name for name in files if name.startswith("docs/deltas/")]
    assert archived == [end.payload(f"{LABEL.at}:archive#1.1")["archive"]], "the orchestrator has archived the delta"
    assert files[archived[0]].startswith(LABEL.delta())
    assert LABEL.function in files[SDD], "and it is part of the design"
    assert "NEEDS CLARIFICATION" not in files[LABEL.bdd_file]
    assert files[MEMORY].startswith(FILES[MEMORY].strip())
    assert "/labels:" in files[OPENAPI]
    assert end.subjects() == [f"feat({LABEL.id}): About {LABEL.module}"]
    assert end.suite().startswith("1 passed")
    assert end.standings() == {"AC-1": "verified by root/US-1"}


@pytest.mark.soak
def test_a_story_in_a_new_project_begins_with_stubs(place: Path) -> None:
    """The tests import what the delta adds, as anybody would write them: first it is missing, then there by name."""
    world, at = World(place, **backlog()), LABEL.at
    proofs = LABEL.tests().partition("\n\n\n")[2]
    imported = f"# {LABEL.bdd_file}\nfrom shop.labels import {LABEL.name}\n\n\n{proofs}"
    tests = LABEL.scaffold() | {LABEL.test_file: imported}
    done = says("pass", "label is tested.")
    world.agent("scaffold", at, write=tests, exit=done)
    world.agent("scaffold", at, write=tests | {LABEL.file: LABEL.code("raise NotImplementedError")}, exit=done)

    end = world.run({"root/US-1:review": "approve"})

    assert end.outcome == "Done", end.told
    refused = end.prompt(f"{at}:scaffold#1.2")
    assert "[red.wrong_reason]" in refused
    assert "add a stub" in refused
    assert end.payload(f"{at}:scaffold#1.2")["new_tests"] == ["tests/test_labels.py::test_label"]
    assert LABEL.body in end.files()[LABEL.file]
    assert end.suite().startswith("1 passed")


@pytest.mark.soak
def test_the_story_passes_through_every_row_of_the_table(place: Path) -> None:
    """Each step fails once by itself; each reason leads where its row says, and each answer of the review, too."""
    world = World(place, **backlog())
    at = LABEL.at
    for step in ("bdd", "sdd-delta", "contract", "scaffold", "update-memory"):
        world.agent(step, at, exit=failing("none", f"Not yet ({step})."))
    for reason in ("none", "nfr_missing", "test_timeout", "needs_clarification", "scope_warning"):
        world.agent("impl", at, exit=failing(reason, f"Because of {reason}."))
    world.agent("impl", at, exit=failing("constitution_violation", "A function is not pure."))
    world.as_usual("impl", at)
    world.agent("verify", at, exit=failing("none", "One cup is not tried."))
    reviews: list[Said] = [
        ("reject", "Not what I meant."),
        ("needs_clarification", "Which plural?"),
        ("constitution_violation", "It has a state."),
        ("scope_warning", "No currencies."),
        "approve",
        "approve",
        "approve",
        ("approve", "This time."),
    ]

    end = world.run({"root/US-1:review": reviews})

    assert end.outcome == "Done", end.told
    assert end.steps(at) == [
        *["bdd failing.none", "bdd pass_bdd", "sdd-delta failing.none", "sdd-delta pass"],
        *["contract failing.none", "contract pass"],
        *["review reject", "bdd pass_bdd", "sdd-delta pass", "contract pass"],
        *["review needs_clarification", "bdd pass_bdd", "sdd-delta pass", "contract pass"],
        *["review constitution_violation", "sdd-delta pass", "contract pass"],
        *["review scope_warning", "sdd-delta pass", "contract pass"],
        *["review approve", "scaffold failing.none", "scaffold pass_red"],
        *["impl failing_measured.none", "impl failing_measured.nfr_missing", "impl failing_measured.test_timeout"],
        *["impl failing_measured.needs_clarification", "review approve", "scaffold pass_red"],
        *["impl failing_measured.scope_warning", "review approve", "scaffold pass_red"],
        *["impl failing_measured.constitution_violation", "sdd-delta pass", "contract pass", "review approve"],
        *["scaffold pass_red", "impl pass_green", "verify failing_measured.none", "impl pass_green"],
        *["verify pass_verified", "archive Archived", "update-memory failing.none", "update-memory pass"],
        "merge MergeComplete",
    ]
    said = {
        "bdd#1.2": "It stopped (none):\n> Not yet (bdd).",
        "bdd#2.1": "> Not what I meant.",
        "bdd#3.1": "> Which plural?",
        "sdd-delta#4.1": "> It has a state.",
        "sdd-delta#5.1": "> No currencies.",
        "sdd-delta#6.1": "Implementation stopped (constitution_violation):\n> A function is not pure.",
        "impl#1.2": "It stopped (none):\n> Because of none.",
        "impl#1.3": "It stopped (nfr_missing):\n> Because of nfr_missing.",
        "scaffold#4.1": "> This time.",
        "impl#5.1": "Verification stopped (none):\n> One cup is not tried.",
    }
    assert [act for act, text in said.items() if text not in end.prompt(f"{at}:{act}")] == []
    assert "Implementation came back: constitution_violation." in end.ask(f"{at}:review")
    measured = end.payload(f"{at}:impl#1.1")
    assert [measured[key] for key in ("tests_pass", "tests_fail", "tests_skip")] == [0, 1, 0]
    assert measured["failing_tests"] == ["tests/test_labels.py::test_label"]
