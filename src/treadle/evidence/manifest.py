"""`test_manifest.json`: which test stands for which criterion of which spec.

    {"spec_id": "REQ-1", "acceptance_criteria_map": {"test_sorts": "AC-1: sorted", "test_whole": "contract:AC-1"}}

A test is named by its full id (`tests/test_a.py::test_sorts`), or by a part of it from the right that fits one test
only. It stands for a criterion, for several (a list), or with `contract:` for one as the contract suite sees it; what
follows the criterion's id is for people.

The file is a working paper of the run, and the repository may hold an older one: of an earlier feature that also had
an `AC-1`, or of the same spec before it was amended. Such entries must never stand for a criterion of this spec, so an
entry counts only if it belongs to the spec at hand:
- it names the spec itself (`"REQ-1/AC-1"`), or its file does (`spec_id`);
- or this run has added it to a file without `spec_id`, or to an older file whose `spec_id` the agent left as it was.
An entry that an earlier run wrote for the same spec counts only while its test does not pass on the base commit: then
it is still owed. A protocol that delivers its manifest, one per story, keeps all entries of the same story. Everything
else is set aside.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from treadle.evidence.criteria import spec_of
from treadle.evidence.findings import Problem, problem
from treadle.evidence.known_names import known_names
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.toolchains.results import Collected, TestRun
from treadle.toolchains.test_names import names_of

Tests = TestRun | Collected | Iterable[str]
NAME: Final = "test_manifest.json"
_MAP: Final = "acceptance_criteria_map"
_KEYS: Final = ("spec_id", "target_file", "test_suite", _MAP, "complexity_constraints")
_MOST: Final = 2_000_000
_CONTRACT: Final = "contract:"
_QUALIFIED: Final = re.compile(r"([\w.@-]{1,120})/(\S.*)", re.DOTALL)
_WANTED: Final = f'{{"spec_id": …, "{_MAP}": {{"<test>": "<criterion id>: …"}}}}'


class Entry(msgspec.Struct, frozen=True):
    """One test of a manifest, and one thing it stands for."""

    test: str
    criterion: str
    is_contract: bool
    file: str
    line: int
    spec: str = ""
    """The spec that the criterion belongs to, by the entry's own word or its file's; empty: nothing names one."""
    is_qualified: bool = False
    """The entry itself names the spec, as in `REQ-1/AC-1`."""

    @property
    def pair(self) -> tuple[str, str, bool]:
        """The entry without its place and spec, to find it again in an older version of its file."""
        return self.test, self.criterion, self.is_contract


class Manifest(msgspec.Struct, frozen=True):
    """All that the manifests of an instance say."""

    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    spec: str = ""
    """`spec_id` of the file."""
    set_aside: tuple[Entry, ...] = ()
    """Entries of other specs and of earlier runs; they stand for nothing here."""
    foreign: tuple[Entry, ...] = ()
    """Those of them that this run has written under another spec's name."""

    def tests(self, there: Tests) -> set[str]:
        """The listed tests that there are, those of the contract suite aside."""
        names = names_of(there)
        return {id_ for entry in self.entries if not entry.is_contract for id_ in names.resolve(entry.test)}

    def by_criterion(self, there: Tests, *, contract: bool = False) -> dict[str, list[str]]:
        """The tests of each criterion that there are."""
        names = names_of(there)
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.is_contract == contract:
                found.setdefault(entry.criterion, []).extend(names.resolve(entry.test))
        return found


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
    start = await s.git.start(s.case.state.run)
    read: list[Manifest] = []
    for file in files:
        if file in entries:
            now = parse(file, await s.text(file, commit) or "", known)
            older = parse(file, await s.text(file, start) or "", known)
            read.append(await _owed(s, start, *belonging(now, older, spec_of(s))))
    return Manifest(
        files=tuple(file for one in read for file in one.files),
        entries=tuple(entry for one in read for entry in one.entries),
        problems=tuple(fault for one in read for fault in one.problems),
        set_aside=tuple(entry for one in read for entry in one.set_aside),
        foreign=tuple(entry for one in read for entry in one.foreign),
    )


def belonging(now: Manifest, older: Manifest, spec: str) -> tuple[Manifest, list[Entry]]:
    """A manifest with the entries of one spec, and those of them that stood in the file before the run began.

    `older` is the file as it was then; one that was not there has no entries.
    """
    before = {entry.pair: entry.spec for entry in older.entries}
    own: list[Entry] = []
    aside: list[Entry] = []
    for entry in now.entries:
        if entry.pair in before:  # a new `spec_id` above old entries does not make them new
            is_own = before[entry.pair] == spec != ""
        elif entry.spec in ("", spec):
            is_own = True
        else:  # the agent has entered its tests beside those of an earlier spec, under that one's name
            is_own = entry.spec == older.spec and not entry.is_qualified
        (own if is_own else aside).append(entry)
    foreign = tuple(entry for entry in aside if entry.pair not in before)
    kept = msgspec.structs.replace(now, entries=tuple(own), set_aside=tuple(aside), foreign=foreign)
    return kept, [entry for entry in own if entry.pair in before]


async def _owed(s: Subject, start: str, listed: Manifest, earlier: list[Entry]) -> Manifest:
    """Set aside entries of earlier runs whose tests pass on the base commit: they demand nothing of this run."""
    declared = s.case.protocol.artifacts.get(NAME.removesuffix(".json"))
    is_kept = declared is not None and declared.delivered  # then it is the project's record, of what is done as well
    if not earlier or is_kept or not s.measure.settings.test:
        return listed
    passed = (await s.measure.known_suite(await s.git.tree(start))).passed
    settled = [entry for entry in earlier if names_of(passed).resolve(entry.test)]
    return msgspec.structs.replace(
        listed,
        entries=tuple(entry for entry in listed.entries if entry not in settled),
        set_aside=(*listed.set_aside, *settled),
    )


def parse(file: str, text: str, known: Iterable[str] = ()) -> Manifest:
    """A manifest's entries and what is wrong with it, by line; an empty text is a file that is not there."""
    if not text:
        return Manifest((file,), (), (problem("is empty", file, 1, expected=_WANTED, code="manifest.invalid"),))
    if len(text) > _MOST:
        return Manifest((file,), (), (problem(f"has more than {_MOST} characters", file, code="manifest.invalid"),))
    faults: list[Problem] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, file, text, faults))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        fault = problem(f"is not JSON: {error}", file, line, expected="valid JSON", code="manifest.invalid")
        return Manifest((file,), (), (fault,))
    listed = value.get(_MAP) if isinstance(value, dict) else None
    if not isinstance(listed, dict):
        fault = problem(f"has no object '{_MAP}'", file, 1, expected=_WANTED, code="manifest.invalid")
        return Manifest((file,), (), (*faults, fault))
    for key in value:
        if key not in _KEYS:
            wanted = f"one of {', '.join(_KEYS)}"
            what = f"has an unknown key '{key}'"
            faults.append(problem(what, file, _line(text, key), expected=wanted, code="manifest.invalid"))
    named = value.get("spec_id")
    spec = named.strip() if isinstance(named, str) else ""
    entries = tuple(_entries(file, text, listed, list(known), spec, faults))
    return Manifest((file,), entries, tuple(faults), spec)


def _entries(
    file: str, text: str, listed: dict[str, Any], known: list[str], spec: str, faults: list[Problem]
) -> Iterator[Entry]:
    for test, stated in listed.items():
        line = _line(text, test)
        for one in stated if isinstance(stated, list) else [stated]:
            if not isinstance(one, str) or not one.strip():
                what, wanted = f"'{test}' stands for nothing that can be read", '"<criterion id>: what it says"'
                faults.append(problem(what, file, line, expected=wanted, code="manifest.invalid"))
                continue
            is_contract = one.strip().lower().startswith(_CONTRACT)
            rest = one.strip()[len(_CONTRACT) :].strip() if is_contract else one.strip()
            criterion, other = _criterion(rest, known), ""
            if criterion not in known and (found := _QUALIFIED.match(rest)):
                other, criterion = found[1], _criterion(found[2], known)
            yield Entry(test, criterion, is_contract, file, line, other or spec, bool(other))


def _criterion(text: str, known: list[str]) -> str:
    """The criterion that a text starts with: a known one, or what stands before the first colon."""
    named = next((id_ for id_ in known if text == id_ or re.match(re.escape(id_) + r"[\s:,.–—-]", text)), "")
    return named or text.partition(":")[0].strip().removeprefix("@")


def _object(pairs: list[tuple[str, Any]], file: str, text: str, faults: list[Problem]) -> dict[str, Any]:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            line = _line(text, key, last=True)
            faults.append(problem(f"names '{key}' twice", file, line, expected="each once", code="manifest.invalid"))
        seen.add(key)
    return dict(pairs)


def _line(text: str, key: str, *, last: bool = False) -> int:
    """The line of a key."""
    quoted = json.dumps(key), json.dumps(key, ensure_ascii=False)
    places = [(text.rfind if last else text.find)(one) for one in quoted]
    return text.count("\n", 0, max(places)) + 1 if max(places) >= 0 else 1
