"""A story of the waterfall for a team: a lead that only delegates, and executors with files of their own."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end.test_story_files import has
from tests.end_to_end.waterfall import LABEL, STORY, backlog, says
from tests.end_to_end.world import World
from tests.views.storied import HANDOFF, STATE

pytestmark = pytest.mark.soak

TEAMED: Final = msgspec.structs.replace(LABEL, size="M", tasks=("[P] The function", "[P] The page", "A look at both"))
PAGE: Final = "src/components/label.html"
MORE: Final = "tests/test_more.py"
UNITS: Final = "src/shop/units.py"
BACKEND, FRONTEND, TEST, LOOK = (f"{TEAMED.at}/{name}" for name in ("function", "page", "more-tests", "look"))


def task(name: str, instruction: str, *files: str, **more: Any) -> dict[str, Any]:
    """task_assigned."""
    return {"task_id": name, "story": TEAMED.id, "instruction": instruction, "files": list(files), **more}


def breakdown(more: bool = False, **roles: list[dict[str, Any]]) -> dict[str, Any]:
    return says("Breakdown", "The next wave.", more=more, **roles)


FUNCTION: Final = task("function", "Write label.", TEAMED.file, scoped_context=[UNITS])
SITE: Final = task("page", "Write the page.", PAGE)
TESTS: Final = task("more-tests", "Try hats.", MORE)
HATS: Final = TEAMED.tests("label(5, 'hat') == '5 hats'").replace("test_label", "test_hats")


def test_a_team_works_at_the_same_time_and_its_work_is_folded(place: Path) -> None:
    told = backlog(TEAMED)
    world = World(place, **{**told, "files": {**told["files"], UNITS: "def unit() -> str:\n    return 'cent'\n"}})
    at = TEAMED.at
    greedy = {**SITE, "files": [PAGE, "src/shop/**"]}
    world.agent("breakdown", at, exit=breakdown(backend=[FUNCTION], frontend=[greedy]))
    world.agent("breakdown", at, exit=breakdown(more=True, backend=[FUNCTION], frontend=[SITE], test=[TESTS]))
    handed_on = [
        has(HANDOFF, "(multi-executor session)"),
        has(HANDOFF, "- backend: ✅ function: label is there."),
        has(HANDOFF, f"- page: {TEAMED.file}: I need its name."),
        *(has(HANDOFF, f"  - {path}") for path in (PAGE, TEAMED.file, MORE)),
    ]
    world.agent("breakdown", at, run=handed_on, exit=breakdown(verify=[task("look", "Compare them.")]))
    beyond = {TEAMED.file: TEAMED.code(), "src/shop/extra.py": "extra = 1\n"}
    world.agent("work", BACKEND, write=beyond, exit=says("task_done"), after=f"{FRONTEND}~2:work#1.1")
    world.agent("work", BACKEND, delete="src/shop/extra.py", exit=says("task_done", "label is there."))
    world.agent("work", FRONTEND, exit={"type": "conflict", "files": [TEAMED.file], "description": "I need its name."})
    world.agent("coordinate", at, exit=breakdown(more=True, frontend=[{**SITE, "instruction": "It is called label."}]))
    world.agent("work", f"{FRONTEND}~2", write={PAGE: "<p>label</p>\n"}, exit=says("task_done", "The page is there."))
    unseen = [["test", "!", "-e", UNITS], ["test", "-e", TEAMED.test_file], has(STATE, '"step": "impl"')]
    world.agent("work", TEST, run=unseen, write={MORE: HATS}, exit=says("task_done", "Hats are tried."))
    only_results = [["test", "-e", TEAMED.file], ["test", "!", "-e", STATE], ["test", "!", "-e", HANDOFF]]
    world.agent("work", LOOK, run=only_results, exit=says("task_done", "They agree."))

    end = world.run({f"{at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert end.steps(at) == [
        *STORY[:5],
        *["breakdown !gate", "breakdown Breakdown", "coordinate Breakdown", "fold Folded"],
        *["breakdown Breakdown", "fold Folded", "suite Passed", *STORY[6:]],
    ]
    shared = end.refusals(f"{at}:breakdown#1.1")
    named = ("'function'", "'page'", "src/shop/labels.py", "src/shop/**", "[tasks.shared_file]")
    assert [text for text in named if text not in shared] == []
    assert end.payload(f"{at}:breakdown#1.2")["owners"] == [
        f"{TEAMED.file}: function",
        f"{PAGE}: page",
        f"{MORE}: more-tests",
    ]
    assert ("src/shop/extra.py", "scope.other_task") in end.findings(f"{BACKEND}:work#1.1")
    assert "I need its name." in end.prompt(f"{at}:coordinate#1.1")
    assert "> It is called label." in end.prompt(f"{FRONTEND}~2:work#1.1")
    backend = end.prompt(f"{BACKEND}:work#1.1")
    assert f" no others: {TEAMED.file}." in backend
    assert f" also read: {UNITS}" in backend
    assert f"- {TEAMED.bdd_file}" not in backend, "scoped reading"
    assert f"- {TEAMED.bdd_file}" in end.prompt(f"{TEST}:work#1.1")
    assert end.payload(f"{BACKEND}:work#1.2")["files_changed"] == [TEAMED.file]
    assert end.payload(f"{BACKEND}:work#1.2")["status"] == "pass"
    files = end.files()
    assert {TEAMED.file, PAGE, MORE} < files.keys()
    assert "src/shop/extra.py" not in files
    assert end.suite().startswith("2 passed")


def test_a_team_that_is_blocked_is_reviewed_or_replaced_by_one_executor(place: Path) -> None:
    large = msgspec.structs.replace(LABEL, size="L")
    world = World(place, **backlog(large))
    at = large.at
    world.agent("breakdown", at, exit=breakdown(backend=[FUNCTION]))
    blocker = {"type": "blocker", "reason": "needs_clarification", "description": "Which plural?"}
    world.agent("work", BACKEND, exit=blocker)
    world.agent("coordinate", at, exit=says("failing", "The plural is not said.", reason="needs_clarification"))
    world.agent("breakdown", at, exit={"type": "needs_human", "question": "One of us is enough?", "suggestion": "Yes."})

    end = world.run({f"{at}:review": ["approve", ("approve", "With an s.")], f"{at}:team-stuck": "single"})

    assert end.outcome == "Done", end.told
    assert end.steps(at) == [
        *STORY[:5],
        *["breakdown Breakdown", "coordinate failing.needs_clarification", "review approve", "scaffold pass_red"],
        *["breakdown needs_human", "team-stuck single", *STORY[5:]],
    ]
    assert end.outcomes[BACKEND] == "Blocked"
    assert "Which plural?" in end.prompt(f"{at}:coordinate#1.1")
    assert "Team coordination came back: needs_clarification.\n> The plural is not said." in end.ask(f"{at}:review")
    assert "> With an s." in end.prompt(f"{at}:scaffold#2.1")
    assert "One of us is enough?" in end.ask(f"{at}:team-stuck")
