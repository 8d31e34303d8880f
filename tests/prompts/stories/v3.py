"""V3 on its own example: what each of its roles is told, at every moment that makes a difference."""

from tests.prompts.stories.slug import (
    APPROVED,
    DRIFT,
    HEAD,
    MORE,
    QUESTION,
    REFUSED_MERGE,
    RETRY,
    STUCK,
    TREE,
    UNVERIFIED,
    accepted,
    green,
    merge_of,
    of_child,
    plan,
    red,
)
from tests.prompts.story import Story
from treadle.protocol.items import Json
from treadle.protocol.load import load

V3 = load("v3")


def stories() -> list[Story]:
    """Every story, played."""
    return [
        leaf(),
        planning(),
        testing(),
        implementing(),
        spent(),
        reviewing(),
        tree(),
        moved(),
        sent_back(),
        by_hand(),
    ]


def at_review() -> Story:
    run = Story(V3).tells("root:scaffold", "InitWork", plan())
    return run.tells("root:tests", "TestsReady", red()).tells("root:impl", "TestsPassed", green())


def leaf() -> Story:
    """Everything goes well at once."""
    run = Story(V3).shows("root:scaffold", "planner-Scaffold-first").tells("root:scaffold", "InitWork", plan())
    run.shows("root:tests", "tdd-WriteTests-first").tells("root:tests", "TestsReady", red())
    run.shows("root:impl", "impl-first").tells("root:impl", "TestsPassed", green())
    return run.shows("root:review", "tdd-ReviewImpl-first")


def planning() -> Story:
    """The planner asks, is refused, and plans again for each who cannot work with the plan."""
    run = Story(V3).tells("root:scaffold", "ClarificationNeeded", QUESTION).shows("root:clarify", "person-clarify")
    run.decides("root:clarify", "Clarified", "ß becomes ss.").shows("root:scaffold", "planner-Scaffold-clarified")
    report = (
        "### plan_covers_criteria\n- criterion AC-5 is in no planned test and no child has it. Expected: a test or a "
        "child for it"
    )
    run.tells("root:scaffold", "InitWork", plan(), refused=report)
    run.shows("root:scaffold", "planner-Scaffold-refused").tells("root:scaffold", "InitWork", plan())
    missing: dict[str, Json] = {"missingType": "EmptyTitle", "expectedLocation": "src/slug/__init__.py"}
    run.tells("root:tests", "InvalidScaffold", missing).shows("root:scaffold", "planner-Scaffold-invalid-scaffold")
    run.tells("root:scaffold", "InitWork", plan()).shows("root:tests", "tdd-WriteTests-clarified")
    run.tells("root:tests", "TestsReady", red()).shows("root:impl", "impl-clarified")
    blocked: dict[str, Json] = {
        "missingSymbol": "transliterate",
        "expectedImportPath": "src/text/transliterate.py",
        "foundAt": [],
    }
    run.tells("root:impl", "BlockedDependency", blocked).shows("root:scaffold", "planner-Scaffold-blocked")
    run.tells("root:scaffold", "InitWork", plan()).tells("root:tests", "TestsReady", red())
    unclear: dict[str, Json] = {
        "specSentence": "A slug has at most 60 characters and is never cut inside of a word that would fit by itself.",
        "contradictionTrace": "A title of one word of 70 letters: it does not fit, so AC-3's test forbids it.",
        "question": "Is a single word that is too long cut?",
    }
    run.tells("root:impl", "SpecAmbiguity", unclear).shows("root:scaffold", "planner-Scaffold-ambiguous")
    run.tells("root:scaffold", "InitWork", plan()).tells("root:tests", "TestsReady", red())
    return run.tells("root:impl", "TestsPassed", green()).shows("root:review", "tdd-ReviewImpl-clarified")


def testing() -> Story:
    """The test author is refused until a person helps."""
    run = Story(V3).tells("root:scaffold", "InitWork", plan())
    report = (
        "### red\n- tests/slug/test_slug.py::test_no_word_is_cut: passes already, so it does not test the "
        "missing behaviour. Expected: a test that fails because the behaviour is missing"
    )
    run.tells("root:tests", "TestsReady", red(), refused=report).shows("root:tests", "tdd-WriteTests-refused")
    silent = "the agent ended without an answer; end by exactly one of TestsReady, InvalidScaffold"
    for _ in range(3):
        run.breaks("root:tests", "invalid", silent)
    run.shows("root:tests", "tdd-WriteTests-last-attempt").breaks("root:tests", "invalid", silent)
    run.shows("root:stuck", "person-stuck-tests")
    run.decides("root:stuck", "retry", "Use a title of 61 characters for AC-3.")
    return run.shows("root:tests", "tdd-WriteTests-note")


def implementing() -> Story:
    """The implementer tries again, is refused, gives up; a person helps."""
    run = Story(V3).tells("root:scaffold", "InitWork", plan()).tells("root:tests", "TestsReady", red())
    run.tells("root:impl", "RequestRetry", RETRY).shows("root:impl", "impl-retry")
    report = (
        "### tests_unmodified\n- tests/slug/test_slug.py: belongs to the tests and was changed. Expected: unchanged "
        "tests; restore the file"
    )
    run.tells("root:impl", "TestsPassed", green(), refused=report).shows("root:impl", "impl-refused")
    run.tells("root:impl", "Stuck", STUCK).shows("root:stuck", "person-stuck-impl")
    run.decides("root:stuck", "retry", "The suffix counts; cut the title further.")
    return run.shows("root:impl", "impl-note")


def spent() -> Story:
    """The implementer claims again and again what does not hold: it never says that it is stuck."""
    run = Story(V3).tells("root:scaffold", "InitWork", plan()).tells("root:tests", "TestsReady", red())
    report = "### no_undefined\n- src/slug/slug.py:1: slug is not implemented. Expected: a body"
    for _ in range(5):
        run.tells("root:impl", "TestsPassed", green(), refused=report)
    return run.shows("root:stuck", "person-stuck-spent")


def reviewing() -> Story:
    """The reviewer wants more tests, then rejects; the merge is refused."""
    run = at_review().tells("root:review", "MoreTests", MORE)
    run.shows("root:tests", "tdd-WriteTests-more-tests")
    advice = ("AC-2: an implementation that drops every accented letter passes",)
    run.tells("root:tests", "TestsReady", red("test_any_accent_is_dropped", criteria="AC-2", advice=advice))
    run.shows("root:impl", "impl-more-tests")
    measured = green(
        scaling=["slug grows like n (limit O(n)), measured on 5 sizes"],
        advice=["src/slug/words.py:14 repeats 'creme-brulee', which only a test says"],
        note="The accents come from the standard tables now.",
    )
    run.tells("root:impl", "TestsPassed", measured).shows("root:review", "tdd-ReviewImpl-measured")
    report = "### coverage_complete\n- criterion AC-5 has no passing test. Expected: a test that stands for it"
    run.tells("root:review", "Approved", APPROVED, refused=report).shows("root:review", "tdd-ReviewImpl-refused")
    rejected: dict[str, Json] = {
        "reason": "Slugs are made unique in memory, so two processes give the same one.",
        "missingCriteria": ["AC-5"],
    }
    run.tells("root:review", "Reject", rejected).shows("root:rejected", "person-rejected")
    run.decides("root:rejected", "retry", "One process is all there is.").shows("root:review", "tdd-ReviewImpl-note")
    run.tells("root:review", "Reject", rejected).decides("root:rejected", "retest")
    run.shows("root:tests", "tdd-WriteTests-rejected").tells("root:tests", "TestsReady", red())
    run.tells("root:impl", "TestsPassed", green()).tells("root:review", "Reject", rejected)
    run.decides("root:rejected", "replan", "Let the site's store decide.")
    run.shows("root:scaffold", "planner-Scaffold-rejected").tells("root:scaffold", "InitWork", plan())
    run.tells("root:tests", "TestsReady", red()).tells("root:impl", "TestsPassed", green())
    run.tells("root:review", "MoreTests", MORE | {"additionalTests": []}).shows("root:impl", "impl-critiques")
    run.tells("root:impl", "TestsPassed", green()).tells("root:review", "Approved", APPROVED)
    run.tells("root:merge", "MergeRejected.Unverified", UNVERIFIED).shows("root:unverified", "person-unverified")
    run.decides("root:unverified", "retest", "Let two articles come at the same moment.")
    run.shows("root:tests", "tdd-WriteTests-unverified").tells("root:tests", "TestsReady", red())
    run.tells("root:impl", "TestsPassed", green()).tells("root:review", "Approved", APPROVED)
    run.tells("root:merge", "MergeRejected.Unverified", UNVERIFIED)
    run.decides("root:unverified", "accept", "The store does that already.")
    return run.tells("root:merge", "MergeRejected", REFUSED_MERGE).shows("root:impl", "impl-merge-refused")


def unfolded() -> Story:
    run = Story(V3).tells("root:scaffold", "InitWork", TREE)
    for id_ in ("words", "series"):
        run.tells(f"root/{id_}:scaffold", "InitWork", of_child(id_))
    return run.tells("root:tests", "TestsReady", red())


def merged(run: Story, id_: str, impact: str = "Additive") -> Story:
    at = f"root/{id_}"
    run.tells(f"{at}:tests", "TestsReady", red()).tells(f"{at}:impl", "TestsPassed", green())
    return run.tells(f"{at}:review", "Approved", APPROVED).tells(f"{at}:merge", "MergeComplete", merge_of(id_, impact))


def tree() -> Story:
    """A child asks what its parent cannot answer; the children are merged and judged; their parent uses them."""
    run = Story(V3).tells("root:scaffold", "InitWork", TREE).shows("root/words:scaffold", "planner-Scaffold-child")
    run.shows("root:tests", "tdd-WriteTests-children").tells("root:tests", "TestsReady", red())
    run.tells("root/words:scaffold", "ClarificationNeeded", QUESTION).shows("root:answer", "planner-Answer-first")
    changed = "### readonly\n- src/slug/titles.py: was changed. Expected: no change at all"
    answer: dict[str, Json] = {
        "answer": "ß becomes ss.",
        "amendedCriteria": [{"id": "AC-2", "text": "Accented Latin letters become base letters; ß becomes ss."}],
    }
    run.tells("root:answer", "Clarified", answer, refused=changed).shows("root:answer", "planner-Answer-refused")
    run.tells("root:answer", "ClarificationNeeded", QUESTION).shows("root:escalate", "person-escalate")
    run.decides("root:escalate", "Clarified", "ß becomes ss.").shows("root/words:scaffold", "planner-Scaffold-answered")
    run.tells("root/words:scaffold", "InitWork", of_child("words"))
    run.tells("root/series:scaffold", "ClarificationNeeded", QUESTION).tells("root:answer", "Clarified", answer)
    run.shows("root/series:scaffold", "planner-Scaffold-amended")
    run.tells("root/series:scaffold", "InitWork", of_child("series"))
    merged(run, "words").shows("root:judge", "tdd-JudgeChild-first")
    report = (
        "### contract_children\n- tests/slug/test_contract.py::test_words: assert ['ete'] == ['été']. Expected: every "
        "contract test of a merged child passes"
    )
    run.tells("root:judge", "ChildAccepted", accepted("words"), refused=report)
    run.shows("root:judge", "tdd-JudgeChild-refused").tells("root:judge", "ChildAccepted", accepted("words"))
    run.tells("root/series:tests", "TestsReady", red()).tells("root/series:rebase", "RebaseClean", {"newBase": HEAD})
    run.tells("root/series:impl", "TestsPassed", green()).tells("root/series:review", "Approved", APPROVED)
    run.tells("root/series:merge", "MergeComplete", merge_of("series", "Trivial"))
    return run.tells("root:judge", "ChildAccepted", accepted("series")).shows("root:impl", "impl-children")


def moved() -> Story:
    """A sibling's merge cannot be followed mechanically."""
    run = merged(unfolded(), "words", "Breaking").tells("root/series:tests", "TestsReady", red())
    run.tells("root/series:rebase", "RebaseDrift", DRIFT).shows("root/series:adapt", "rebaser-first")
    adapted: dict[str, Json] = {
        "newBase": "c0ffee1",
        "adaptations": [{"symbol": "words", "change": "passes a Title", "reason": "its parameter has another type"}],
    }
    report = "### mechanical_only\n- src/slug/series/numbering.py:9: a loop was rewritten. Expected: names only"
    run.tells("root/series:adapt", "RebaseAdapted", adapted, refused=report).shows(
        "root/series:adapt", "rebaser-refused"
    )
    conflict: dict[str, Json] = {
        "conflictFile": "src/slug/series/numbering.py",
        "ourChange": "Counts by the text of a title.",
        "theirChange": "A title has a language, and is no text any more.",
        "whyUnresolvable": "Whether titles of two languages are the same is nowhere said.",
    }
    run.tells("root/series:adapt", "RebaseConflict", conflict)
    run.shows("root/series:scaffold", "planner-Scaffold-conflict")
    run.tells("root/series:scaffold", "InitWork", of_child("series"))
    run.signals("ContextShift", to="root/series", data="").tells("root/series:tests", "TestsReady", red())
    return run


def sent_back() -> Story:
    """A judge rejects a merged child; another child is given up."""
    run = merged(unfolded(), "words")
    rejection: dict[str, Json] = {"child": "words", "reason": "AC-2 does not hold for 'Ł'.", **MORE}
    run.tells("root:judge", "ChildRejected", rejection).shows("root/words:tests", "tdd-WriteTests-sent-back")
    run.tells("root/words:tests", "TestsReady", red()).shows("root/words:impl", "impl-sent-back")
    run.tells("root/series:tests", "TestsReady", red()).tells(
        "root/series:rebase", "RebaseClean", {"newBase": "c0ffee1"}
    )
    run.tells("root/series:impl", "Stuck", STUCK).decides("root/series:stuck", "abort", "Nobody needs suffixes now.")
    run.shows("root:lost_child", "person-lost_child")
    run.decides("root:lost_child", "replan", "Take the numbering back into the root.")
    return run.shows("root:scaffold", "planner-Scaffold-lost-child")


def by_hand() -> Story:
    """People do what the agents do not manage."""
    silent = "it ended without an answer"
    run = Story(V3).tells("root:scaffold", "InitWork", TREE).tells("root:tests", "TestsReady", red())
    run.tells("root/words:scaffold", "ClarificationNeeded", QUESTION)
    for _ in range(3):
        run.breaks("root:answer", "invalid", silent)
    run.shows("root:answer_by_hand", "person-answer_by_hand").decides("root:answer_by_hand", "retry", "Look at AC-2.")
    run.shows("root:answer", "planner-Answer-note").tells("root:answer", "ClarificationNeeded", QUESTION)
    run.decides("root:escalate", "Clarified", "ß becomes ss.").tells(
        "root/words:scaffold", "InitWork", of_child("words")
    )
    run.tells("root/series:scaffold", "InitWork", of_child("series"))
    merged(run, "words")
    for _ in range(3):
        run.breaks("root:judge", "invalid", silent)
    run.shows("root:judge_by_hand", "person-judge_by_hand").decides("root:judge_by_hand", "retry", "Mind the ß.")
    run.shows("root:judge", "tdd-JudgeChild-note")
    run.tells("root/series:tests", "TestsReady", red()).tells("root/series:rebase", "RebaseDrift", DRIFT)
    for _ in range(3):
        run.breaks("root/series:adapt", "invalid", silent)
    run.shows("root/series:conflict", "person-conflict").decides("root/series:conflict", "retry", "Take theirs.")
    return run.shows("root/series:adapt", "rebaser-note")
