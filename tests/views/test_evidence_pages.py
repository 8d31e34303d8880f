"""The evidence of a run as a page and on a terminal."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import msgspec
import pytest

from tests.views.trial import NOW, TEST, Trial, approved, green, implemented, merged, red, spec, with_tests
from treadle.kernel.events import Failed
from treadle.protocol.items import Json
from treadle.toolchains.command import LIMITS
from treadle.views.evidence import Evidence
from treadle.views.evidence_criteria import OWN_WORD
from treadle.views.evidence_html import LONGEST, MADE, html
from treadle.views.evidence_text import WHOSE_WORD, rows, score
from treadle.views.result import Result

# The page is one file that loads nothing, runs nothing, and shows everybody's text as text.


VOID = {"meta", "br", "link", "img", "hr", "input"}
EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202egpj.exe\x00\ud800 &amp; {{ 7 * 7 }}"


class Page(HTMLParser):
    """What a browser would make of it, as far as that matters here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.words += data

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(name))]


def hostile() -> Trial:
    given = spec("calc", EVIL.replace("\ud800", ""), "AC-1")
    given["description"] = EVIL
    trial = Trial(given)
    evil_test = f"tests/{EVIL}"
    facts = red(TEST, evil_test)
    facts["red"] |= {"output": EVIL, "report": EVIL, "command": ["sh", "-c", EVIL], "isolation": EVIL, "commit": EVIL}
    with_tests(trial, facts=facts)
    trial.says("root:impl#1.1", "TestsPassed", green(TEST, evil_test) | {"scope": {"report": EVIL}}, "scope")
    trial.says("root:impl#1.2", "Stuck", diagnosis=EVIL, recommendation=EVIL)
    return trial.answers(next(iter(trial.log.state.asks)), "abort", EVIL)


TRIALS = {"merged": merged, "approved": approved, "green": implemented, "hostile": hostile, "new": Trial}


@pytest.mark.parametrize("case", TRIALS)
def test_the_page_is_valid_html_without_outside_links(case: str) -> None:
    text = html(TRIALS[case]().evidence())
    page = Page(text)
    assert (page.faults, page.open) == ([], [])
    assert text.startswith("<!doctype html>")
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"]
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {href.removeprefix("#") for href in page.values("href")} <= set(ids), (
        "every link leads somewhere on the page"
    )
    assert not page.values("src")
    assert MADE in text[:1000], "a later page may take its place"


def test_the_policy_of_the_page_allows_only_its_own_style() -> None:
    text = html(merged().evidence())
    policy = next(
        attributes["content"] for _, attributes in Page(text).tags if "Content-Security-Policy" in attributes.values()
    )
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert (
        policy == f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_foreign_text_is_shown_and_inert() -> None:
    text = html(hostile().evidence())
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", text)
    assert "{{ 7 * 7 }}" in text
    words = Page(text).words
    assert words.count("<script>alert(1)</script>") >= 8
    assert "⟨U+202E⟩gpj.exe" in words


def test_a_criterion_without_evidence_is_never_shown_as_fine() -> None:
    for trial in (Trial(), implemented()):
        page = Page(html(trial.evidence()))
        cards = [attributes["class"] for tag, attributes in page.tags if tag == "article"]
        assert "card verified" not in cards
        assert "0 of 1 criteria verified so far" in page.words
    assert Trial().criterion().missing[0] in Page(html(Trial().evidence())).words
    assert "No red run" not in Page(html(merged().evidence())).words


def test_refusals_are_history_on_the_card() -> None:
    trial = with_tests()
    for attempt in (1, 2):
        trial.says(f"root:impl#1.{attempt}", "TestsPassed", {}, "green")
    words = " ".join(Page(html(trial.evidence())).words.split())
    assert "refused twice: TestsPassed (green failed)." in words


def test_long_outputs_are_cut_and_the_rest_has_its_command() -> None:
    facts = red(TEST)
    facts["red"] |= {"output": "x" * (LONGEST + 5) + "the end"}
    words = Page(html(with_tests(facts=facts).evidence())).words
    assert "[12 characters before this]" in words
    assert "the end" in words
    assert "treadle show calc-1 'root:tests#1.1' --json" in words


def test_a_measured_plot_is_an_image_that_cannot_run_scripts() -> None:
    trial = with_tests(Trial(spec("calc", "adds", "AC-1")))
    svg = "<svg><script>alert(1)</script></svg>"
    plot = trial.payloads.put({"kind": "plot", "svg": svg})
    measured: dict[str, dict[str, Json]] = {
        "scaling": {"scaling": [{"plot": plot}, {"plot": "sha256:gone"}, {}, "odd"]}
    }
    trial.says("root:impl#1.1", "TestsPassed", green(TEST) | measured)
    page = Page(html(trial.evidence()))
    assert page.values("src") == [f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"]


# The same on a terminal.


def told(found: Evidence) -> list[str]:
    return [f"{' ' * row.indent}{row.text}" for row in rows(found)]


def test_a_criterion_is_shown_from_its_test_to_its_merge() -> None:
    lines = told(merged().evidence())
    assert lines[0] == "calc-1 · v3 1 · ended: Merged · 1 of 1 criteria verified (observed)"
    start = lines.index("◐ AC-1 · root · verified (observed)")
    assert lines[start + 1 : start + 7] == [
        "    AC-1 holds",
        "    test   ◐ tests/test_add.py::test_adds",
        "    red    root:tests#1.1 cccccccccccc, exit 1 as expected, 0.25 s",
        "    green  root:impl#1.1 cccccccccccc, exit 0, 0.25 s",
        "    review Approved by tdd:ReviewImpl (root:review#1.1)",
        "    merge  root:merge#1.1 cccccccccccc",
    ]


def test_missing_proofs_come_before_existing_ones() -> None:
    lines = told(Trial().evidence())
    start = lines.index("✗ AC-1 · root · no evidence")
    assert lines[start + 2] == f"    missing: {Trial().criterion().missing[0]}"
    assert "unfinished (works) · 0 of 1 criteria verified" in lines[0]


def test_refusals_are_shown_with_their_reports() -> None:
    lines = told(with_tests().says("root:impl#1.1", "TestsPassed", {}, "green").evidence())
    assert "    before refused once: TestsPassed (green failed)" in lines
    start = lines.index("── Refused, failed and sent back ──")
    assert "root:impl#1.1 refused: TestsPassed" in lines[start + 1]
    assert lines[start + 2 : start + 4] == ["    ### green", "    - mend it"]


def test_a_rejected_merge_is_shown_with_its_reason() -> None:
    trial = approved()
    lines = told(trial.happens(trial.rejected("test_adds: fails: 5 is not 4")).evidence())
    at = next(at for at, line in enumerate(lines) if "sent back: MergeRejected.ContractViolation by effect" in line)
    assert lines[at + 1] == "    test_adds: fails: 5 is not 4"


def test_a_crash_is_shown_with_its_report() -> None:
    trial = Trial()
    ref = trial.payloads.put({"report": "the test tool cannot start\nNo module named py"})
    lines = told(trial.happens(Failed(id="f", ts=NOW, act="root:scaffold#1.1", why="crash", detail_ref=ref)).evidence())
    assert "    the test tool cannot start" in lines
    assert "    No module named py" in lines


def test_notes_about_tests_are_shown_without_a_refusal() -> None:
    facts = red(TEST)
    noted = "".join(f"- (note) criterion AC-{n}: all its tests pass\n" for n in range(10))
    facts["red"] |= {"report": f"- something else\n{noted}"}
    lines = told(with_tests(facts=facts).evidence())
    [start] = [number for number, line in enumerate(lines) if "leave open" in line]
    assert lines[start + 1 : start + 3] == ["root:tests#1.1", "    criterion AC-0: all its tests pass"]
    assert lines[start + 10] == "    and 2 more: treadle show calc-1 root:tests#1.1"
    assert "leave open" not in "".join(told(with_tests().evidence()))


# How the evidence of a run is put into words.


RESULT = Result(branch="treadle/calc-1/root/int", commit="c" * 40, into="main", taken=False, merge="branch", why="")


@pytest.mark.parametrize(
    ("outcome", "said", "never"),
    [("Done", "result", "accepted"), ("Aborted", "accepted", "result"), ("Partial", "accepted", "result")],
)
def test_only_a_good_end_has_a_result(outcome: str, said: str, never: str) -> None:
    found = msgspec.structs.replace(merged().evidence(), outcome=outcome, so_far=False, result=RESULT)
    lines = [row.text for row in rows(found)]
    assert f"{said} {'c' * 12} on the branch treadle/calc-1/root/int" in lines
    assert not [line for line in lines if line.startswith(f"{never} ")]
    page = html(found)
    assert f"<dt>{said.capitalize()}</dt>" in page
    assert ("the result is" in page) is (said == "result")


def by_own_word() -> Evidence:
    facts = green(TEST)
    facts["green"] |= {"limits": [*LIMITS]}
    trial = with_tests().says("root:impl#1.1", "TestsPassed", facts)
    return trial.says("root:review#1.1", "Approved", signOff="fine").merges().evidence()


def test_a_result_that_only_the_runner_reports_is_never_shown_as_witnessed() -> None:
    found = by_own_word()
    assert (found.criteria[0].standing, found.criteria[0].own_word, found.tally.own_word) == ("verified", True, 1)
    assert LIMITS in [check.limits for step in found.accepted for check in step.checks]
    lines = [row.text for row in rows(found)]
    assert lines[0].endswith(f"1 of 1 criteria verified {OWN_WORD}")
    assert f"○ AC-1 · root · verified {OWN_WORD}" in lines
    assert any(line.startswith(f"source {WHOSE_WORD}") for line in lines)
    page = html(found)
    assert 'class="card verified"' not in page
    own_word = OWN_WORD.replace("'", "&#39;")
    assert f">verified {own_word}</span>" in page
    assert f"1 of 1 criteria verified {own_word}" in page


def test_a_witnessed_result_is_shown_without_a_remark() -> None:
    found = merged().evidence()
    assert (found.criteria[0].own_word, found.tally.own_word) == (False, 0)
    assert "own word" not in html(found) + str(list(rows(found)))


def test_the_score_counts_each_grade() -> None:
    tally = msgspec.structs.replace(by_own_word().tally, criteria=4, verified=3, proved=1, observed=1)
    found = msgspec.structs.replace(by_own_word(), tally=tally)
    assert score(found) == f"3 of 4 criteria verified (1 proved, 1 observed, 1 {OWN_WORD})"


# What the tests of a criterion leave open is told with the criterion, as long as it holds.


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


def test_unnoticed_mistakes_come_from_the_last_trial_of_the_same_tests() -> None:
    wrong = ("add returns 3",)
    assert with_tests().criterion().unnoticed == ()
    assert with_tests(facts=tried(TEST)).criterion().unnoticed == ()
    assert with_tests(facts=tried(TEST, wrong=wrong)).criterion().unnoticed == wrong
    assert reviewed(wrong).criterion().unnoticed == wrong, "a green run has nothing to say about it"
    assert reviewed(wrong, tried(TEST)).criterion().unnoticed == (), "the test was sharpened"
    assert reviewed(wrong, tried(TEST, SECOND)).criterion().unnoticed == ()
    assert reviewed(wrong, red(TEST, SECOND)).criterion().unnoticed == (), "nobody has tried the second one"


def test_terminal_and_page_show_unnoticed_mistakes_with_the_criterion() -> None:
    wrong = tuple(f"add returns {n}" for n in range(6))
    found = with_tests(facts=tried(TEST, wrong=wrong)).evidence()
    lines = [row.text for row in rows(found)]
    told = "open   all of these pass if add returns 0; add returns 1; add returns 2; add returns 3; and 2 more"
    assert lines.index(told) == lines.index(f"test   {TEST}") + 1
    page = html(found)
    assert "6 wrong implementations" in page
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
    assert "leave open" in page.words
    assert "it takes </pre><script>" in page.words
    assert "leave open" not in html(with_tests().evidence())
