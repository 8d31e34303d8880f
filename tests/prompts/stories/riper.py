"""RIPER on its own example: what each of its modes is told, at every moment that makes a difference."""

from typing import Any, Final

from tests.prompts.story import ADAPTED, Story, follow_branch
from treadle.protocol.items import Json
from treadle.protocol.load import load

RIPER: Final = load("riper")
CYCLE: Final = "root/TDD1"
SIGNATURE: Final = "links(text: str) -> list[Link]"
DESIGN: Final[dict[str, Json]] = {
    "message": "Two modules, no state.",
    "architecture_design": "# Architecture\n`links` finds, `resolve` decides, `report` prints.\n",
    "module_specifications": f"# Modules\n## links\n`{SIGNATURE}` (LI-1, LI-2)\n## report\n`report(broken)` (RP-1)\n",
    "tech_stack": "# Technology\nNothing beyond the standard library.\n",
    "modules": [
        {
            "name": "report",
            "description": "Prints what is broken.",
            "criteria": [{"id": "RP-1", "text": "Each broken link is printed with its file and line."}],
        }
    ],
}
PLAN: Final = "Batch1: (parallel 1)\n□ TDD1: Find links (links) → ℜ→ℜᴳ→ℜᶠ [files: src/links, tests/links]\n"
PLANNED: Final[dict[str, Json]] = {"tdd_plan": PLAN, "plan": {"batches": [], "execution_checklist": []}}
FAULT: Final[Json] = {"where": "TDD1", "issue": "LI-2 has no cycle.", "requiredFix": "A cycle for code blocks."}
ONE: Final[dict[str, Json]] = {
    "id": "TDD1",
    "title": "Find links",
    "methods": ["links"],
    "interface": SIGNATURE,
    "files": ["src/links", "tests/links"],
    "after": [],
    "criteria": ["LI-1", "LI-2"],
    "level": "unit",
    "module": "links",
    "design": "memory-bank/systemPatterns/module_specifications.md",
    "plan": "memory-bank/tdd_plan.md",
}
ACCEPTED: Final[dict[str, Json]] = {
    "message": "I would execute it.",
    "cycles": [ONE],
    "execution_checklist": [{"id": "1", "text": "every error named in the design has a test"}],
}
RED: Final[dict[str, Json]] = {
    "message": "Two tests fail.",
    "tests": ["links::fenced", "links::inline"],
    "commit": "91ce5b0",
}
GREEN: Final[dict[str, Json]] = {
    "message": "Both pass.",
    "passedTests": ["links::fenced", "links::inline"],
    "advice": ["src/links: shout is new and nothing uses it. Expected: a test, or no such name"],
    "commit": "b7730de",
}
TESTS: Final[dict[str, Json]] = {
    "message": "One helper less.",
    "passedTests": ["links::fenced", "links::inline"],
    "lineCoverage": ["src/links: 12 of 14 lines, as before"],
    "commit": "c0ffee1",
}
CODE: Final[dict[str, Json]] = {**TESTS, "message": "Smaller functions.", "advice": ["src/links:4: unused name"]}
MERGED: Final[dict[str, Json]] = {"mergeCommit": "c0ffee2", "newParentHead": "c0ffee2"}
PASSED: Final[dict[str, Json]] = {
    "verdict": "Passed",
    "report": "# Validation\nAll is as planned.\n",
    "passedTests": ["links::fenced"],
    "failedTests": [],
}
FAILED: Final[dict[str, Json]] = {
    **PASSED,
    "verdict": "Failed",
    "findings": [{"where": "src/links", "issue": "A link in a heading is lost.", "requiredFix": "Find it."}],
}
ANALYSIS: Final[dict[str, Json]] = {
    "message": "The test is wrong.",
    "classification": "QA",
    "failedGate": "GREEN_GATE",
    "rootCause": "The test wants a link inside of a code block.",
    "options": ["Plan the cycle again without that test."],
    "failure_analysis": "# Failure analysis\nThe test contradicts LI-2.\n",
    "passedTests": [],
    "failedTests": ["links::fenced"],
}
WROTE: Final = "### readonly\n- src/links: was changed. Expected: this step only reads; restore the file"
GUARDED: Final = (
    "### protection\n- contracts/links.txt: is protected (Ψ5). Expected: a person confirms the change, or you restore "
    "the file"
)


def stories() -> list[Story]:
    """Every story, played."""
    return [
        whole(),
        design(),
        modules(),
        plan(),
        stopped(),
        protected(),
        failed(),
        findings(),
        undeliverable(),
        empty(),
        followed(),
    ]


def designed() -> Story:
    return Story(RIPER).signals("go", step="O1P").tells("root:O1P", "Designed", DESIGN)


def audited() -> Story:
    run = designed().tells("root:O2A", "ACCEPT", {"message": "I found nothing."})
    for module in ("links", "resolve", "report"):
        run.tells(f"root/{module}:audit", "ACCEPT")
    return run


def planned() -> Story:
    return audited().tells("root:O3P", "PC", {"message": "One cycle.", **PLANNED}).tells("root:O4C", "PA", ACCEPTED)


def executed(run: Story) -> Story:
    """A cycle in which nothing goes wrong."""
    told: list[tuple[str, str, dict[str, Any]]] = [
        ("red", "RC", RED),
        ("green", "GC", GREEN),
        ("test", "RTC", TESTS),
        ("impl", "RIC", CODE),
        ("qa_cross_review", "RFC", {"message": "The code does what the design says."}),
        ("de_cross_review", "RFC", {}),
    ]
    for step, exit_, values in told:
        run.tells(f"{CYCLE}:{step}", exit_, values)
    run.verdict(f"{CYCLE}:interface_check").verdict(f"{CYCLE}:integration_test")
    return run.tells(f"{CYCLE}:fold", "MergeComplete", MERGED)


def whole() -> Story:
    """Everything goes well at once."""
    run = Story(RIPER).signals("go", step="O1P").shows("root:O1P", "architect-first")
    run.tells("root:O1P", "Designed", DESIGN).shows("root:O2A", "devil-Architecture-first").tells("root:O2A", "ACCEPT")
    run.shows("root/links:audit", "devil-Module-first")
    for module in ("links", "resolve", "report"):
        run.tells(f"root/{module}:audit", "ACCEPT")
    run.shows("root:O3P", "planner-first").tells("root:O3P", "PC", {"message": "One cycle.", **PLANNED})
    run.shows("root:O4C", "plan_critic-first").tells("root:O4C", "PA", ACCEPTED)
    run.shows(f"{CYCLE}:red", "qa-R-first").tells(f"{CYCLE}:red", "RC", RED)
    run.shows(f"{CYCLE}:green", "de-RG-first").tells(f"{CYCLE}:green", "GC", GREEN)
    run.shows(f"{CYCLE}:test", "qa-Rft-first").tells(f"{CYCLE}:test", "RTC", TESTS)
    run.shows(f"{CYCLE}:impl", "de-Rfi-first").tells(f"{CYCLE}:impl", "RIC", CODE)
    run.shows(f"{CYCLE}:qa_cross_review", "qa-cross_review-first")
    run.tells(f"{CYCLE}:qa_cross_review", "RFC", {"message": "The code does what the design says."})
    run.shows(f"{CYCLE}:de_cross_review", "de-cross_review-first").tells(f"{CYCLE}:de_cross_review", "RFC")
    run.verdict(f"{CYCLE}:interface_check").verdict(f"{CYCLE}:integration_test")
    return run.tells(f"{CYCLE}:fold", "MergeComplete", MERGED).shows("root:O6V", "validator-Validate-first")


def design() -> Story:
    """The architecture is to be revised, and the devil's advocate writes where it may not."""
    run = designed().tells("root:O2A", "REVISE", {"message": "Nearly.", "critiques": [FAULT]})
    run.signals("go", step="O1P").shows("root:O1P", "architect-revise").tells("root:O1P", "Designed", DESIGN)
    run.tells("root:O2A", "ACCEPT", refused=WROTE).shows("root:stopped", "person-stopped")
    run.decides("root:stopped", "retry", "Read only.").shows("root:O2A", "devil-Architecture-refused")
    run.tells("root:O2A", "ACCEPT").tells("root/links:audit", "ACCEPT", refused=WROTE)
    run.decides("root/links:stopped", "retry").shows("root/links:audit", "devil-Module-refused")
    return run


def modules() -> Story:
    """Modules of the brief and of the design are to be revised."""
    run = designed().tells("root:O2A", "ACCEPT")
    run.tells("root/links:audit", "REVISE", {"critiques": [FAULT]}).tells("root/resolve:audit", "ACCEPT")
    run.signals("go", step="O1P").shows("root:O1P", "architect-revise-modules").tells("root:O1P", "Designed", DESIGN)
    run.tells("root:O2A", "ACCEPT").tells("root/links~2:audit", "ACCEPT").tells("root/resolve~2:audit", "ACCEPT")
    run.tells("root/report:audit", "REVISE", {"critiques": [FAULT]}).signals("go", step="O1P")
    run.shows("root:O1P", "architect-revise-found").tells("root:O1P", "Designed", DESIGN, refused=WROTE)
    run.decides("root:stopped", "retry", "Return it.").signals("go", step="O1P")
    return run.shows("root:O1P", "architect-refused")


def plan() -> Story:
    """Planner and critic revise, disagree, and are helped."""
    run = (
        audited()
        .tells("root:O3P", "PC", PLANNED)
        .tells("root:O4C", "NR", {"message": "One fault.", "critiques": [FAULT]})
    )
    run.shows("root:O3P", "planner-revise")
    run.tells("root:O3P", "PR", {"message": "Mended.", "objections": ["One cycle suffices."], **PLANNED})
    run.shows("root:O4C", "plan_critic-revised").tells("root:O4C", "NR", {"critiques": [FAULT]})
    run.tells("root:O3P", "DG", {"arguments": ["LI-2 is served by TDD1."]}).shows("root:O4C", "plan_critic-disagree")
    run.tells("root:O4C", "EN", {"reason": "Whether one cycle may serve two criteria."})
    run.shows("root:escalate", "person-escalate").decides("root:escalate", "revise", "It may.")
    run.shows("root:O3P", "planner-escalated").tells("root:O3P", "PC", PLANNED, refused=WROTE)
    run.decides("root:stopped", "retry").shows("root:O3P", "planner-refused").tells("root:O3P", "PC", PLANNED)
    run.tells("root:O4C", "PA", ACCEPTED, refused=WROTE).decides("root:stopped", "retry", "Read only.")
    return run.shows("root:O4C", "plan_critic-refused")


def stopped() -> Story:
    """An audit breaks."""
    run = designed().tells("root:O2A", "ACCEPT")
    return run.breaks("root/links:audit", "blocked", "it may not start").shows(
        "root/links:stopped", "person-stopped-audit"
    )


def protected() -> Story:
    """Every step of a cycle that writes touches what is protected."""
    run = planned()
    for step, exit_, values, who in [
        ("red", "RC", RED, "qa-R"),
        ("green", "GC", GREEN, "de-RG"),
        ("test", "RTC", TESTS, "qa-Rft"),
        ("impl", "RIC", CODE, "de-Rfi"),
    ]:
        run.tells(f"{CYCLE}:{step}", exit_, values, refused=GUARDED)
        if step == "red":
            run.shows(f"{CYCLE}:confirm", "person-confirm")
        run.decides(f"{CYCLE}:confirm", "confirm", "This once.").shows(f"{CYCLE}:{step}", f"{who}-confirmed")
        run.tells(f"{CYCLE}:{step}", exit_, values)
    return run


def failed() -> Story:
    """A cycle fails; it is analysed, and planned or designed anew."""
    issue: Json = {"test": "links::fenced", "issue": "It contradicts LI-2.", "suggestion": "Drop it."}
    run = planned().tells(f"{CYCLE}:red", "RC", RED).tells(f"{CYCLE}:green", "TI", {"issues": [issue]})
    run.shows("root:O6V_failed", "validator-Failed-first")
    run.tells("root:O6V_failed", "FailureReport", ANALYSIS, refused=WROTE).decides(
        "root:stopped", "retry", "Read only."
    )
    run.shows("root:O6V_failed", "validator-Failed-refused").tells("root:O6V_failed", "FailureReport", ANALYSIS)
    run.shows("root:manual", "person-manual").decides("root:manual", "redesign", "Without code blocks.")
    run.signals("go", step="O1P").shows("root:O1P", "architect-after-failure").tells("root:O1P", "Designed", DESIGN)
    run.tells("root:O2A", "ACCEPT")
    for module in ("links~2", "resolve~2", "report~2"):
        run.tells(f"root/{module}:audit", "ACCEPT")
    return run.shows("root:O3P", "planner-after-failure")


def findings() -> Story:
    """The validator is not content, and then not believed."""
    run = executed(planned()).tells("root:O6V", "Validated.Failed", FAILED).shows("root:findings", "person-findings")
    run.decides("root:findings", "validate", "Headings are out of scope.").shows("root:O6V", "validator-Validate-note")
    run.tells("root:O6V", "Validated.Passed", PASSED, refused=WROTE).shows("root:findings", "person-findings-refused")
    run.decides("root:findings", "validate").shows("root:O6V", "validator-Validate-refused")
    run.tells("root:O6V", "Validated.Failed", FAILED).decides("root:findings", "replan", "Mind headings.")
    run.shows("root:O3P", "planner-findings").tells("root:O3P", "PR", PLANNED).tells("root:O4C", "PA", ACCEPTED)
    run.tells("root:O6V", "Validated.Failed", FAILED).decides("root:findings", "redesign")
    return run.signals("go", step="O1P").shows("root:O1P", "architect-findings")


def undeliverable() -> Story:
    """The result does not fit the branch any more."""
    run = executed(planned()).tells("root:O6V", "Validated.Passed", PASSED)
    refused: dict[str, Json] = {
        "reason": "IntegrationFailure",
        "details": "src/links is in conflict",
        "failingTests": [],
    }
    return run.tells("root:deliver", "MergeRejected.IntegrationFailure", refused).shows(
        "root:undeliverable", "person-undeliverable"
    )


def empty() -> Story:
    """The accepted plan has no cycles."""
    run = audited().tells("root:O3P", "PC", PLANNED).tells("root:O4C", "PA", {**ACCEPTED, "cycles": []})
    return run.shows("root:empty_plan", "person-empty_plan")


def followed() -> Story:
    """The branch has moved when the result is delivered; an adaptation touches what is protected."""
    run = (
        executed(planned()).tells("root:O6V", "Validated.Passed", PASSED).tells("root:deliver", "MergeComplete", MERGED)
    )
    follow_branch(run).tells("root:adapt", "RebaseAdapted", ADAPTED, refused=GUARDED)
    return run.shows("root:confirm", "person-confirm-adapted")
