"""The small notations inside a protocol's values: needs, targets, gates, threads, waits, and back to text."""

import re
from typing import Final, Literal

from treadle.protocol.findings import suggest
from treadle.protocol.model import CheckRef, Need, Thread, Wait
from treadle.protocol.reading.part import NAME, STEP, Part, quote_name

_STEP: Final = r"[A-Za-z0-9_-]+(?:@[A-Za-z0-9_-]+)*"
_NEED = re.compile(rf"(?P<up>up\.)?(?:(?P<step>{_STEP})\.)?(?P<exit>!\*|!?[A-Za-z][A-Za-z0-9_-]*)(?P<flag>[?*]?)")
_REFINED = re.compile(rf"(?P<slot>(?:up\.)?{_STEP}\.[A-Za-z][A-Za-z0-9_-]*)\.[A-Za-z0-9_-]+(?P<flag>[?*]?)")
_CHECK = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<mark>\??)(?::(?P<arg>.*?)(?P<late>\??))?")
_TARGET = re.compile(rf"\^?{_STEP}|@end:[A-Za-z][A-Za-z0-9_-]*|@resume|@back|@self")
_TARGETS: Final = ("@self", "@end:", "@resume", "@back")
_THREADS: Final[tuple[Literal["new", "resume", "fork"], ...]] = ("new", "resume", "fork")
_DEGRADE: Final[tuple[Literal["payloads", "fail"], ...]] = ("payloads", "fail")


def needs(part: Part) -> tuple[Need, ...]:
    """One or several of `step.Exit`, `step.Exit?`, `step.Exit*`, `up.step.Exit`, `!crash?`, `!*?`."""
    found = []
    for item in part.items():
        text = item.as_text().strip()
        match = _NEED.fullmatch(text)
        if match and (match["step"] or match["exit"].startswith("!")) and match["step"] != "up":
            marks = {"up": bool(match["up"]), "optional": match["flag"] == "?", "every": match["flag"] == "*"}
            found.append(Need(exit=match["exit"], step=match["step"] or "", **marks))
        elif isinstance(item.node.value, str):
            hint = "write step.Exit, step.Exit?, step.Exit* or !crash?"
            if refined := _REFINED.fullmatch(text):
                hint = f"write {refined['slot']}{refined['flag']}: a slot holds every kind of it"
            item.problem(f"{quote_name(text)} is not a slot", hint)
    return tuple(found)


def target(part: Part, step: str) -> str:
    """A route's target with `@self` resolved; `step` is the one the row belongs to (none for a graph's rows)."""
    text = part.as_text().strip()
    if isinstance(part.node.value, str) and not _TARGET.fullmatch(text):
        hint = suggest(text, _TARGETS) or "write a step, or @end:Outcome"
        part.problem(f"{quote_name(text)} is not a target", "write @end:Outcome" if text.startswith("@end") else hint)
    return step if text == "@self" and step else text


def checks(part: Part) -> tuple[CheckRef, ...]:
    """`commit scope? post_check:make` as text, or a list of such words and of `{check, arg, advisory}`."""
    found = []
    for item in part.items():
        if isinstance(item.node.value, dict):
            item.known("check", "arg", "advisory")
            if name := item.name_of("check"):
                found.append(CheckRef(name=name, arg=item.text("arg"), advisory=item.flag("advisory")))
            else:
                item.problem("a check without a name", "write {check: name, arg: …}")
            continue
        for word in item.as_text().split():
            if ref := check_ref(word):
                found.append(ref)
            else:
                item.problem(f"{quote_name(word)} is not a check", "write name, name? or name:argument")
    return tuple(found)


def check_ref(word: str) -> CheckRef | None:
    """`name`, `name?` for advice, `name:argument`; None if the word is none of these."""
    match = _CHECK.fullmatch(word)
    if match is None:
        return None
    return CheckRef(name=match["name"], arg=match["arg"] or "", advisory=bool(match["mark"] or match["late"]))


def check_words(refs: tuple[CheckRef, ...]) -> str | None:
    """The checks as one line of words, or None if an argument does not fit into one."""
    words = [f"{ref.name}{'?' if ref.advisory else ''}{':' + ref.arg if ref.arg else ''}" for ref in refs]
    fits = all(re.fullmatch(r"[\w./-]*", ref.arg, re.ASCII) for ref in refs)
    return " ".join(words) if fits and words else None


def waits(part: Part) -> tuple[Wait, ...]:
    """`manual`, `group:NAME`."""
    found = []
    for item in part.items():
        text = item.as_text().strip()
        kind, _, group = text.partition(":")
        if text == "manual":
            found.append(Wait(kind="manual"))
        elif kind == "group" and NAME.fullmatch(group):
            found.append(Wait(kind="group", group=group))
        elif isinstance(item.node.value, str):
            item.problem(f"{quote_name(text)} is nothing to wait for", "write manual, or group:NAME")
    return tuple(found)


def thread(part: Part) -> Thread:
    """`new`, `resume`, `resume:STEP`, `fork:STEP`, `fork:up.STEP`, or the long form `{kind, step, up, degrade}`."""
    is_long = isinstance(part.node.value, dict)
    if is_long:
        part.known("kind", "step", "up", "degrade")
    degrade = part.one_of("degrade", _DEGRADE, "payloads")
    word, _, step = (part.text("kind", "new") if is_long else part.as_text("new").strip()).partition(":")
    step = step or part.text("step")
    up = part.flag("up") or step.startswith("up.")
    step = step.removeprefix("up.")
    kind = next((one for one in _THREADS if one == word), None)
    needs_step = {"new": False, "fork": True}.get(word, bool(step))
    if kind is None or needs_step != bool(step) or (step and not STEP.fullmatch(step)):
        text = f"{word}:{step}" if step else word
        part.problem(f"{quote_name(text)} is not a thread", "write new, resume, resume:STEP or fork:STEP")
        return Thread()
    return Thread(kind=kind, step=step, up=up, degrade=degrade)


def thread_text(value: Thread) -> str:
    """A thread in its short form (without `degrade`)."""
    step = f"up.{value.step}" if value.up else value.step
    return f"{value.kind}:{step}" if step else value.kind
