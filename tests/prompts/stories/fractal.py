"""The fractal on its own example: what each of its roles is told, at every moment that makes a difference."""

from tests.prompts.stories.ledger import (
    APPROVED,
    BLOCKED,
    CHALLENGE,
    CONCLUDED,
    CRITIQUES,
    DRIFT,
    MERGE_REFUSED,
    MISSING,
    PLAN,
    QUESTION,
    RETRY,
    TREE,
    UNCLEAR,
    UNVERIFIED,
    changed,
    merge_of,
    passed,
    stuck,
)
from tests.prompts.story import Story
from treadle.protocol.items import Json
from treadle.protocol.load import load

FRACTAL = load("fractal")


def stories() -> list[Story]:
    """Every story, played."""
    return [
        leaf(),
        planning(),
        testing(),
        implementing(),
        reviewing(),
        repairing(),
        tree(),
        moved(),
        by_hand(),
        helped(),
    ]


def challenged(run: Story | None = None) -> Story:
    run = run or Story(FRACTAL).tells("root:planner", "InitLeaf", PLAN)
    return run.tells("root:test_author", "EmitChallenge", CHALLENGE)


def concluded() -> Story:
    run = challenged().tells("root:implementer", "TestPassed", passed())
    return run.tells("root:test_author", "ConcludeSuite", CONCLUDED)


def leaf() -> Story:
    """Everything goes well at once."""
    run = Story(FRACTAL).shows("root:planner", "planner-Plan-first").tells("root:planner", "InitLeaf", PLAN)
    challenged(run.shows("root:test_author", "test_author-first")).shows(
        "root:implementer", "implementer-Challenge-first"
    )
    run.tells("root:implementer", "TestPassed", passed(note="Cents are whole numbers now."))
    run.shows("root:test_author", "test_author-next").tells("root:test_author", "ConcludeSuite", CONCLUDED)
    return run.verdict("root:lock").shows("root:reviewer", "reviewer-PreCommit-first")


def planning() -> Story:
    """The planner asks, is refused, and plans again for each who cannot work with the plan."""
    run = Story(FRACTAL).tells("root:planner", "ClarificationNeeded", QUESTION).shows("root:clarify", "person-clarify")
    run.decides("root:clarify", "Clarified", "Yes.").shows("root:planner", "planner-Plan-clarified")
    report = "### build\n- `make build` ended with 2: src/ledger/__init__.py:3: invalid syntax"
    run.tells("root:planner", "InitLeaf", PLAN, refused=report).shows("root:planner", "planner-Plan-refused")
    run.tells("root:planner", "InitLeaf", PLAN).shows("root:test_author", "test_author-clarified")
    missing: dict[str, Json] = {"missingType": "Account", "expectedLocation": "src/ledger/__init__.py"}
    run.tells("root:test_author", "InvalidScaffold", missing).shows("root:planner", "planner-Plan-invalid-scaffold")
    challenged(run.tells("root:planner", "InitLeaf", PLAN)).shows("root:implementer", "implementer-Challenge-clarified")
    run.tells("root:implementer", "BlockedDependency", BLOCKED).shows("root:planner", "planner-Plan-blocked")
    challenged(run.tells("root:planner", "InitLeaf", PLAN)).tells("root:implementer", "SpecAmbiguity", UNCLEAR)
    run.shows("root:planner", "planner-Plan-ambiguous")
    challenged(run.tells("root:planner", "InitLeaf", PLAN))
    run.tells("root:implementer", "Stuck", stuck("SpecImpossible")).shows("root:planner", "planner-Plan-impossible")
    run.tells("root:planner", "InitLeaf", PLAN).tells("root:test_author", "EmitChallenge", CHALLENGE)
    run.tells("root:implementer", "TestPassed", passed()).tells("root:test_author", "ConcludeSuite", CONCLUDED)
    run.verdict("root:lock").shows("root:reviewer", "reviewer-PreCommit-clarified")
    run.tells("root:reviewer", "RequestChanges", CRITIQUES).shows("root:fix", "implementer-Critique-clarified")
    run.tells("root:fix", "BlockedDependency", BLOCKED).tells("root:planner", "SpawnTree", TREE)
    return merged(merged(leaves(run), "bookings"), "reports").shows("root:glue", "implementer-Glue-clarified")


def testing() -> Story:
    """The test author is refused until a person helps; the lock finds a gap."""
    run = Story(FRACTAL).tells("root:planner", "InitLeaf", PLAN)
    report = "### red_one\n- there are 2 new tests. Expected: exactly one"
    run.tells("root:test_author", "EmitChallenge", CHALLENGE, refused=report)
    run.shows("root:test_author", "test_author-refused")
    for _ in range(4):
        run.breaks("root:test_author", "invalid", "it ended without an answer")
    run.shows("root:stuck", "person-stuck-tests").decides("root:stuck", "retry", "One test for each kind of amount.")
    challenged(run.shows("root:test_author", "test_author-note")).tells("root:implementer", "TestPassed", passed())
    gap = "### coverage_complete\n- criterion AC-5 has no passing test. Expected: a test that stands for it"
    run.tells("root:test_author", "ConcludeSuite", CONCLUDED).verdict("root:lock", gap)
    return run.shows("root:test_author", "test_author-lock-failed")


def implementing() -> Story:
    """The implementer tries again, is refused, gives up in every way."""
    run = challenged().tells("root:implementer", "RequestRetry", RETRY)
    run.shows("root:implementer", "implementer-Challenge-retry")
    report = (
        "### green\n- tests/ledger/test_ledger.py::test_ten_times_ten_cents: assert 0.9999999999999999 == 1.0. "
        "Expected: it passes"
    )
    run.tells("root:implementer", "TestPassed", passed(), refused=report)
    run.shows("root:implementer", "implementer-Challenge-refused")
    run.tells("root:implementer", "Stuck", stuck("SkillCeiling")).shows(
        "root:implementer", "implementer-Challenge-stronger"
    )
    run.tells("root:implementer", "Stuck", stuck("InfiniteLoop")).shows(
        "root:implementer", "implementer-Challenge-afresh"
    )
    run.tells("root:implementer", "Stuck", stuck("ResourceExhausted")).shows("root:resources", "person-resources")
    run.decides("root:resources", "retry", "There is more memory now.")
    return run.shows("root:implementer", "implementer-Challenge-note")


def reviewing() -> Story:
    """The reviewer is refused, wants changes, then tests; the merge is refused."""
    run = concluded().verdict("root:lock")
    report = "### readonly\n- src/ledger/amount.py: was changed. Expected: no change at all"
    run.tells("root:reviewer", "Approve", APPROVED, refused=report).shows("root:reviewer", "reviewer-PreCommit-refused")
    run.tells("root:reviewer", "RequestChanges", CRITIQUES).shows("root:fix", "implementer-Critique-first")
    run.tells("root:fix", "ChangesMade", changed(note="One function converts now."))
    run.shows("root:test_author", "test_author-after-critique").tells("root:test_author", "ConcludeSuite", CONCLUDED)
    run.verdict("root:lock").shows("root:reviewer", "reviewer-PreCommit-answered")
    run.tells("root:reviewer", "Reject", MISSING).shows("root:test_author", "test_author-rejected")
    run.tells("root:test_author", "ConcludeSuite", CONCLUDED).verdict("root:lock")
    run.tells("root:reviewer", "Approve", APPROVED).tells("root:merger", "MergeRejected.Unverified", UNVERIFIED)
    run.shows("root:unverified", "person-unverified")
    run.decides("root:unverified", "retest", "Sorting is new, so a test can fail first.")
    run.shows("root:test_author", "test_author-unverified").tells("root:test_author", "ConcludeSuite", CONCLUDED)
    run.verdict("root:lock").tells("root:reviewer", "Approve", APPROVED)
    run.tells("root:merger", "MergeRejected.Unverified", UNVERIFIED)
    run.decides("root:unverified", "accept", "It holds already.")
    run.tells("root:merger", "MergeRejected", MERGE_REFUSED)
    run.shows("root:fix", "implementer-Critique-merge-refused")
    run.tells("root:fix", "BlockedDependency", BLOCKED).shows("root:planner", "planner-Plan-repair-blocked")
    return run


def repairing() -> Story:
    """A repair is tried again, given up, and brings the planner back; a critique comes from outside."""
    lint = "### lint\n- `make lint` ended with 1: src/ledger/amount.py:2: unused name"
    run = concluded().verdict("root:lock", lint).shows("root:fix", "implementer-Critique-lock-failed")
    run.tells("root:fix", "RequestRetry", RETRY).shows("root:fix", "implementer-Critique-retry")
    undone = "### no_undefined\n- src/ledger/amount.py:12: the body is not written. Expected: an implementation"
    run.tells("root:fix", "ChangesMade", changed(), refused=undone).shows("root:fix", "implementer-Critique-refused")
    run.tells("root:fix", "Stuck", stuck("SkillCeiling")).shows("root:fix", "implementer-Critique-stronger")
    run.tells("root:fix", "Stuck", stuck("SpecImpossible")).shows("root:planner", "planner-Plan-repair-impossible")
    challenged(run.tells("root:planner", "InitLeaf", PLAN)).tells("root:implementer", "TestPassed", passed())
    run.tells("root:test_author", "ConcludeSuite", CONCLUDED).verdict("root:lock", lint)
    run.tells("root:fix", "SpecAmbiguity", UNCLEAR).shows("root:planner", "planner-Plan-repair-ambiguous")
    challenged(run.tells("root:planner", "InitLeaf", PLAN)).tells("root:implementer", "TestPassed", passed())
    run.tells("root:test_author", "ConcludeSuite", CONCLUDED).verdict("root:lock")
    run.hears("SemanticCritique", "root", "Amounts of other currencies are added as if they were euros.")
    run.tells("root:reviewer", "Approve", APPROVED).shows("root:critique", "reviewer-Weigh-first")
    report = "### readonly\n- src/ledger/amount.py: was changed. Expected: no change at all"
    run.tells("root:critique", "Noted", {"reason": "The spec knows one currency."}, refused=report)
    run.shows("root:critique", "reviewer-Weigh-refused").tells("root:critique", "RequestChanges", CRITIQUES)
    return run.shows("root:fix", "implementer-Critique-outside")


def unfolded() -> Story:
    return leaves(Story(FRACTAL).tells("root:planner", "SpawnTree", TREE))


def leaves(run: Story) -> Story:
    for id_ in ("bookings", "reports"):
        run.tells(f"root/{id_}:planner", "InitLeaf", PLAN)
    return run


def merged(run: Story, id_: str, impact: str = "ADDITIVE") -> Story:
    at = f"root/{id_}"
    run.tells(f"{at}:test_author", "EmitChallenge", CHALLENGE)
    if any(place == f"{at}:rebase" for place in run.running()):
        run.tells(f"{at}:rebase", "RebaseClean", {"newBase": "c0ffee1"})
    run.tells(f"{at}:implementer", "TestPassed", passed()).tells(f"{at}:test_author", "ConcludeSuite", CONCLUDED)
    run.verdict(f"{at}:lock").tells(f"{at}:reviewer", "Approve", APPROVED)
    return run.tells(f"{at}:merger", "MergeComplete", merge_of(id_, impact))


def tree() -> Story:
    """A child asks; the children are merged; the node is glued and reviewed; the glue lacks something."""
    run = Story(FRACTAL).tells("root:planner", "SpawnTree", TREE).shows("root/bookings:planner", "planner-Plan-child")
    run.tells("root/bookings:planner", "ClarificationNeeded", QUESTION).shows("root:answer", "planner-Answer-first")
    answer: dict[str, Json] = {
        "answer": "A booking of 0.00 is refused.",
        "amendedCriteria": [
            {"id": "AC-2", "text": "A booking has a date, an amount above zero, a text, two accounts."}
        ],
    }
    report = "### readonly\n- src/ledger/money.py: was changed. Expected: no change at all"
    run.tells("root:answer", "Clarified", answer, refused=report).shows("root:answer", "planner-Answer-refused")
    run.tells("root:answer", "Clarified", answer).shows("root/bookings:planner", "planner-Plan-answered")
    run.tells("root/bookings:planner", "InitLeaf", PLAN).tells("root/reports:planner", "ClarificationNeeded", QUESTION)
    run.tells("root:answer", "ClarificationNeeded", QUESTION).shows("root:escalate", "person-escalate")
    run.decides("root:escalate", "Clarified", "Yes.").tells("root/reports:planner", "InitLeaf", PLAN)
    merged(merged(run, "bookings"), "reports").shows("root:glue", "implementer-Glue-first")
    green = "### green\n- tests/ledger/test_contract.py::test_a_year: NotImplementedError. Expected: it passes"
    run.tells("root:glue", "GlueComplete", changed(), refused=green).shows("root:glue", "implementer-Glue-refused")
    run.tells("root:glue", "BlockedDependency", BLOCKED).shows("root:planner", "planner-Plan-glue-blocked")
    run.tells("root:planner", "SpawnTree", TREE).tells(
        "root:glue", "GlueComplete", changed(note="The report asks the bookings for their days.")
    )
    run.verdict("root:lock").shows("root:reviewer", "reviewer-PreCommit-glue")
    run.tells("root:reviewer", "RequestChanges", CRITIQUES).shows("root:fix", "implementer-Critique-tree")
    run.tells("root:fix", "ChangesMade", changed()).verdict("root:lock").tells("root:reviewer", "Reject", MISSING)
    challenged(run.shows("root:test_author", "test_author-tree")).shows(
        "root:implementer", "implementer-Challenge-tree"
    )
    return run


def moved() -> Story:
    """A sibling's merge cannot be followed; a child is given up."""
    run = merged(unfolded(), "bookings", "BREAKING").tells("root/reports:test_author", "EmitChallenge", CHALLENGE)
    run.tells("root/reports:rebase", "RebaseDrift", DRIFT).shows("root/reports:rebaser", "rebaser-first")
    adapted: dict[str, Json] = {
        "newBase": "c0ffee1",
        "adaptations": [{"symbol": "book", "change": "passes an Amount", "reason": "its parameter has another type"}],
    }
    report = "### canon\n- src/ledger/bookings/__init__.py:3: book is not what bookings merged. Expected: theirs"
    run.tells("root/reports:rebaser", "RebaseAdapted", adapted, refused=report)
    run.shows("root/reports:rebaser", "rebaser-refused")
    conflict: dict[str, Json] = {
        "conflictFile": "src/ledger/reports/year.py",
        "ourChange": "Adds binary fractions.",
        "theirChange": "An amount is no number any more.",
        "whyUnresolvable": "How amounts are divided is nowhere said.",
    }
    run.tells("root/reports:rebaser", "RebaseConflict", conflict).shows("root/reports:planner", "planner-Plan-conflict")
    run.signals("abort", to="root/reports", data="").shows("root:lost_child", "person-lost_child")
    run.decides("root:lost_child", "replan", "Leave the report of a year out for now.")
    return run.shows("root:planner", "planner-Plan-lost-child")


def by_hand() -> Story:
    """People do what the agents do not manage."""
    silent = "it ended without an answer"
    run = Story(FRACTAL).tells("root:planner", "SpawnTree", TREE)
    run.tells("root/bookings:planner", "ClarificationNeeded", QUESTION)
    for _ in range(3):
        run.breaks("root:answer", "invalid", silent)
    run.shows("root:answer_by_hand", "person-answer_by_hand").decides("root:answer_by_hand", "retry", "Look at AC-2.")
    run.shows("root:answer", "planner-Answer-note").tells("root:answer", "ClarificationNeeded", QUESTION)
    run.decides("root:escalate", "Clarified", "Yes.")
    merged(leaves(run), "bookings").tells("root/reports:test_author", "EmitChallenge", CHALLENGE)
    run.tells("root/reports:rebase", "RebaseDrift", DRIFT)
    for _ in range(3):
        run.breaks("root/reports:rebaser", "invalid", silent)
    run.shows("root/reports:conflict", "person-conflict").decides("root/reports:conflict", "retry", "Take theirs.")
    return run.shows("root/reports:rebaser", "rebaser-note")


def helped() -> Story:
    """A person sets a reviewer and a repair going again."""
    run = concluded().verdict("root:lock")
    for _ in range(5):
        run.breaks("root:reviewer", "invalid", "it ended without an answer")
    run.shows("root:stuck", "person-stuck-review").decides("root:stuck", "retry", "One currency is all there is.")
    run.shows("root:reviewer", "reviewer-PreCommit-note").tells("root:reviewer", "RequestChanges", CRITIQUES)
    run.tells("root:fix", "Stuck", stuck("ResourceExhausted")).decides(
        "root:resources", "retry", "There is more memory."
    )
    return run.shows("root:fix", "implementer-Critique-note")
