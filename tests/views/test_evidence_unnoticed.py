"""What the tests of a criterion leave open is told with the criterion, as long as it holds."""

from tests.views.test_evidence_html import EVIL, Page
from tests.views.trial import TEST, Trial, green, red, with_tests
from treadle.protocol.items import Json
from treadle.views.evidence_html import html
from treadle.views.evidence_text import rows

SECOND = "tests/test_add.py::test_zero"


def tried(*tests: str, wrong: tuple[str, ...] = ()) -> dict[str, dict[str, Json]]:
    """What the check `red` leaves after wrong implementations were put in the place of what is missing."""
    facts = red(*tests)
    listed: list[Json] = list(wrong)
    facts["red"] |= {"wrong_implementations": {"tried": 8}, **({"unnoticed": {"AC-1": listed}} if wrong else {})}
    return facts


def reviewed(wrong: tuple[str, ...], *again: dict[str, dict[str, Json]]) -> Trial:
    """A reviewer asks for more tests after the first ones had left something open."""
    trial = with_tests(facts=tried(TEST, wrong=wrong)).says("root:impl#1.1", "TestsPassed", green(TEST))
    trial.says("root:review#1.1", "MoreTests", additionalTests=[{"text": "nothing to add"}])
    for number, facts in enumerate(again, 2):
        trial.says(f"root:tests#{number}.1", "TestsReady", facts)
    return trial


def test_it_is_what_the_last_trial_of_the_same_tests_says() -> None:
    wrong = ("add returns 3",)
    assert with_tests().criterion().unnoticed == ()
    assert with_tests(facts=tried(TEST)).criterion().unnoticed == ()
    assert with_tests(facts=tried(TEST, wrong=wrong)).criterion().unnoticed == wrong
    assert reviewed(wrong).criterion().unnoticed == wrong, "a green run has nothing to say about it"
    assert reviewed(wrong, tried(TEST)).criterion().unnoticed == (), "the test was sharpened"
    assert reviewed(wrong, tried(TEST, SECOND)).criterion().unnoticed == ()
    assert reviewed(wrong, red(TEST, SECOND)).criterion().unnoticed == (), "nobody has tried the second one"


def test_both_pages_tell_it_with_the_criterion() -> None:
    wrong = tuple(f"add returns {n}" for n in range(6))
    found = with_tests(facts=tried(TEST, wrong=wrong)).evidence()
    lines = [row.text for row in rows(found)]
    told = "open   all of these pass if add returns 0; add returns 1; add returns 2; add returns 3; and 2 more"
    assert lines.index(told) == lines.index(f"test   {TEST}") + 1
    page = html(found)
    assert "6 wrong implementations that all of them pass with" in page
    assert all(f"<li>{one}</li>" in page for one in wrong)
    assert "open   " not in "".join(row.text for row in rows(with_tests().evidence()))
    assert "leave something open" not in html(with_tests().evidence())


def test_the_page_has_every_note_about_new_tests_and_shows_it_as_text() -> None:
    facts = tried(TEST, wrong=(EVIL,))
    facts["red"] |= {"report": f"- (note) it takes {EVIL}".replace("\ud800", "")}
    text = html(with_tests(facts=facts).evidence())
    page = Page(text)
    assert (page.faults, page.open) == ([], [])
    assert "script" not in {tag for tag, _ in page.tags}
    assert "What the tests leave open" in page.words
    assert "it takes </pre><script>" in page.words
    assert "What the tests leave open" not in html(with_tests().evidence())
