"""DPTR on its own example: what each of its roles is told, at every moment that makes a difference."""

from tests.prompts.stories.amounts import (
    ACCEPTED,
    ARCHITECTURE,
    CRITIQUE,
    DESIGNED,
    DRIFT,
    GREEN,
    HEAD,
    ISSUE,
    MERGED,
    PLANNED,
    PROPOSAL,
    REBUILT,
    RED,
    REFACTORED,
    REFUSED,
    REJECT,
    REVISE,
    REVISED,
    ROLLED_BACK,
    WRITTEN,
    Values,
    reviewed,
)
from tests.prompts.story import Story, follow_branch
from treadle.protocol.load import load

DPTR = load("dptr")
MODULE = "root/amounts"
DESIGN, PLAN, BATCH = f"{MODULE}/design", f"{MODULE}/plan", f"{MODULE}/Batch1"
ONE, TWO = f"{BATCH}/TDD1", f"{BATCH}/TDD2"
FOLDED: Values = {"files": ["memory-bank/modules/amounts/design.md", "memory-bank/modules/amounts/tdd_plan.md"]}
FAILS = f"- {RED}: fails: assert 1 == 2"
DIFFERS = "### interface_exact\n- src/ledger/parse.py: parse has another signature than planned"
TOUCHED = "### readonly\n- src/ledger/parse.py: was changed. Expected: this step only reads; restore the file"


def stories() -> list[Story]:
    """Every story, played."""
    return [
        designing(),
        planning(),
        blocked(),
        cycle(),
        disputed(),
        regressions(),
        rounds(),
        drifting(),
        reviewing(),
        unfolded(),
        followed(),
    ]


def go(run: Story, at: str) -> Story:
    inst, _, step = at.rpartition(":")
    return run.signals("go", to=inst, step=step)


def lost(run: Story, at: str) -> Story:
    """An agent that is lost as often as it takes until a person is asked."""
    for _ in range(3):
        run.breaks(at, "crash", "the agent ended without an answer")
    return run


def designing() -> Story:
    """The architecture, and a module: refused, revised, rejected, with a person's word."""
    run = go(Story(DPTR), "root:architecture").shows("root:architecture", "design-Architecture-first")
    run.tells("root:architecture", "Architecture", ARCHITECTURE, refused=TOUCHED)
    go(run, "root:architecture").shows("root:architecture", "design-Architecture-refused").tells(
        "root:architecture", "Architecture", ARCHITECTURE
    )
    go(run, "root:audit").shows("root:audit", "design_critic-Architecture-first")
    run.tells("root:audit", "REVISE", REVISE, refused=TOUCHED)
    go(run, "root:audit").shows("root:audit", "design_critic-Architecture-refused")
    run.tells("root:audit", "REVISE", REVISE)
    go(run, "root:architecture").shows("root:architecture", "design-Architecture-revise")
    run.tells("root:architecture", "Architecture", ARCHITECTURE)
    go(run, "root:audit").tells("root:audit", "REJECT", REJECT).shows("root:rejected", "person-rejected-architecture")
    go(run.decides("root:rejected", "redesign", "One module rounds."), "root:architecture")
    run.shows("root:architecture", "design-Architecture-rejected").tells(
        "root:architecture", "Architecture", ARCHITECTURE
    )
    lost(go(run, "root:audit"), "root:audit").shows("root:halt", "person-halt")
    go(run.decides("root:halt", "retry", "Mind the rounding."), "root:audit")
    run.shows("root:audit", "design_critic-Architecture-note").tells("root:audit", "ACCEPT")
    return module(run)


def module(run: Story) -> Story:
    at, critic = f"{DESIGN}:design", f"{DESIGN}:critic"
    go(run, at).shows(at, "design-Module-first").tells(at, "Designed", DESIGNED, refused=TOUCHED)
    go(run, at).shows(at, "design-Module-refused").tells(at, "Designed", DESIGNED)
    go(run, critic).shows(critic, "design_critic-Module-first").tells(critic, "REVISE", REVISE, refused=TOUCHED)
    go(run, critic).shows(critic, "design_critic-Module-refused").tells(critic, "REVISE", REVISE)
    go(run, at).shows(at, "design-Module-revise").tells(at, "Designed", DESIGNED)
    go(run, critic).tells(critic, "REJECT", REJECT).shows(f"{DESIGN}:rejected", "person-rejected-module")
    run.decides(f"{DESIGN}:rejected", "redesign")
    go(run, at).shows(at, "design-Module-rejected").tells(at, "Designed", DESIGNED)
    go(run, critic).tells(critic, "REJECT", REJECT).decides(f"{DESIGN}:rejected", "abort")
    run.shows(f"{MODULE}:failed", "person-failed-module").decides(f"{MODULE}:failed", "abort")
    return run.shows("root:failed", "person-failed")


def designed() -> Story:
    """The plan of a module is due."""
    run = go(Story(DPTR), "root:architecture").tells("root:architecture", "Architecture", ARCHITECTURE)
    go(run, "root:audit").tells("root:audit", "ACCEPT")
    go(run, f"{DESIGN}:design").tells(f"{DESIGN}:design", "Designed", DESIGNED)
    go(run, f"{DESIGN}:critic").tells(f"{DESIGN}:critic", "ACCEPT")
    return run.tells(f"{MODULE}:take_design", "Folded", FOLDED)


def planning() -> Story:
    """Planner and critic argue; a person settles it; then the skeleton."""
    spec, critic, run = f"{PLAN}:spec", f"{PLAN}:critic", designed()
    report = (
        "### plan_sound\n- memory-bank/modules/amounts/tdd_plan.md:4: TDD2 and TDD1 share src/ledger/parse.py inside "
        "of Batch1. Expected: different batches, or different files"
    )
    run.shows(spec, "spec-first").tells(spec, "PC", PLANNED, refused=report).shows(spec, "spec-refused")
    run.tells(spec, "PC", PLANNED).shows(critic, "spec_critic-first")
    run.tells(critic, "NR", REVISE, refused=TOUCHED).shows(critic, "spec_critic-refused").tells(critic, "NR", REVISE)
    run.shows(spec, "spec-revise").tells(spec, "DG", {"arguments": ["The design names the error."]})
    run.shows(critic, "spec_critic-disagree").tells(critic, "DA", {"questions": ["Where does it?"]})
    run.shows(spec, "spec-asked").tells(spec, "PR", REVISED).shows(critic, "spec_critic-revised")
    run.tells(critic, "EN", {"reason": "We do not agree about one file."}).shows(f"{PLAN}:escalate", "person-escalate")
    run.decides(f"{PLAN}:escalate", "revise", "One file.").shows(spec, "spec-escalated").tells(spec, "PR", REVISED)
    run.tells(critic, "EN", {"reason": "Still not."}).decides(f"{PLAN}:escalate", "reconsider", "One file is enough.")
    run.shows(critic, "spec_critic-note").tells(critic, "PA", ACCEPTED).tells(f"{MODULE}:take_plan", "Folded", FOLDED)
    at = f"{MODULE}:phase0"
    return (
        run.shows(at, "de-Phase0-first")
        .tells(at, "P0C", {"commit": HEAD}, refused=DIFFERS)
        .shows(at, "de-Phase0-refused")
    )


def blocked() -> Story:
    """Who is blocked says why; and who is refused at every attempt."""
    run = designed().tells(f"{PLAN}:spec", "BL", {"message": "The design cannot be read."})
    run.shows(f"{PLAN}:halt", "person-halt-plan").decides(f"{PLAN}:halt", "retry", "It can now.")
    run.shows(f"{PLAN}:spec", "spec-note").tells(f"{PLAN}:spec", "PC", PLANNED).tells(f"{PLAN}:critic", "PA", ACCEPTED)
    run.tells(f"{MODULE}:take_plan", "Folded", FOLDED)
    run.tells(f"{MODULE}:phase0", "BL", {"message": "A file of that name is a folder."})
    run.shows(f"{MODULE}:halt", "person-halt-module").decides(f"{MODULE}:halt", "retry", "It is none now.")
    run.shows(f"{MODULE}:phase0", "de-Phase0-note")
    for _ in range(3):
        run.tells(f"{MODULE}:phase0", "P0C", {"commit": HEAD}, refused=DIFFERS)
    return run.shows(f"{MODULE}:halt", "person-halt-refused")


def at_red() -> Story:
    run = designed().tells(f"{PLAN}:spec", "PC", PLANNED).tells(f"{PLAN}:critic", "PA", ACCEPTED)
    return run.tells(f"{MODULE}:take_plan", "Folded", FOLDED).tells(f"{MODULE}:phase0", "P0C", {"commit": HEAD})


def both(run: Story, step: str, exit_: str, values: Values | None = None) -> Story:
    for at in (ONE, TWO):
        run.tells(f"{at}:{step}", exit_, values)
    return run


def at_refactoring() -> Story:
    return both(both(at_red(), "red", "RC", WRITTEN), "green", "GC", GREEN)


def at_review() -> Story:
    return both(both(at_refactoring(), "refactor_tests", "RTC", REFACTORED), "refactor_impl", "RIC", REBUILT)


def cycle() -> Story:
    """Everything goes well at once."""
    run = at_red().shows(f"{ONE}:red", "qa-R-first")
    both(run, "red", "RC", WRITTEN).shows(f"{ONE}:green", "de-RG-first")
    both(run, "green", "GC", GREEN).shows(f"{ONE}:refactor_tests", "qa-Rft-first")
    both(run, "refactor_tests", "RTC", REFACTORED).shows(f"{ONE}:refactor_impl", "de-Rfi-first")
    both(run, "refactor_impl", "RIC", REBUILT).shows(f"{ONE}:review_tests", "de-review_tests-first")
    return both(run, "review_tests", "APPROVED").shows(f"{ONE}:review_impl", "qa-review_impl-first")


def disputed() -> Story:
    """What is refused on the way to green, and a test that is disputed."""
    run = at_red().tells(f"{ONE}:red", "RC", WRITTEN, refused=f"### red\n- {RED}: is not red: it could not be imported")
    run.shows(f"{ONE}:red", "qa-R-refused").tells(f"{ONE}:red", "BL", {"message": "There is no test runner."})
    run.shows(f"{ONE}:halt", "person-halt-cycle").decides(f"{ONE}:halt", "retry", "There is one now.")
    both(run.shows(f"{ONE}:red", "qa-R-note"), "red", "RC", WRITTEN)
    at, adjust = f"{ONE}:green", f"{ONE}:adjust"
    run.tells(at, "GC", GREEN, refused=f"### green_own_and_baseline\n{FAILS}").shows(at, "de-RG-refused")
    run.tells(at, "TI", ISSUE).shows(adjust, "qa-TA-first").tells(
        adjust, "TA", WRITTEN, refused="### red\n- no new test fails"
    )
    run.shows(adjust, "qa-TA-refused").tells(adjust, "TA", WRITTEN).shows(at, "de-RG-adjusted")
    for _ in range(2):
        run.tells(at, "TI", ISSUE).tells(adjust, "TA", WRITTEN)
    run.tells(at, "TI", ISSUE).shows(f"{ONE}:disputed", "person-disputed")
    return run.decides(f"{ONE}:disputed", "implement", "The test is right.").shows(at, "de-RG-note")


def regressions() -> Story:
    """What breaks the suite is rolled back."""
    run = at_refactoring()
    for what, code, done in (("tests", "RTC", REFACTORED), ("impl", "RIC", REBUILT)):
        role, step = "qa-Rft" if what == "tests" else "de-Rfi", f"{ONE}:refactor_{what}"
        for number in range(3):
            run.tells(step, code, done, refused=f"### green\n{FAILS}")
            run.tells(f"{ONE}:rollback_{what}", "RolledBack", ROLLED_BACK)
            if number == 0:
                run.shows(step, f"{role}-rolled-back")
        run.shows(f"{ONE}:quality_{what}", f"person-quality_{what}")
        run.decides(f"{ONE}:quality_{what}", "accept").tells(f"{TWO}:refactor_{what}", code, done)
    return run.shows(f"{ONE}:review_tests", "de-review_tests-as-before")


def rounds() -> Story:
    """Reviews that want more, until a person takes the cycle or gives it up."""
    run = at_review().tells(f"{ONE}:review_tests", "APPROVED", None, refused=TOUCHED)
    run.shows(f"{ONE}:review_tests", "de-review_tests-refused")
    run.tells(f"{ONE}:review_tests", "NEEDS_CHANGE", PROPOSAL).tells(f"{TWO}:review_tests", "APPROVED")
    run.shows(f"{ONE}:review_impl", "qa-review_impl-needs-change")
    run.tells(f"{ONE}:review_impl", "APPROVED", {"message": "Clear."}, refused=TOUCHED)
    run.shows(f"{ONE}:review_impl", "qa-review_impl-refused").tells(
        f"{ONE}:review_impl", "APPROVED", {"message": "Clear."}
    )
    run.tells(f"{TWO}:review_impl", "NEEDS_CHANGE", PROPOSAL)
    run.shows(f"{ONE}:refactor_tests", "qa-Rft-tests-criticised").shows(
        f"{TWO}:refactor_tests", "qa-Rft-code-criticised"
    )
    both(run, "refactor_tests", "RTC", REFACTORED)
    run.shows(f"{ONE}:refactor_impl", "de-Rfi-tests-criticised").shows(f"{TWO}:refactor_impl", "de-Rfi-code-criticised")
    both(run, "refactor_impl", "RIC", REBUILT).shows(f"{TWO}:review_tests", "de-review_tests-proposal")
    both(run, "review_tests", "NEEDS_CHANGE", PROPOSAL)
    for _ in range(3):
        both(run, "review_impl", "NEEDS_CHANGE", REVISE)
        both(both(run, "refactor_tests", "RTC", REFACTORED), "refactor_impl", "RIC", REBUILT)
        both(run, "review_tests", "NEEDS_CHANGE", PROPOSAL)
    both(run, "review_impl", "NEEDS_CHANGE", REVISE).shows(f"{ONE}:quality", "person-quality")
    run.decides(f"{ONE}:quality", "adapt").shows(f"{ONE}:adapt", "de-adapt-criticised")
    run.tells(f"{ONE}:adapt", "BL", {"message": "We do not agree."}).decides(f"{ONE}:halt", "abort")
    run.decides(f"{TWO}:quality", "abort")
    return run.shows(f"{BATCH}:failed", "person-failed-batch")


def drifting() -> Story:
    """A cycle that no longer fits."""
    run = both(both(at_review(), "review_tests", "APPROVED"), "review_impl", "APPROVED")
    run.tells(f"{ONE}:fold", "MergeComplete", MERGED).tells(f"{TWO}:fold", "MergeRejected.IntegrationFailure", REFUSED)
    adapt = f"{TWO}:adapt"
    run.tells(f"{TWO}:rebase", "RebaseClean", {"newBase": HEAD}).shows(adapt, "de-adapt-first")
    run.tells(adapt, "RIC", REBUILT, refused=f"### green\n{FAILS}").shows(adapt, "de-adapt-refused")
    run.tells(adapt, "RIC", REBUILT).shows(f"{TWO}:refactor_tests", "qa-Rft-adapted")
    run.tells(f"{TWO}:refactor_tests", "RTC", REFACTORED).shows(f"{TWO}:refactor_impl", "de-Rfi-adapted")
    run.tells(f"{TWO}:refactor_impl", "RIC", REBUILT)
    run.tells(f"{TWO}:review_tests", "APPROVED").tells(f"{TWO}:review_impl", "APPROVED")
    run.tells(f"{TWO}:fold", "MergeRejected.IntegrationFailure", REFUSED).tells(f"{TWO}:rebase", "RebaseDrift", DRIFT)
    run.shows(f"{TWO}:quality", "person-quality-drift").decides(f"{TWO}:quality", "adapt", "Keep the comma.")
    run.shows(adapt, "de-adapt-note").tells(adapt, "TI", ISSUE).shows(f"{TWO}:refactor_tests", "qa-Rft-at-fault")
    run.tells(f"{TWO}:refactor_tests", "RTC", REFACTORED).tells(f"{TWO}:refactor_impl", "RIC", REBUILT)
    run.tells(f"{TWO}:review_tests", "APPROVED").tells(f"{TWO}:review_impl", "APPROVED")
    run.tells(f"{TWO}:fold", "MergeRejected.IntegrationFailure", REFUSED).tells(f"{TWO}:rebase", "RebaseDrift", DRIFT)
    run.decides(f"{TWO}:quality", "retry", "Keep the comma.")
    return run.shows(f"{TWO}:refactor_tests", "qa-Rft-note")


def built(run: Story, module: str) -> Story:
    """A module is given up to here by the shortest way: everything is folded."""
    for at in (f"{module}/Batch1/TDD1", f"{module}/Batch1/TDD2"):
        run.tells(f"{at}:fold", "MergeComplete", MERGED)
    run.verdict(f"{module}/Batch1:suite").tells(f"{module}/Batch1:fold", "MergeComplete", MERGED)
    return run.verdict(f"{module}:suite").tells(f"{module}:fold", "MergeComplete", MERGED)


def a_module(run: Story, name: str) -> Story:
    """One module from its design to its fold."""
    at = f"root/{name}"
    go(run, f"{at}/design:design").tells(f"{at}/design:design", "Designed", DESIGNED)
    go(run, f"{at}/design:critic").tells(f"{at}/design:critic", "ACCEPT").tells(f"{at}:take_design", "Folded", FOLDED)
    run.tells(f"{at}/plan:spec", "PC", PLANNED).tells(f"{at}/plan:critic", "PA", ACCEPTED)
    run.tells(f"{at}:take_plan", "Folded", FOLDED).tells(f"{at}:phase0", "P0C", {"commit": HEAD})
    course: list[tuple[str, str, Values | None]] = [
        ("red", "RC", WRITTEN),
        ("green", "GC", GREEN),
        ("refactor_tests", "RTC", REFACTORED),
        ("refactor_impl", "RIC", REBUILT),
        ("review_tests", "APPROVED", None),
        ("review_impl", "APPROVED", None),
    ]
    for step, exit_, values in course:
        for cycle_ in ("TDD1", "TDD2"):
            run.tells(f"{at}/Batch1/{cycle_}:{step}", exit_, values)
    return built(run, at)


def reviewing() -> Story:
    """The whole, reviewed: refused, deviating, reviewed again, reworked, and not delivered."""
    run = go(Story(DPTR), "root:architecture").tells("root:architecture", "Architecture", ARCHITECTURE)
    go(run, "root:audit").tells("root:audit", "ACCEPT")
    for name in ("amounts", "statements", "summary"):
        a_module(run, name)
    run.verdict("root:suite", f"### green\n{FAILS}").shows("root:broken", "person-broken").decides(
        "root:broken", "retry"
    )
    go(run.verdict("root:suite"), "root:review").shows("root:review", "review-first")
    run.tells("root:review", "Reviewed", reviewed("DF", "QP"), refused=TOUCHED)
    go(run, "root:review").shows("root:review", "review-refused")
    run.tells("root:review", "Reviewed", reviewed("DF", "QP")).shows("root:deviations", "person-deviations")
    go(run.decides("root:deviations", "review", "AM-2 is met by exact."), "root:review")
    run.shows("root:review", "review-note").tells("root:review", "Reviewed", reviewed("DF", "QF"))
    run.decides("root:deviations", "accept").tells("root:deliver", "MergeRejected.IntegrationFailure", REFUSED)
    return run.shows("root:undeliverable", "person-undeliverable")


def unfolded() -> Story:
    """What a batch and a module may fail at; and a rework after the review."""
    run = both(both(at_review(), "review_tests", "APPROVED"), "review_impl", "APPROVED")
    for at in (ONE, TWO):
        run.tells(f"{at}:fold", "MergeComplete", MERGED)
    run.verdict(f"{BATCH}:suite", f"### green\n{FAILS}").shows(f"{BATCH}:broken", "person-broken-batch")
    run.decides(f"{BATCH}:broken", "retry").verdict(f"{BATCH}:suite")
    run.tells(f"{BATCH}:fold", "MergeRejected.IntegrationFailure", REFUSED).shows(
        f"{BATCH}:unfolded", "person-unfolded-batch"
    )
    run.decides(f"{BATCH}:unfolded", "retry").tells(f"{BATCH}:fold", "MergeComplete", MERGED)
    run.verdict(f"{MODULE}:suite").tells(f"{MODULE}:fold", "MergeComplete", MERGED)
    for name in ("statements", "summary"):
        a_module(run, name)
    go(run.verdict("root:suite"), "root:review").tells(
        "root:review", "Reviewed", {**reviewed("DF", "QF"), "findings": [CRITIQUE]}
    )
    go(run.decides("root:deviations", "rework", "A module for rounding."), "root:architecture")
    return run.shows("root:architecture", "design-Architecture-rework")


def followed() -> Story:
    """The branch has moved when the result is delivered."""
    run = go(Story(DPTR), "root:architecture").tells("root:architecture", "Architecture", ARCHITECTURE)
    go(run, "root:audit").tells("root:audit", "ACCEPT")
    for name in ("amounts", "statements", "summary"):
        a_module(run, name)
    go(run.verdict("root:suite"), "root:review").tells("root:review", "Reviewed", reviewed("VC", "QP"))
    return follow_branch(run.tells("root:deliver", "MergeComplete", MERGED))
