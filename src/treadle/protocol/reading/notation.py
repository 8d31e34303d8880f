"""The small notations inside a protocol's values: needs, targets, gates, threads, waits, and back to text."""

import re
from typing import Final, Literal

from treadle.protocol.findings import suggest
from treadle.protocol.model import CheckRef, Need, Thread, Wait
from treadle.protocol.reading.part import NAME, STEP, Part, quoted

_STEP: Final = r"[A-Za-z0-9_-]+(?:@[A-Za-z0-9_-]+)*"
_NEED = re.compile(rf"(?P<up>up\.)?(?:(?P<step>{_STEP})\.)?(?P<exit>!\*|!?[A-Za-z][A-Za-z0-9_-]*)(?P<flag>[?*]?)")
_REFINED = re.compile(rf"(?P<slot>(?:up\.)?{_STEP}\.[A-Za-z][A-Za-z0-9_-]*)\.[A-Za-z0-9_-]+(?P<flag>[?*]?)")
_CHECK = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<mark>\??)(?::(?P<arg>.*?)(?P<late>\??))?")
_TARGET = re.compile(rf"\^?{_STEP}|@end:[A-Za-z][A-Za-z0-9_-]*|@resume|@back|@self")
_TARGETS: Final = ("@self", "@end:", "@resume", "@back")


def need(part: Part) -> Need | None:
    """`step.Exit`, `step.Exit?`, `step.Exit*`, `up.step.Exit`, `!crash?`, `!*?`."""
    text = part.as_text().strip()
    match = _NEED.fullmatch(text)
    if match and (match["step"] or match["exit"].startswith("!")) and match["step"] != "up":
        return Need(
            exit=match["exit"],
            step=match["step"] or "",
            up=bool(match["up"]),
            optional=match["flag"] == "?",
            every=match["flag"] == "*",
        )
    if isinstance(part.node.value, str):
        refined = _REFINED.fullmatch(text)
        hint = f"write {refined['slot']}{refined['flag']}: a slot holds every kind of it" if refined else ""
        part.problem(f"{quoted(text)} is not a slot", hint or "write step.Exit, step.Exit?, step.Exit* or !crash?")
    return None


def needs(part: Part | None) -> tuple[Need, ...]:
    """A list of needs, or a single one."""
    found = [need(item) for item in part.items()] if part else []
    return tuple(one for one in found if one is not None)


def target(part: Part, step: str) -> str:
    """A route's target with `@self` resolved; `step` is the one the row belongs to (none for a graph's rows)."""
    text = part.as_text().strip()
    if isinstance(part.node.value, str) and not _TARGET.fullmatch(text):
        hint = (
            "write @end:Outcome"
            if text.startswith("@end")
            else suggest(text, _TARGETS) or "write a step, or @end:Outcome"
        )
        part.problem(f"{quoted(text)} is not a target", hint)
    if text == "@self" and not step:
        return text
    return step if text == "@self" else text


def checks(part: Part | None) -> tuple[CheckRef, ...]:
    """`commit scope? post_check:make` as text, or a list of such words and of `{check, arg, advisory}`."""
    found: list[CheckRef | None] = []
    for item in part.items() if part else ():
        if isinstance(item.node.value, dict):
            found.append(_long_check(item))
        else:
            found += [_short_check(item, word) for word in item.as_text().split()]
    return tuple(one for one in found if one is not None)


def _short_check(part: Part, word: str) -> CheckRef | None:
    match = _CHECK.fullmatch(word)
    if match is None:
        part.problem(f"{quoted(word)} is not a check", "write name, name? or name:argument")
        return None
    return CheckRef(name=match["name"], arg=match["arg"] or "", advisory=bool(match["mark"] or match["late"]))


def _long_check(part: Part) -> CheckRef | None:
    part.known("check", "arg", "advisory")
    name = part.name_of("check")
    if not name:
        part.problem("a check without a name", "write {check: name, arg: …}")
        return None
    return CheckRef(name=name, arg=part.text("arg"), advisory=part.flag("advisory"))


def check_words(refs: tuple[CheckRef, ...]) -> str | None:
    """The checks as one line of words, or None if an argument does not fit into one."""
    words = [f"{ref.name}{'?' if ref.advisory else ''}{':' + ref.arg if ref.arg else ''}" for ref in refs]
    fits = all(re.fullmatch(r"[\w./-]*", ref.arg, re.ASCII) for ref in refs)
    return " ".join(words) if fits and words else None


def waits(part: Part | None) -> tuple[Wait, ...]:
    """`manual`, `group:NAME`."""
    found = []
    for item in part.items() if part else ():
        text = item.as_text().strip()
        kind, _, group = text.partition(":")
        if text == "manual":
            found.append(Wait(kind="manual"))
        elif kind == "group" and NAME.fullmatch(group):
            found.append(Wait(kind="group", group=group))
        elif isinstance(item.node.value, str):
            item.problem(f"{quoted(text)} is nothing to wait for", "write manual, or group:NAME")
    return tuple(found)


_THREADS: Final[tuple[Literal["new", "resume", "fork"], ...]] = ("new", "resume", "fork")


def thread(part: Part | None) -> Thread:
    """`new`, `resume`, `resume:STEP`, `fork:STEP`, `fork:up.STEP`, or the long form `{kind, step, up, degrade}`."""
    if part is None:
        return Thread()
    if not isinstance(part.node.value, dict):
        kind, _, step = part.as_text("new").strip().partition(":")
        return _thread(part, kind, step, up=False, degrade="payloads")
    part.known("kind", "step", "up", "degrade")
    degrade = part.one_of("degrade", ("payloads", "fail"), "payloads")
    kind, _, step = part.text("kind", "new").partition(":")
    return _thread(part, kind, step or part.text("step"), up=part.flag("up"), degrade=degrade)


def _thread(part: Part, kind: str, step: str, up: bool, degrade: str) -> Thread:
    up = up or step.startswith("up.")
    step = step.removeprefix("up.")
    known = next((one for one in _THREADS if one == kind), None)
    fits = {"new": not step, "fork": bool(step)}.get(kind, True) and (not step or STEP.fullmatch(step))
    if known is None or not fits:
        text = f"{kind}:{step}" if step else kind
        part.problem(f"{quoted(text)} is not a thread", "write new, resume, resume:STEP or fork:STEP")
        return Thread()
    return Thread(kind=known, step=step, up=up, degrade="fail" if degrade == "fail" else "payloads")


def thread_text(value: Thread) -> str:
    """A thread in its short form (without `degrade`)."""
    step = f"up.{value.step}" if value.up else value.step
    return f"{value.kind}:{step}" if step else value.kind
