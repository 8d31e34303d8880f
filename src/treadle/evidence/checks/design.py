"""Compares the delta of a design with the documents that it changes (`delta_merged`, `affected_paths`).

Reads the delta document (added, modified, removed) and OpenAPI and AsyncAPI contracts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from treadle.evidence.document_text import statements, states, without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, problem
from treadle.evidence.gherkin import open_questions, section
from treadle.evidence.subject import Subject
from treadle.protocol.artifacts import place_of

# OpenAPI and AsyncAPI documents: YAML or JSON with the parts that every reader of them relies on.

METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
_MOST: Final = 5_000_000


def contract_problems(file: str, text: str) -> list[CheckProblem]:
    """Return the problems of a contract; its first key decides between OpenAPI and AsyncAPI."""
    if len(text) > _MOST:
        return [problem(f"has more than {_MOST} characters", file, code="document.too_large")]
    value, fault = _loaded(file, text)
    if fault:
        return [fault]
    if not isinstance(value, dict):
        return [problem("is not a mapping", file, 1, expected="`openapi: …` or `asyncapi: …`", code="api.kind")]
    info = value.get("info")
    missing = [key for key in ("title", "version") if not isinstance(info, dict) or key not in info]
    found = [problem(f"has no info.{key}", file, 1, code="api.no_info") for key in missing]
    if "openapi" in value or "swagger" in value:
        found += _paths(file, text, value)
    elif "asyncapi" in value:
        if not isinstance(value.get("channels"), dict):
            found.append(
                problem("has no channels", file, 1, expected="`channels:` with at least one", code="api.no_channels")
            )
    else:
        found.append(
            problem(
                "declares neither `openapi` nor `asyncapi`",
                file,
                1,
                expected="`openapi: 3.x` or `asyncapi: 2.x`",
                code="api.kind",
            )
        )

    # References inside of the document that lead nowhere.
    for place in dict.fromkeys(re.findall(r"""\$ref['"]?\s*:\s*['"]?#/([^'"\s,}]+)""", text)):
        if not leads(value, place):
            what = f"refers to #/{place}, which does not exist"
            found.append(problem(what, file, _line_of_text(text, place), code="document.dead_reference"))
    return found


def contract_value(text: str | None) -> dict[str, Any]:
    """Parse a contract; empty if it is missing or unreadable."""
    value, fault = _loaded("", text or "") if text and len(text) <= _MOST else (None, None)
    return value if isinstance(value, dict) and not fault else {}


def _loaded(file: str, text: str) -> tuple[Any, CheckProblem | None]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only stories with contracts pay for it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        return YAML(typ="safe", pure=True).load(text), None
    except (YAMLError, ValueError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0]
        return None, problem(f"cannot be read: {said}", file, mark.line + 1 if mark else 0, code="document.unreadable")


def _paths(file: str, text: str, value: dict[str, Any]) -> list[CheckProblem]:
    paths = value.get("paths")
    if not isinstance(paths, dict):
        return [problem("has no paths", file, 1, expected="`paths:`", code="api.no_paths")]
    found: list[CheckProblem] = []
    for path, item in paths.items():
        if not str(path).startswith("/"):
            found.append(
                problem(
                    f"the path '{path}' does not start with /", file, _line_of_text(text, str(path)), code="api.path"
                )
            )
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in METHODS and not (isinstance(operation, dict) and operation.get("responses")):
                where = _line_of_text(text, str(path))
                found.append(
                    problem(
                        f"{str(method).upper()} {path} has no responses",
                        file,
                        where,
                        expected="its status codes",
                        code="api.no_responses",
                    )
                )
    return found


def outside_references(text: str) -> list[tuple[str, str]]:
    """Files that a contract refers to, and the place in each."""
    found = re.findall(r"""\$ref['"]?\s*:\s*['"]?([^'"\s,}#]+)(?:#/?([^'"\s,}]*))?""", text)
    return [(file, place) for file, place in dict.fromkeys(found) if "://" not in file]


def leads(value: Any, place: str) -> bool:
    """Whether there is such a place in a contract."""
    for part in place.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _line_of_text(text: str, part: str) -> int:
    at = text.find(part)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


# Compares two contracts (OpenAPI, AsyncAPI); the delta of the design names the differences that are allowed.

_ENTRIES: Final = ("paths", "webhooks", "channels", "operations")
_FREE: Final = frozenset({"openapi", "asyncapi", "swagger", "info", "tags", *_ENTRIES, "components"})
"""Parts of a contract that are compared entry by entry, or that may change freely."""
_METHOD: Final = "|".join(sorted(METHODS)).upper()
_REFERENCE: Final = re.compile(r"'\$ref': '#/components/([^'/]+)/([^'/]+)'")


def unnamed_changes(before: dict[str, Any], after: dict[str, Any], delta: str) -> list[str]:
    """Return the differences between two contracts that the delta does not name.

    Components that a named entry refers to count as named.
    """
    entries = [(part, key, old, new) for part in _ENTRIES for key, old, new in _both(before, after, part)]
    named = [one for _, key, old, new in entries if _mentions(delta, key) for one in (old, new)]
    changed = [one for one in entries if one[2] != one[3]]
    missing = [
        f"{part} {key}{more}" for part, key, old, new in changed for more in _beyond(delta, key, old, new, named)
    ]
    own = _reached([before, after], named)
    was, is_now = _mapping(before.get("components")), _mapping(after.get("components"))
    missing += [
        f"components.{kind}.{key}"
        for kind in dict.fromkeys((*was, *is_now))
        for key, old, new in _both(was, is_now, kind)
        if old != new and not _mentions(delta, key) and (kind, key) not in own
    ]
    others = dict.fromkeys(key for key in (*before, *after) if key not in _FREE and before.get(key) != after.get(key))
    return [*missing, *(key for key in others if not _mentions(delta, key))]


def _beyond(delta: str, key: str, old: Any, new: Any, named: list[Any]) -> Iterator[str]:
    """Yield the parts of a changed entry that the delta does not name: the whole entry, or some of its methods."""
    mentions = _mentions(delta, key)
    if not mentions:
        yield from () if _refers(new if new is not None else old, named) else ("",)
    elif all(mentions):  # each time with a method, so others are not meant
        allowed = {method for methods in mentions for method in methods}
        for method, was, is_ in _both({"": old}, {"": new}, ""):
            if was != is_ and method in METHODS - allowed:
                yield f" {method}"


def _mentions(delta: str, key: str) -> list[set[str]]:
    """Where the delta names a path or a part, in full, not as the beginning of a longer one: with which methods."""
    methods = rf"(?P<methods>(?:\b(?:{_METHOD})\b[`\s,/|]*(?:(?:and|or)\s+)?)*)"
    found = re.finditer(rf"{methods}(?<![\w/}}]){re.escape(key)}(?![\w/{{-])", delta)
    return [{one.lower() for one in re.findall(_METHOD, match["methods"])} for match in found]


def _reached(contracts: Iterable[dict[str, Any]], named: list[Any]) -> set[tuple[str, str]]:
    """The components that the named entries refer to, directly or through each other."""
    listed = [_mapping(one.get("components")) for one in contracts]
    reached: set[tuple[str, str]] = set()
    fresh = set(_REFERENCE.findall(repr(named)))
    while fresh:
        reached |= fresh
        parts = [_mapping(one.get(kind)).get(key) for kind, key in fresh for one in listed]
        fresh = set(_REFERENCE.findall(repr(parts))) - reached
    return reached


def _refers(value: Any, named: list[Any]) -> bool:
    """Whether an entry is about a channel that the delta names, as operations are."""
    channel = value.get("channel") if isinstance(value, dict) else None
    return channel is not None and any(channel == one.get("channel") for one in named if isinstance(one, dict))


def _both(before: dict[str, Any], after: dict[str, Any], part: str) -> list[tuple[str, Any, Any]]:
    """Pair the entries of a part of two contracts: key, old value, new value; None where an entry is missing."""
    old, new = _mapping(before.get(part)), _mapping(after.get(part))
    return [(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


# The delta of a design: its added, modified and removed items.

SECTIONS: Final = ("ADDED", "MODIFIED", "REMOVED")
_CHAPTER: Final = 2
"""The level of the headings of its sections."""
_BULLET: Final = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+\.)\s+\S")
_CODE: Final = re.compile(r"`+(?P<code>[^`\n]+)`+")
_SHOWN: Final = 60
_LEAST: Final = 3
"""Letters of a name; a shorter one stands in every document."""
_DECIDED: Final = "a decision; what only a person can decide is asked by leaving with `needs_human`"
IN_BACKQUOTES: Final = "its signature, structure or path in `backquotes`"
_AFTER: Final = re.compile(r"\bafter\b|→|->|=>", re.IGNORECASE)


class DeltaItem(msgspec.Struct, frozen=True):
    """One item of a delta."""

    section: str
    line: int
    signatures: tuple[str, ...]
    """The texts in backquotes; of a modified item, only those of its new form."""


def delta_items(text: str) -> list[DeltaItem]:
    """The items of a delta: the outermost bullets of its three sections."""
    found: list[DeltaItem] = []
    current, taken = "", list[str]()
    start = 0
    for number, line in enumerate([*text.splitlines(), "# end"], 1):
        heading = re.match(r"#+\s*(?P<name>\w+)", line)
        bullet = _BULLET.match(line)
        if taken and (heading or (bullet and not bullet["indent"])):
            found.append(_item(current, start, "\n".join(taken)))
            taken = []
        if heading:
            level = len(line) - len(line.lstrip("#"))
            name = heading["name"].upper()
            current = name if name in SECTIONS else "" if level <= _CHAPTER else current
        elif current and (taken or bullet):
            start = start if taken else number
            taken.append(line)
    return found


def _item(section: str, line: int, text: str) -> DeltaItem:
    # Texts in backquotes are blanked out before the search for an arrow: one in a signature separates nothing.
    marks = list(_AFTER.finditer(_CODE.sub(lambda match: " " * len(match[0]), text))) if section == "MODIFIED" else []
    names = [match["code"].strip() for match in _CODE.finditer(text[marks[-1].end() :] if marks else text)]
    return DeltaItem(section, line, tuple(name for name in names if len(name) >= _LEAST))


def delta_problems(file: str, text: str) -> list[CheckProblem]:
    """Return the reasons why a document is not a well-formed delta; its comments do not count."""
    text = without_comments(text)
    bodies = {name: section(text, name) for name in SECTIONS}
    found = [
        problem(
            f"has no section {name}",
            file,
            expected=f'`## {name}`, with "None" below it if there is nothing',
            code="delta.no_section",
        )
        for name, body in bodies.items()
        if body is None
    ]
    found += [
        problem(
            f"says nothing below {name}",
            file,
            _heading_line(text, name),
            expected='items, or "None"',
            code="delta.empty_section",
        )
        for name, body in bodies.items()
        if body is not None and not body.strip()
    ]
    if not found and all(_is_none(body or "") for body in bodies.values()):
        found.append(problem("changes nothing", file, expected="at least one item", code="delta.empty"))
    return found or list(_item_problems(file, text))


def _item_problems(file: str, text: str) -> Iterator[CheckProblem]:
    for one in delta_items(text):
        if not one.signatures:
            what = f"an item of {one.section} names nothing that could be looked for in the design document"
            yield problem(what, file, one.line, expected=IN_BACKQUOTES, code="delta.nameless")

    # No check would look for text in a section before its first item.
    wanted = f"a bullet for everything that changes, each with {IN_BACKQUOTES}"
    for number, line in loose_lines(text):
        yield problem(
            f"{line.strip()[:_SHOWN]!r} belongs to no item", file, number, expected=wanted, code="delta.loose"
        )

    # Questions are asked before the design, and a later one goes to a person at once.
    for question in open_questions(text):
        number = text.count("\n", 0, text.find(question)) + 1
        yield problem(
            f"has an open question: {question}", file, number, expected=_DECIDED, code="document.open_question"
        )


def loose_lines(text: str) -> list[tuple[int, str]]:
    """Number and text of the lines of the three sections that stand before the first item, or "None"."""
    found: list[tuple[int, str]] = []
    current, in_item = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"#+\s*(?P<name>\w+)", line):
            name, level = heading["name"].upper(), len(line) - len(line.lstrip("#"))
            current, in_item = (name if name in SECTIONS else "" if level <= _CHAPTER else current), False
        elif current and not in_item:
            in_item = _BULLET.match(line) is not None or _is_none(line)
            found += [(number, line)] if line.strip() and not in_item else []
    return found


def _is_none(body: str) -> bool:
    return re.fullmatch(r"[\s*_.(`-]*none[\s*_.)`-]*", body, re.IGNORECASE) is not None


def _heading_line(text: str, name: str) -> int:
    heading = re.compile(rf"##+\s*{name}\b", re.IGNORECASE)
    return next((number for number, line in enumerate(text.splitlines(), 1) if heading.match(line)), 0)


_DESIGN: Final = "sdd"
_CONTRACTS: Final = ("openapi", "asyncapi")
_PATH: Final = re.compile(r"(?:[A-Z]+ )?/\S*")
_NAMED: Final = f"a bullet with {IN_BACKQUOTES}; if it is part of the design already, write so into the delta"


async def delta_merged(s: Subject) -> CheckOutcome:
    """Check that the design document contains the delta's added and modified items, and none of the removed ones."""
    place, text = await _delta(s)
    design = _place(s, _DESIGN)
    if text is None:
        return conclude(
            [problem("there is no delta to be merged", place, expected="the delta of the story", code="delta.missing")]
        )
    whole = await s.text(design) or ""
    said, before = statements(whole), statements(await s.text(design, await s.origin()) or "")
    problems = [
        problem(
            f"{line.strip()!r} belongs to no item, so Treadle cannot look for it in {design}",
            place,
            number,
            expected=_NAMED,
            code="delta.loose",
        )
        for number, line in loose_lines(text)
    ]
    for one in delta_items(text):
        stands = [name for name in one.signatures if states(without_comments(whole), name)]
        if not one.signatures:
            what = f"an item of {one.section} has no name, so Treadle cannot look for it in {design}"
            problems.append(problem(what, place, one.line, expected=_NAMED, code="delta.nameless"))
        elif one.section == "REMOVED" and stands:
            what = f"`{stands[0]}` is removed by the delta, but is still in {design}"
            problems.append(problem(what, place, one.line, expected=f"{design} without it", code="delta.not_removed"))
        elif one.section != "REMOVED" and (missing := _unmerged(one.signatures, said, before)):
            where = (
                "only in a comment, a quotation, a sample or a bare heading of" if states(whole, missing) else "not in"
            )
            what = f"`{missing}` ({one.section}) is {where} {design}"
            wanted = f"{design} states it, verbatim, in its own text or in a block of code"
            problems.append(problem(what, place, one.line, expected=wanted, code="delta.not_merged"))
    return conclude(problems)


def _unmerged(names: Sequence[str], said: str, before: str) -> str:
    """Return a new name that the design lacks; empty if it has at least one of the item's new names.

    Paths may appear in the contracts only.
    """
    own = [name for name in names if not _PATH.fullmatch(name)] or names
    new = [name for name in own if not states(before, name)]
    return "" if not new or any(states(said, name) for name in new) else new[0]


async def affected_paths(s: Subject) -> CheckOutcome:
    """Refuse changes of a contract that the delta does not name, and operations of the delta that it lacks."""
    place, delta = await _delta(s)
    changed = {change.path for change in s.work.changed}
    problems: list[CheckProblem] = []
    for name in _CONTRACTS:
        file = _place(s, name)
        if file in changed:
            before, after = [contract_value(text) for text in (await s.text(file, s.work.base), await s.text(file))]
            wanted = f"as it was, or an item of {place} that names it"
            problems += [
                problem(
                    f"{what} was changed, and the delta does not name it",
                    file,
                    expected=wanted,
                    code="delta.unnamed_change",
                )
                for what in unnamed_changes(before, after, delta or "")
            ]
    return conclude([*problems, *await _undone(s, place, delta or "")])


_OPERATION: Final = re.compile(rf"(?:(?P<method>{_METHOD})\s+)?(?P<path>/[^\s.]*)")
_PARAMETER: Final = re.compile(r"\{[^{}/]*\}|:\w+")


async def _undone(s: Subject, place: str, delta: str) -> list[CheckProblem]:
    """Return a problem for each path (`POST /orders`, `/orders`) that the delta adds and no contract has.

    Contracts are read as data, so a comment in one is no path. A project without a contract has none to update.
    """
    texts = [await s.text(file) for name in _CONTRACTS if (file := _place(s, name))]
    has = {one for text in texts for one in _offered(contract_value(text))}
    problems: list[CheckProblem] = []
    for one in delta_items(delta) if has else ():
        is_gone = one.section == "REMOVED"
        for match in (found for name in one.signatures if (found := _OPERATION.fullmatch(name))):
            method, path = (match["method"] or "").lower(), _nameless(match["path"].partition("?")[0])
            # The contract's paths may leave out the beginning that its servers name.
            known = [it for it, there in has if path == there or (there and path.endswith(there))]
            if (method in known or (not method and bool(known))) == is_gone:
                file = _place(s, _CONTRACTS[0])
                what = f"`{match[0]}` ({one.section}) is {'still' if is_gone else 'not'} in {file}"
                wanted = f"{file} {'without it' if is_gone else 'with it'} below `paths`; a comment does not count"
                problems.append(problem(what, place, one.line, expected=wanted, code="delta.contract"))
    return problems


def _offered(contract: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Methods and paths of an OpenAPI document; the channels of an AsyncAPI document, without a method."""
    for path, item in _mapping(contract.get("paths")).items():
        methods = [str(key).lower() for key in item if str(key).lower() in METHODS] if isinstance(item, dict) else []
        yield from ((method, _nameless(path)) for method in methods)
    for name, item in _mapping(contract.get("channels")).items():
        yield from (("", _nameless(str(it))) for it in (name, item.get("address") if isinstance(item, dict) else name))


def _nameless(path: str) -> str:
    """Return a path without the names of its parameters."""
    return _PARAMETER.sub("{}", path).rstrip("/")


async def _delta(s: Subject) -> tuple[str, str | None]:
    """Where the delta of the story lies, and its text without comments; part of the design, it lies in the archive."""
    place, text = await _delta_file(s)
    return place, None if text is None else without_comments(text)


async def _delta_file(s: Subject) -> tuple[str, str | None]:
    place = _place(s, "delta")
    text = await s.text(place) if place else None
    if text is not None:
        return place, text
    declared = s.case.protocol.artifacts.get("deltas")
    folder = declared.path.rpartition("/")[0] if declared else ""
    name = re.compile(rf"{re.escape(folder)}/\d{{4}}-\d\d-\d\d-{re.escape(str(s.input.get('id', '')))}(-\d+)?\.md")
    filed = sorted((path for path in await s.entries() if name.fullmatch(path)), key=lambda path: (len(path), path))
    return (filed[-1], await s.text(filed[-1])) if filed else (place, None)


def _place(s: Subject, artifact: str) -> str:
    declared = s.case.protocol.artifacts.get(artifact)
    return place_of(declared, s.input) if declared else ""
