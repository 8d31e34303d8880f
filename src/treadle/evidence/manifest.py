"""Reads `test_manifest.json`, which assigns tests to the criteria of a spec.

    {"spec_id": "REQ-1", "acceptance_criteria_map": {"test_sorts": "AC-1: sorted", "test_whole": "contract:AC-1"}}

A test is named by its full id (`tests/test_a.py::test_sorts`), or by a part of it from the right that fits one test
only. It stands for a criterion, for several (a list), or with `contract:` for one as the contract suite sees it; text
after the criterion's id is for people. With `holds:` it is an old test of behaviour that stays as it is: it cannot be
seen failing, so a criterion that has no other test needs a person's confirmation at the merge.

The file is a working paper of the run, and the repository may contain an older one: of an earlier feature that also had
an `AC-1`, or of the same spec before it was amended. Such entries must never stand for a criterion of this spec, so an
entry counts only if it belongs to the spec at hand:
- it names the spec itself (`"REQ-1/AC-1"`), or its file does (`spec_id`);
- or this run has added it to a file without `spec_id`, or to an older file in which the agent left the old `spec_id`.
An entry is the same as an older one only if its criterion, its marks and its spec, where it names one, are the same,
and if its test is still written as it was: an author who rewrites the test for an amended criterion, or enters it with
`holds:` instead, says something new under the old name.
An entry that an earlier run wrote for the same spec counts only while its test does not pass on the base commit: then
it is still owed. A protocol that delivers its manifest, one per story, keeps all entries of the same story. Everything
else is set aside.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from treadle.evidence.checks.documents import scenario_text
from treadle.evidence.criteria import own_criteria, spec_of
from treadle.evidence.findings import CheckProblem, problem
from treadle.evidence.gherkin import scenarios
from treadle.evidence.subject import Subject, accepted_exits
from treadle.protocol.artifacts import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.toolchains.results import CollectedTests, TestRun
from treadle.toolchains.test_names import names_of

# The names that a test may stand for: the criteria of an instance, and its scenarios.


async def known_names(s: Subject) -> set[str]:
    """Return the criteria and the accepted scenarios, or the existing scenarios if no accepted exit lists any."""
    listed = [one.payload.get("scenarios") for one in accepted_exits(s.case, s.inst)]
    texts = [text for one in listed if isinstance(one, list) for text in one if isinstance(text, str)]
    return {*own_criteria(s), *(texts or [one.name for one in scenarios(await scenario_text(s))])}


Tests = TestRun | CollectedTests | Iterable[str]
NAME: Final = "test_manifest.json"
_MAP: Final = "acceptance_criteria_map"
_KEYS: Final = ("spec_id", "target_file", "test_suite", _MAP, "complexity_constraints")
_MOST: Final = 2_000_000
_CONTRACT: Final = "contract:"
_HOLDS: Final = "holds:"
_QUALIFIED: Final = re.compile(r"([\w.@-]{1,120})/(\S.*)", re.DOTALL)
_WANTED: Final = f'{{"spec_id": …, "{_MAP}": {{"<test>": "<criterion id>: …"}}}}'


class ManifestEntry(msgspec.Struct, frozen=True):
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
    holds: bool = False
    """The author's claim that the test passed before this work, and that the criterion demands nothing new."""

    @property
    def claim(self) -> tuple[str, str, bool, bool, str]:
        """The content of the entry, without its place and the spec of its file, to find it in an older version."""
        return self.test, self.criterion, self.is_contract, self.holds, self.spec if self.is_qualified else ""


class Manifest(msgspec.Struct, frozen=True):
    """The merged manifests of an instance."""

    files: tuple[str, ...] = ()
    entries: tuple[ManifestEntry, ...] = ()
    problems: tuple[CheckProblem, ...] = ()
    spec: str = ""
    """`spec_id` of the file."""
    set_aside: tuple[ManifestEntry, ...] = ()
    """Entries of other specs and of earlier runs; they stand for nothing here."""
    foreign: tuple[ManifestEntry, ...] = ()
    """Those of them that this run has written under another spec's name."""

    def tests(self, there: Tests) -> set[str]:
        """The listed tests that there are, those of the contract suite aside."""
        names = names_of(there)
        return {id_ for entry in self.entries if not entry.is_contract for id_ in names.resolve(entry.test)}

    def by_criterion(self, there: Tests, *, contract: bool = False) -> dict[str, list[str]]:
        """Return the existing tests of each criterion; those marked `holds:` only where it has no other entry."""
        names, held = names_of(there), self.held_criteria
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.is_contract == contract and (not entry.holds or entry.criterion in held):
                found.setdefault(entry.criterion, []).extend(names.resolve(entry.test))
        return found

    def held_tests(self, there: Tests) -> set[str]:
        """Return the tests that are marked `holds:` and stand for nothing else."""
        names = names_of(there)
        marks = [(id_, entry.holds) for entry in self.entries for id_ in names.resolve(entry.test)]
        return {id_ for id_, _ in marks} - {id_ for id_, holds in marks if not holds}

    @property
    def held_criteria(self) -> set[str]:
        """Criteria with only entries marked `holds:`."""
        new = {entry.criterion for entry in self.entries if not entry.is_contract and not entry.holds}
        return {entry.criterion for entry in self.entries if entry.holds} - new


def has_own_manifest(protocol: Protocol) -> bool:
    """Whether every instance has a manifest of its own, at a place that follows from its input."""
    declared = protocol.artifacts.get(NAME.removesuffix(".json"))
    return declared is not None and "{" in declared.path


def manifest_place(protocol: Protocol, given: Mapping[str, Json]) -> str:
    """Where the manifest of an instance with this input lies; empty if its protocol names no place."""
    declared = protocol.artifacts.get(NAME.removesuffix(".json"))
    return place_of(declared, given) if declared else ""


async def read_manifest(s: Subject, commit: str = "") -> Manifest:
    """Read the manifests of an instance: the one at the place that its protocol names, or all in the tree."""
    place = manifest_place(s.case.protocol, s.input)
    entries = await s.entries(commit)
    files = [place] if place else sorted(path for path in entries if path.rpartition("/")[2] == NAME)
    known = sorted(await known_names(s), key=len, reverse=True)
    start = await s.start()
    read: list[Manifest] = []
    for file in files:
        if file in entries:
            now = parse_manifest(file, await s.text(file, commit) or "", known)
            older = parse_manifest(file, await s.text(file, start) or "", known)
            old = {entry.claim for entry in older.entries}
            kept = [entry.test for entry in now.entries if entry.claim in old]
            changed = await _changed_tests(s, start, commit or s.work.commit, kept)
            read.append(await _owed(s, start, *entries_of_spec(now, older, spec_of(s), changed)))
    return Manifest(
        files=tuple(file for one in read for file in one.files),
        entries=tuple(entry for one in read for entry in one.entries),
        problems=tuple(fault for one in read for fault in one.problems),
        set_aside=tuple(entry for one in read for entry in one.set_aside),
        foreign=tuple(entry for one in read for entry in one.foreign),
    )


async def _changed_tests(s: Subject, start: str, commit: str, tests: Iterable[str]) -> set[str]:
    """Those of some tests that are new since the run began, or written otherwise."""
    from treadle.evidence.baseline import written_test  # noqa: PLC0415 - it reads manifests, too

    wanted = list(tests)
    if not wanted or not s.measure.settings.test:
        return set()
    seen = await s.measure.known_suite(await s.git.tree(start))
    names, changed = names_of(seen), set[str]()
    for test in wanted:
        for id_ in names.resolve(test)[:1]:  # of a test with cases, all have one text
            file = (seen.tests[id_].file if id_ in seen.tests else "") or id_.partition("::")[0]
            then, now = [written_test(file, await s.git.show(one, file), id_) for one in (start, commit)]
            changed |= {test} if then != now else set()
        changed |= set() if names.resolve(test) else {test}
    return changed


def entries_of_spec(
    now: Manifest, older: Manifest, spec: str, changed: Collection[str] = ()
) -> tuple[Manifest, list[ManifestEntry]]:
    """Return a manifest with the entries of one spec, and those of them that were in the file before the run began.

    `older` is the file as it was then; a missing file has no entries. `changed`: the tests that the run has written
    since, or rewritten.
    """
    before = {entry.claim: entry.spec for entry in older.entries}
    own: list[ManifestEntry] = []
    aside: list[ManifestEntry] = []
    for entry in now.entries:
        if entry.claim in before:  # a new `spec_id` above old entries makes only those new whose tests are new, too
            is_own = before[entry.claim] == spec != "" or (entry.spec == spec != "" and entry.test in changed)
        elif entry.spec in ("", spec):
            is_own = True
        else:  # the agent has entered its tests beside those of an earlier spec, under that one's name
            is_own = entry.spec == older.spec and not entry.is_qualified
        (own if is_own else aside).append(entry)
    foreign = tuple(entry for entry in aside if entry.claim not in before)
    kept = msgspec.structs.replace(now, entries=tuple(own), set_aside=tuple(aside), foreign=foreign)
    return kept, [entry for entry in own if entry.claim in before and entry.test not in changed]


async def _owed(s: Subject, start: str, listed: Manifest, earlier: list[ManifestEntry]) -> Manifest:
    """Set aside entries of earlier runs with tests that pass on the base commit: they demand nothing of this run."""
    declared = s.case.protocol.artifacts.get(NAME.removesuffix(".json"))
    is_kept = declared is not None and declared.delivered  # then it is the project's record, of finished work as well
    if not earlier or is_kept or not s.measure.settings.test:
        return listed
    passed = (await s.measure.known_suite(await s.git.tree(start))).passed
    settled = [entry for entry in earlier if not entry.holds and names_of(passed).resolve(entry.test)]
    return msgspec.structs.replace(
        listed,
        entries=tuple(entry for entry in listed.entries if entry not in settled),
        set_aside=(*listed.set_aside, *settled),
    )


def parse_manifest(file: str, text: str, known: Iterable[str] = ()) -> Manifest:
    """Parse a manifest to entries and problems, by line; an empty text is a missing file."""
    if not text:
        return Manifest((file,), (), (problem("is empty", file, 1, expected=_WANTED, code="manifest.invalid"),))
    if len(text) > _MOST:
        return Manifest((file,), (), (problem(f"has more than {_MOST} characters", file, code="manifest.invalid"),))
    faults: list[CheckProblem] = []
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
    file: str, text: str, listed: dict[str, Any], known: list[str], spec: str, faults: list[CheckProblem]
) -> Iterator[ManifestEntry]:
    for test, stated in listed.items():
        line = _line(text, test)
        for one in stated if isinstance(stated, list) else [stated]:
            if not isinstance(one, str) or not one.strip():
                what, wanted = f"'{test}' stands for nothing that can be read", '"<criterion id>: what it says"'
                faults.append(problem(what, file, line, expected=wanted, code="manifest.invalid"))
                continue
            said = one.strip()
            mark = next((mark for mark in (_CONTRACT, _HOLDS) if said.lower().startswith(mark)), "")
            rest = said[len(mark) :].strip()
            criterion, other = _criterion(rest, known), ""
            if criterion not in known and (found := _QUALIFIED.match(rest)):
                other, criterion = found[1], _criterion(found[2], known)
            yield ManifestEntry(
                test, criterion, mark == _CONTRACT, file, line, other or spec, bool(other), mark == _HOLDS
            )


def _criterion(text: str, known: list[str]) -> str:
    """Return the criterion that a text starts with: a known one, or the text before the first colon."""
    named = next((id_ for id_ in known if text == id_ or re.match(re.escape(id_) + r"[\s:,.–—-]", text)), "")
    return named or text.partition(":")[0].strip().removeprefix("@")


def _object(pairs: list[tuple[str, Any]], file: str, text: str, faults: list[CheckProblem]) -> dict[str, Any]:
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
