"""The page is one file that loads nothing, runs nothing, and shows everybody's text as text."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from tests.views.trial import TEST, Trial, approved, green, implemented, merged, red, spec, with_tests
from treadle.protocol.items import Json
from treadle.views.evidence_html import LONGEST, MADE, html

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
    return trial.answers(next(iter(trial.chronicle.state.asks)), "abort", EVIL)


TRIALS = {"merged": merged, "approved": approved, "green": implemented, "hostile": hostile, "new": Trial}


@pytest.mark.parametrize("case", TRIALS)
def test_it_is_whole_and_closed(case: str) -> None:
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


def test_its_policy_allows_its_own_style_and_nothing_else() -> None:
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


def test_what_others_wrote_is_shown_and_does_nothing() -> None:
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
    assert "no test stands for it" in Page(html(Trial().evidence())).words
    assert "No red run" not in Page(html(merged().evidence())).words


def test_refusals_are_history_on_the_card() -> None:
    trial = with_tests()
    for attempt in (1, 2):
        trial.says(f"root:impl#1.{attempt}", "TestsPassed", {}, "green")
    words = " ".join(Page(html(trial.evidence())).words.split())
    assert "On the way there: refused twice: TestsPassed (green failed)." in words


def test_long_outputs_are_cut_and_the_rest_has_its_command() -> None:
    facts = red(TEST)
    facts["red"] |= {"output": "x" * (LONGEST + 5) + "the end"}
    words = Page(html(with_tests(facts=facts).evidence())).words
    assert "[12 characters before this]" in words
    assert "the end" in words
    assert "treadle show calc-1 'root:tests#1.1' --json" in words


def test_what_was_measured_is_a_picture_that_cannot_run() -> None:
    trial = with_tests(Trial(spec("calc", "adds", "AC-1")))
    svg = "<svg><script>alert(1)</script></svg>"
    plot = trial.payloads.put({"kind": "plot", "svg": svg})
    measured: dict[str, dict[str, Json]] = {
        "scaling": {"scaling": [{"plot": plot}, {"plot": "sha256:gone"}, {}, "odd"]}
    }
    trial.says("root:impl#1.1", "TestsPassed", green(TEST) | measured)
    page = Page(html(trial.evidence()))
    assert page.values("src") == [f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"]
