"""`test_manifest.json`: which test stands for which criterion.

    {"spec_id": "REQ-1", "acceptance_criteria_map": {"test_sorts": "AC-1: sorted", "test_whole": "contract:AC-1"}}

A test is named by its id or by a part of it from the right (`test_sorts`, `test_a.py::test_sorts`). It stands for a
criterion, for several (a list), or with `contract:` for one as the contract suite sees it; what follows the criterion's
id is for people.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from treadle.evidence.findings import Problem, problem
from treadle.evidence.known_names import known_names
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol

NAME: Final = "test_manifest.json"
_MAP: Final = "acceptance_criteria_map"
_KEYS: Final = ("spec_id", "target_file", "test_suite", _MAP, "complexity_constraints")
_MOST: Final = 2_000_000
_CONTRACT: Final = "contract:"


class Entry(msgspec.Struct, frozen=True):
    """One test of a manifest, and one thing it stands for."""

    test: str
    criterion: str
    is_contract: bool
    file: str
    line: int


class Manifest(msgspec.Struct, frozen=True):
    """All that the manifests of an instance say."""

    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()

    def tests(self, collected: Iterable[str]) -> set[str]:
        """The collected tests that are listed, those of the contract suite aside."""
        known = list(collected)
        return {id_ for entry in self.entries if not entry.is_contract for id_ in matching(entry.test, known)}

    def by_criterion(self, collected: Iterable[str], *, contract: bool = False) -> dict[str, list[str]]:
        """The collected tests of each criterion."""
        known = list(collected)
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.is_contract == contract:
                found.setdefault(entry.criterion, []).extend(matching(entry.test, known))
        return found


def matching(name: str, collected: Iterable[str]) -> list[str]:
    """The collected tests that a name means: with all their parameters, unless it names those too."""
    return [id_ for id_ in collected if _means(name, id_) or _means(name, id_.partition("[")[0])]


def _means(name: str, id_: str) -> bool:
    return id_ == name or id_.endswith((f"::{name}", f"/{name}", f".{name}", f"#{name}", f" {name}"))


def has_own_manifest(protocol: Protocol) -> bool:
    """Whether every instance has a manifest of its own, at a place that follows from its input."""
    declared = protocol.artifacts.get(NAME.removesuffix(".json"))
    return declared is not None and "{" in declared.path


def manifest_place(protocol: Protocol, given: Mapping[str, Json]) -> str:
    """Where the manifest of an instance with this input lies; empty if its protocol names no place."""
    declared = protocol.artifacts.get(NAME.removesuffix(".json"))
    return place_of(declared, given) if declared else ""


async def read_manifest(s: Subject, commit: str = "") -> Manifest:
    """The manifests of an instance: the one that its protocol names a place for, or all that the tree has."""
    place = manifest_place(s.case.protocol, s.input)
    entries = await s.entries(commit)
    files = [place] if place else sorted(path for path in entries if path.rpartition("/")[2] == NAME)
    known = sorted(await known_names(s), key=len, reverse=True)
    texts = {file: await s.text(file, commit) for file in files if file in entries}
    parts = [parse(file, text or "", known) for file, text in texts.items()]
    return Manifest(
        tuple(texts),
        tuple(entry for part in parts for entry in part.entries),
        tuple(fault for part in parts for fault in part.problems),
    )


def parse(file: str, text: str, known: Iterable[str] = ()) -> Manifest:
    """A manifest's entries and what is wrong with it, by line."""
    if len(text) > _MOST:
        return Manifest((file,), (), (problem(f"has more than {_MOST} characters", file),))
    faults: list[Problem] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, file, text, faults))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        return Manifest((file,), (), (problem(f"is not JSON: {error}", file, line, expected="valid JSON"),))
    listed = value.get(_MAP) if isinstance(value, dict) else None
    if not isinstance(listed, dict):
        wanted = f'{{"spec_id": …, "{_MAP}": {{"<test>": "<criterion id>: …"}}}}'
        return Manifest((file,), (), (*faults, problem(f"has no object '{_MAP}'", file, 1, expected=wanted)))
    faults += [
        problem(f"has an unknown key '{key}'", file, _line(text, key), expected=f"one of {', '.join(_KEYS)}")
        for key in value
        if key not in _KEYS
    ]
    entries = tuple(_entries(file, text, listed, list(known), faults))
    return Manifest((file,), entries, tuple(faults))


def _entries(file: str, text: str, listed: dict[str, Any], known: list[str], faults: list[Problem]) -> Iterator[Entry]:
    for test, stated in listed.items():
        line = _line(text, test)
        for one in stated if isinstance(stated, list) else [stated]:
            if not isinstance(one, str) or not one.strip():
                wanted = '"<criterion id>: what it says"'
                faults.append(problem(f"'{test}' stands for nothing that can be read", file, line, expected=wanted))
                continue
            is_contract = one.strip().lower().startswith(_CONTRACT)
            rest = one.strip()[len(_CONTRACT) :].strip() if is_contract else one.strip()
            yield Entry(test, _criterion(rest, known), is_contract, file, line)


def _criterion(text: str, known: list[str]) -> str:
    """The criterion that a text starts with: a known one, or what stands before the first colon."""
    named = next((id_ for id_ in known if text == id_ or re.match(re.escape(id_) + r"[\s:,.–—-]", text)), "")
    return named or text.partition(":")[0].strip().removeprefix("@")


def _object(pairs: list[tuple[str, Any]], file: str, text: str, faults: list[Problem]) -> dict[str, Any]:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            faults.append(problem(f"names '{key}' twice", file, _line(text, key, last=True), expected="each once"))
        seen.add(key)
    return dict(pairs)


def _line(text: str, key: str, *, last: bool = False) -> int:
    """The line of a key."""
    quoted = json.dumps(key), json.dumps(key, ensure_ascii=False)
    places = [(text.rfind if last else text.find)(one) for one in quoted]
    return text.count("\n", 0, max(places)) + 1 if max(places) >= 0 else 1
