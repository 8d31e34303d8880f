"""The evidence of a run as one HTML file: no script, nothing loaded from anywhere, everybody's text harmless."""

import base64
import hashlib
import shlex
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treadle.prompts.foreign import visible
from treadle.views.baseline import counts
from treadle.views.evidence import Accepted, Check, Evidence, Proved, Verdict
from treadle.views.evidence_words import (
    WHOSE_WORD,
    agents,
    consumed,
    ended,
    held,
    history,
    how_it_stands,
    left_open,
    mark,
    road,
    score,
    setbacks_of,
    standing,
    where,
)
from treadle.views.moment import duration, plain

MADE: Final = '<meta name="generator" content="treadle evidence">'
"""Stands near the beginning of every page, so that a later one may take its place."""
LONGEST: Final = 4_000
"""Characters of an output that are on the page."""


def html(found: Evidence) -> str:
    """The page."""
    shown = msgspec.convert(_harmless(msgspec.to_builtins(found)), Evidence)
    world = Environment(
        loader=PackageLoader("treadle", "views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    world.filters |= {"short": _short, "moment": plain, "duration": duration, "beginning": _beginning, "end": _end}
    world.filters["image"] = _image
    style = world.get_template("evidence.css").render()
    return world.get_template("evidence.html.jinja").render(
        made=Markup(MADE),
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        it=shown,
        standing=standing,
        whose_word=WHOSE_WORD,
        words=_Words(shown),
    )


class _Words:
    """What the template has to say about a run."""

    def __init__(self, found: Evidence) -> None:
        self._found = found
        self.score, self.stands = score(found), how_it_stands(found)
        self.agents, self.used, self.where = agents(found), consumed(found), where(found)
        self.held, self.left_open = held(found), left_open(found)
        self.before = counts(found.baseline) if found.baseline else ""
        self.steps = {one.act: one for one in found.accepted}
        self.number = {one.act: number for number, one in enumerate(found.accepted, 1)}
        self.commits = list(dict.fromkeys(one.commit for one in found.accepted if one.commit))

    def history(self, one: Proved) -> str:
        return history(setbacks_of(self._found, one))

    def setback(self, act: str) -> int:
        """The number of the first setback of an activity."""
        return next((number for number, one in enumerate(self._found.setbacks, 1) if one.act == act), 0)

    def check(self, act: str, *names: str) -> Check | None:
        """The record of an activity's check of that colour."""
        checks = self.steps[act].checks if act in self.steps else ()
        return next((one for one in checks if one.check.partition(":")[0].startswith(names)), None)

    def ended(self, check: Check) -> str:
        return ended(check)

    def road(self, one: Proved) -> list[Verdict | Accepted]:
        return road(self.steps, one)

    def is_verdict(self, it: Verdict | Accepted) -> bool:
        return isinstance(it, Verdict)

    def mark(self, check: Check) -> str:
        return mark(check)

    def command(self, check: Check) -> str:
        return shlex.join(check.command)

    def show(self, act: str) -> str:
        return f"treadle show {shlex.quote(self._found.run)} {shlex.quote(act)} --json"


def _harmless(value: Any) -> Any:
    """The same with everything written out that a reader would not see, or that would turn a line around."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _harmless(one) for key, one in value.items()}
    return [_harmless(one) for one in value] if isinstance(value, list | tuple) else value


def _short(commit: str) -> str:
    return commit[:12]


def _image(svg: str) -> str:
    """A picture as an address of its own: whatever it holds, nothing of it runs."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters]"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else f"[{len(text) - LONGEST:,} characters before this]\n{text[-LONGEST:]}"
