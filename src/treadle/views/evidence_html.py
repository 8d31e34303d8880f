"""The evidence of a run as one HTML file: no script, nothing loaded from anywhere, everybody's text harmless."""

import base64
import hashlib
import shlex
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treadle.prompts.foreign import visible
from treadle.views import evidence_text
from treadle.views.evidence import Check, Evidence, ReviewVerdict
from treadle.views.evidence_criteria import GRADE_WORDS
from treadle.views.status import baseline_counts
from treadle.views.words import duration, plain

MADE: Final = '<meta name="generator" content="treadle evidence">'
"""The mark near the beginning of every page; a page with this mark may be overwritten."""
LONGEST: Final = 4_000
"""Characters of an output that are on the page."""


def html(evidence: Evidence) -> str:
    """The page."""
    shown = msgspec.convert(_make_visible(msgspec.to_builtins(evidence)), Evidence)
    environment = Environment(
        loader=PackageLoader("treadle", "views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "short": lambda commit: commit[:12],
        "moment": plain,
        "duration": duration,
        "beginning": _beginning,
        "end": _end,
        "image": _image,
        "command": shlex.join,
        "ended": evidence_text.check_ending,
        "mark": evidence_text.mark,
        "standing": evidence_text.standing,
        "apart": evidence_text.subject_words,
        "grade": lambda grade: GRADE_WORDS[grade],
    }
    environment.tests["verdict"] = lambda it: isinstance(it, ReviewVerdict)
    style = environment.get_template("evidence.css").render()
    return environment.get_template("evidence.html.jinja").render(
        made=Markup(MADE),
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        it=shown,
        **_lookups(shown),
    )


def _lookups(evidence: Evidence) -> dict[str, Any]:
    """Return the words of the page about the whole run, and its lookups by activity and criterion."""
    steps = {one.act: one for one in evidence.accepted}
    first_setback: dict[str, int] = {}
    for number, one in enumerate(evidence.setbacks, 1):
        first_setback.setdefault(one.act, number)

    def check_of(act: str, colour: str) -> Check | None:
        return evidence_text.check_of_colour(steps[act], colour) if act in steps else None

    return {
        "score": evidence_text.score(evidence),
        "stands": evidence_text.run_condition(evidence),
        "agents": evidence_text.agents(evidence),
        "used": evidence_text.usage_words(evidence),
        "where": evidence_text.result_place(evidence),
        "held": evidence_text.branch_holds(evidence),
        "left_open": evidence_text.left_open(evidence),
        "before": baseline_counts(evidence.baseline) if evidence.baseline else "",
        "whose_word": evidence_text.WHOSE_WORD,
        "steps": steps,
        "number": {one.act: number for number, one in enumerate(evidence.accepted, 1)},
        "commits": list(dict.fromkeys(one.commit for one in evidence.accepted if one.commit)),
        "first_setback": first_setback,
        "check_of": check_of,
        "history": lambda one: evidence_text.setback_words(evidence, one),
        "road": lambda one: evidence_text.steps_to(steps, one),
        "show": lambda act: f"treadle show {shlex.quote(evidence.run)} {shlex.quote(act)} --json",
    }


def _make_visible(value: Any) -> Any:
    """Write out characters that are invisible or reverse the direction of text."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _make_visible(one) for key, one in value.items()}
    return [_make_visible(one) for one in value] if isinstance(value, list | tuple) else value


def _image(svg: str) -> str:
    """Embed an SVG as a data URL, so that no script in it runs."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters]"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else f"[{len(text) - LONGEST:,} characters before this]\n{text[-LONGEST:]}"
