"""Where a story of the waterfall needs a person: spent attempts, time, questions, loops, and what may be skipped."""

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.waterfall import LABEL, NFR, PRICE, SPECIFIED, STORY, backlog, failing, says
from tests.end_to_end.world import Answer, Move, World
from tests.fakes import StillClock
from treadle.runtime.world import SystemClock

pytestmark = pytest.mark.soak


def test_attempts_time_questions_and_crashes_end_with_a_person(place: Path) -> None:
    clock = StillClock(SystemClock().now())
    world = World(place, clock=clock, **backlog())
    at = LABEL.at
    for _ in range(3):
        world.agent("bdd", at, exit=failing("none", "I do not know the shop."))
    question = {"type": "needs_human", "question": "Is a shop a module?", "suggestion": "No."}
    world.agent("sdd-delta", at, exit=question)
    world.agent("contract", at, misbehave="hang")
    world.agent("update-memory", at, misbehave="crash")
    passing: list[asyncio.Future[None]] = []

    async def too_long() -> None:
        while not world.cast.state.insts[at].visits.get("stuck-contract"):  # it may be left again before we look
            await clock.advance(60)
            await asyncio.sleep(0.05)

    end = world.run(
        {
            f"{at}:stuck": [("retry", "It names things."), ("retry", "It is none.")],
            f"{at}:stuck-contract": ("skip", "There is no interface."),
            f"{at}:review": "approve",
            f"{at}:stuck-update-memory": "skip",
        },
        moves=[Move((f"{at}:contract#1.1",), lambda _: passing.append(asyncio.ensure_future(too_long())))],
    )

    assert end.outcome == "Done", end.told
    assert end.steps(at) == [
        *["bdd failing.none", "bdd failing.none", "bdd !exhausted"],
        *["stuck retry", "bdd pass_bdd", "sdd-delta needs_human", "stuck retry", "sdd-delta pass"],
        *["contract !timeout", "stuck-contract skip", "review approve", *STORY[4:8]],
        *["update-memory !crash", "stuck-update-memory skip", "merge MergeComplete"],
    ]
    assert " attempt 3 of 3. " in end.prompt(f"{at}:bdd#1.3")
    assert " from a person\n> It names things." in end.prompt(f"{at}:bdd#2.1")
    assert " from a person\n> It is none." in end.prompt(f"{at}:sdd-delta#2.1")
    assert "sdd-delta says:\n> question: Is a shop a module?\n> suggestion: No." in end.ask(f"{at}:stuck")
    assert "SDD delta: " in end.ask(f"{at}:review")
    assert "API contract: " not in end.ask(f"{at}:review"), "who was skipped has nothing to tell"


def test_verification_and_implementation_do_not_go_on_for_ever(place: Path) -> None:
    """A7: three times back, and then a person is asked; who gives the story up gives up nothing else."""
    world = World(place, **backlog(LABEL, PRICE))
    for _ in range(4):
        world.agent("verify", LABEL.at, exit=failing("none", "The plural is missing."))

    end = world.run(
        {
            f"{LABEL.at}:review": "approve",
            f"{PRICE.at}:review": "approve",
            f"{LABEL.at}:verify-rework": Answer("abort", after=(PRICE.at,)),
            "root:unfinished": "deliver",
        }
    )

    assert end.outcome == "Partial", end.told
    assert end.outcomes == {"root": "Partial", LABEL.at: "Aborted", PRICE.at: "Done"}
    back = ["verify failing_measured.none", "impl pass_green"]
    assert end.steps(LABEL.at) == [*STORY[:6], *back * 3, "verify failing_measured.none", "verify-rework abort"]
    assert "The plural is missing." in end.ask(f"{LABEL.at}:verify-rework")
    assert "US-1" in end.ask("root:unfinished")
    assert PRICE.file in end.files()
    assert LABEL.file not in end.files(), "nothing of what was given up is delivered"


def test_a_threshold_that_is_not_kept_is_for_the_implementation(place: Path) -> None:
    """Whoever verifies writes no code: what its tools find goes to whoever does, and a person is not needed."""
    told = backlog()
    tool = "`grep -c plural src/shop/labels.py`"
    row = f"| PERF-01 | The plural is remembered | lines | >= 1 | labels | {tool} | P1 |\n"
    world = World(place, **{**told, "files": {**told["files"], NFR: told["files"][NFR] + row}})
    at = LABEL.at
    world.agent("bdd", at, write={LABEL.bdd_file: LABEL.bdd(tags=" @perf(PERF-01)")}, exit=SPECIFIED)
    forgetful = LABEL.code().replace(LABEL.text, "Things are named.")
    world.agent("impl", at, write={LABEL.file: forgetful}, exit=says("pass", "Not yet."))

    end = world.run({f"{at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert end.steps(at) == [*STORY[:6], "verify !gate.thresholds", *STORY[5:]]
    assert f"Thresholds:\n- PERF-01: lines >= 1; measured by {tool}" in end.ask(f"{at}:review")
    assert "docs/nfr.md:4: PERF-01 is not kept" in end.prompt(f"{at}:impl#2.1")


def test_every_false_claim_of_a_step_is_refused_and_mended(place: Path) -> None:
    """Each step claims too much once; what is wrong is said, and the next attempt mends it."""
    world = World(place, **backlog())
    at, token = LABEL.at, "ghp_" + "a1B2" * 9
    asked = says("pass", clarifications=[], risks=[])
    world.agent(
        "bdd", at, write={LABEL.bdd_file: LABEL.bdd("[NEEDS CLARIFICATION: none?]").replace("MUST", "will")}, exit=asked
    )
    world.agent("sdd-delta", at, write={LABEL.delta_file: "# Delta\n## ADDED\n- x\n"}, exit=says("pass"))
    other = LABEL.openapi().replace("it lives", "it is well")
    world.agent("contract", at, write={"docs/api/openapi.yaml": other}, exit=says("pass"))
    leak = {LABEL.test_file: LABEL.tests(more=f"\n\nTOKEN = '{token}'\n"), LABEL.bdd_file: LABEL.bdd("Anything.")}
    world.agent("scaffold", at, write=LABEL.scaffold() | leak, exit=says("pass"))
    weaker = {LABEL.test_file: LABEL.tests("label(1, 'cup')"), LABEL.file: LABEL.code("return 'cup'")}
    world.agent("impl", at, write=weaker, exit=says("pass"))
    mended = {LABEL.test_file: LABEL.tests(), LABEL.file: LABEL.code()}
    world.agent("impl", at, write=mended, exit=says("pass"))
    world.agent("verify", at, exit=says("pass", completeness="yes", correctness="yes", coherence="yes"))
    world.agent("update-memory", at, write={"PROJECT_MEMORY.md": "New.\n", "docs/sdd.md": "New.\n"}, exit=says("pass"))

    end = world.run({f"{at}:review": "approve"})

    assert end.outcome == "Done", end.told
    refused = {
        "bdd": ["does not say how much it demands", "[NEEDS CLARIFICATION: none?] is not among the clarifications"],
        "sdd-delta": ["has no section MODIFIED", "has no section REMOVED"],
        "contract": ["paths /health was changed, and the delta does not name it"],
        "scaffold": ["looks like a GitHub token", "was reviewed, and says something else now"],
        "impl": ["belongs to the tests and was modified"],
        "verify": [f"`{LABEL.function}` (ADDED) is not in docs/sdd.md"],
        "update-memory": ["docs/sdd.md: this role may not write here"],
    }
    missing = [
        (step, one) for step, said in refused.items() for one in said if one not in end.refusals(f"{at}:{step}#1.1")
    ]
    assert missing == [], end.told
    assert "is not in docs/sdd.md" in end.prompt(f"{at}:verify#1.2"), "and the next attempt is told"
