"""`memory_true`: a step's additions to the project's memory agree with the log and the tree of this run.

An agent writes the memory (`PROJECT_MEMORY.md`), and every later agent reads it, so a lie in it outlives the run. The
check compares only the added lines with the facts; older lines, and those of a person, stay as they are. Prose is free,
but statements about a story, its status, numbers of tests, files and the commit have to be true.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

import msgspec

from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, problem
from treadle.evidence.subject import Subject, accepted_commits, accepted_exits, payload
from treadle.evidence.suite import bad_tests, suite_on_work
from treadle.protocol.artifacts import place_of
from treadle.toolchains.test_names import function_of

MEMORY: Final = "memory"
"""The name of the artifact."""
_WORDS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT: Final = rf"\b(?P<n>\d+|{'|'.join(_WORDS)})"
_TESTS: Final = re.compile(rf"{_COUNT}\s+(?:(?:more|new|unit|green|passing)\s+)*tests\b", re.IGNORECASE)
_PASSED: Final = re.compile(rf"{_COUNT}\s+(?:tests?\s+)?(?:are\s+)?(?:passed|passing|pass\b|green)", re.IGNORECASE)
_FAILED: Final = re.compile(rf"{_COUNT}\s+(?:tests?\s+)?(?:are\s+)?(?:failed|failing|fail\b|red\b)", re.IGNORECASE)
_EARLIER: Final = re.compile(r"\b(?:before|first|earlier|were|until|once|baseline)\b", re.IGNORECASE)
_GOOD: Final = r"(?:done|completed?|finished|verified|merged|delivered|shipped|released)"
_BAD: Final = (
    r"(?:failing|failed|fails|broken|blocked|abandoned|aborted|rejected|skipped|unfinished|incomplete|unverified|"
    r"pending|in progress|under way|not (?:yet )?(?:done|finished|verified|complete|started|begun))"
)
_LINK: Final = r"(?![\w-])(?:[\s*_`:=|–—-]|\([^)\n]*\)|\b(?:is|was|has been|status|state|now|still)\b)*?"
_STATUS_KEY: Final = re.compile(rf"\bstatus\b[\s*_`:=|]+{_BAD}\b", re.IGNORECASE)
_PATH: Final = re.compile(
    r"(?<![\w/.:-])(?P<path>(?:[\w.-]+/)+[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,5})(?P<test>::[\w:]+)?(?![\w/])"
)
_CHANGED: Final = re.compile(r"\b(?:files?|changed|wrote|written|added|modified|created|touched)\b", re.IGNORECASE)
_COMMIT: Final = re.compile(r"\bcommit\s*[:=]?\s*`?(?P<commit>[0-9a-f]{7,40})\b", re.IGNORECASE)
_CHAPTER: Final = re.compile(r"#{1,3}\s+(?P<name>\S.*)")
_DOCUMENTS: Final = (".md", ".yaml", ".yml", ".json")
_MOST: Final = 500
_SHORT: Final = 80


class AddedLine(msgspec.Struct, frozen=True):
    """A line that the step has added to the memory."""

    number: int
    text: str
    chapter: str
    """The heading above it."""


class StoryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of the run that the memory of a story has to agree with."""

    own: str
    done: Mapping[str, bool]
    """The stories of the run, and whether each is merged; the own one is verified."""
    files: frozenset[str]
    changed: frozenset[str]
    """The files that the story has changed or removed."""
    commits: frozenset[str]


async def memory_true(s: Subject) -> CheckOutcome:
    """Refuse lines of the project's memory that contradict the story, its status, its tests, its files or commits."""
    declared = s.case.protocol.artifacts.get(MEMORY)
    place = place_of(declared, s.input) if declared else ""
    text = (await s.text(place) or "") if place else ""
    old = (await s.text(place, s.work.base) or "") if place else ""
    if not place or (not text and not old):
        return conclude()
    added = list(_added(without_comments(old), without_comments(text)))
    facts = await _facts(s)
    problems: list[CheckProblem] = []
    if facts.own and not _names(facts.own, without_comments(text)):
        what = f"says nothing of {facts.own}"
        problems.append(problem(what, place, expected=f"an entry for {facts.own}, verified", code="memory.story"))
    problems += await _unknown_stories(s, added, facts, place)
    problems += [one for line in added for one in (*_status(line, facts, place), *_files(line, facts, place))]
    problems += await _numbers(s, added, place)
    # The commit stands in a comment, so it is looked for in the lines as they are.
    for line in _added(old, text):
        for match in _COMMIT.finditer(line.text):
            if not any(one.startswith(match["commit"]) for one in facts.commits):
                what = f"names the commit {match['commit']}, which is none of this story"
                wanted = f"one of {join_names(sorted(one[:12] for one in facts.commits))}"
                problems.append(problem(what, place, line.number, expected=wanted, code="memory.commit"))
    return conclude(problems)


def _added(old: str, new: str) -> Iterator[AddedLine]:
    before, after = old.splitlines(), new.splitlines()
    chapters: list[str] = []
    for line in after:
        heading = _CHAPTER.match(line)
        chapters.append(heading["name"] if heading else chapters[-1] if chapters else "")
    for kind, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind in ("insert", "replace"):
            yield from (AddedLine(at + 1, after[at], chapters[at]) for at in range(start, end) if after[at].strip())


async def _facts(s: Subject) -> StoryFacts:
    state, protocol = s.case.state, s.case.protocol
    inputs = {it.id: payload(s.case, it.input.ref) for it in state.insts.values()}
    listed = [
        str(item["id"])
        for given in inputs.values()
        for value in given.values()
        if isinstance(value, list)
        for item in value
        if isinstance(item, dict) and "title" in item and "id" in item
    ]
    done = dict.fromkeys(listed, False)
    for inst in state.insts.values():
        steps = protocol.graphs[inst.graph].steps
        merged = any(
            steps[step].effect == "merge" and protocol.exits[exit_].severity == "INFO"
            for step, _, exit_ in (name.rpartition(".") for name in inst.slots)
            if step in steps and exit_ in protocol.exits
        )
        if inst.graph == s.job.graph:
            done[str(inputs[inst.id].get("id", ""))] = merged
    origin = await s.origin()
    changed = {path for one in await s.git.changes(origin, s.work.commit) for path in one.touched}
    commits = {commit for _, commit in accepted_commits(s.case, s.inst)}
    own = str(s.input.get("id") or "")
    return StoryFacts(
        own=own,
        done={**done, own: True},
        files=frozenset(await s.entries()),
        changed=frozenset(changed),
        commits=frozenset({*commits, s.work.base, s.work.commit, origin, await s.start()}),
    )


def _names(story: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(story)}(?![\w-])", text, re.IGNORECASE))


async def _unknown_stories(s: Subject, added: list[AddedLine], facts: StoryFacts, place: str) -> list[CheckProblem]:
    """Stories that neither the run has nor the documents from before it."""
    family = re.fullmatch(r"(?P<family>[^\W\d]+[-_])\d+", facts.own)
    if not family:
        return []
    pattern = re.compile(rf"(?<![\w-]){re.escape(family['family'])}\d+(?![\w-])")
    named = {match[0]: line for line in added for match in pattern.finditer(line.text) if match[0] not in facts.done}
    if not named:
        return []
    start = await s.start()
    paths = [path for path in await s.entries(start) if path.endswith(_DOCUMENTS)]
    texts = "\n".join((await s.texts(paths[:_MOST], start)).values())
    wanted = f"stories of this run: {join_names(list(facts.done))}"
    return [
        problem(f"names {story}, and there is no such story", place, line.number, expected=wanted, code="memory.story")
        for story, line in named.items()
        if not _names(story, texts)
    ]


def _status(line: AddedLine, facts: StoryFacts, place: str) -> Iterator[CheckProblem]:
    """Yield a problem if a line contradicts a story's status, by its own words or by the chapter around it."""
    for story, is_done in facts.done.items():
        said = _GOOD if not is_done else _BAD
        match = re.search(rf"(?<![\w-]){re.escape(story)}{_LINK}\b(?P<status>{said})\b", line.text, re.IGNORECASE)
        key = _STATUS_KEY.search(line.text) if is_done and _names(story, f"{line.chapter} {line.text}") else None
        is_listed = line.chapter.lower().startswith("done") and re.match(
            rf"\W*{re.escape(story)}(?![\w-])", line.text, re.IGNORECASE
        )
        if match or key or (is_listed and not is_done):
            real = "verified" if story == facts.own else "merged" if is_done else "not done yet"
            what = f"says of {story}: {line.text.strip()[:_SHORT]!r}"
            yield problem(what, place, line.number, expected=f"{story} is {real}", code="memory.status")


def _files(line: AddedLine, facts: StoryFacts, place: str) -> Iterator[CheckProblem]:
    about_work = _names(facts.own, f"{line.chapter} {line.text}") and _CHANGED.search(line.text)
    for match in _PATH.finditer(line.text):
        path = match["path"].removeprefix("./")
        if path in facts.changed:
            continue
        if path not in facts.files:
            what, wanted = f"names {path}, which does not exist", "a file of the repository"
        elif about_work:
            what, wanted = f"says that {facts.own} changed {path}", "a file that the story has changed"
        else:
            continue
        true = join_names(sorted(facts.changed - {place}))
        yield problem(what, place, line.number, expected=f"{wanted}: {true}", code="memory.file")


async def _numbers(s: Subject, added: list[AddedLine], place: str) -> list[CheckProblem]:
    """Numbers of tests, and names of tests; the suite runs only if a line says any."""
    said = [line for line in added if any(one.search(line.text) for one in (_TESTS, _PASSED, _FAILED))]
    named = [(line, match) for line in added for match in _PATH.finditer(line.text) if match["test"]]
    if not said and not named:
        return []
    passed, failed = await _measured(s)
    counts = _true_counts(s, passed)
    true = f"{len(passed)} passed, {failed} failed"
    problems: list[CheckProblem] = []
    for line in said:
        wrong = [
            *(one[0] for one in _PASSED.finditer(line.text) if _number(one["n"]) not in counts),
            *(one[0] for one in _TESTS.finditer(line.text) if _number(one["n"]) not in counts),
            *(one[0] for one in _FAILED.finditer(line.text) if _number(one["n"]) != failed),
        ]
        if wrong and not _EARLIER.search(line.text):
            what = f"says {join_names([repr(one) for one in dict.fromkeys(wrong)])}"
            problems.append(problem(what, place, line.number, expected=true, code="memory.tests"))
    known = {function_of(id_) for id_ in passed}
    for line, match in named:
        if function_of(match[0]) not in known and match["path"] in await s.entries():
            what = f"names the test {match[0]}, which does not pass"
            problems.append(problem(what, place, line.number, expected=true, code="memory.tests"))
    return problems


async def _measured(s: Subject) -> tuple[list[str], int]:
    """The tests that pass, and how many fail: as the last step measured them, or now."""
    for one in reversed(accepted_exits(s.case, s.inst)):
        listed = one.payload.get("passed_tests")
        if isinstance(listed, list):
            failed = one.payload.get("failed_tests") or one.payload.get("failing_tests") or []
            return [str(it) for it in listed], len(failed) if isinstance(failed, list) else 0
    run = await suite_on_work(s)
    return sorted(run.passed), len(bad_tests(run))


def _true_counts(s: Subject, passed: list[str]) -> set[int]:
    """Numbers that are true of something: of the suite, of the story's tests, of one file; cases and functions."""
    new = [one.payload.get("new_tests") for one in accepted_exits(s.case, s.inst)]
    groups: list[list[str]] = [passed, *([str(it) for it in listed] for listed in new if isinstance(listed, list))]
    by_file: dict[str, list[str]] = {}
    for id_ in passed:
        by_file.setdefault(id_.partition("::")[0], []).append(id_)
    groups += by_file.values()
    return {count for ids in groups for count in (len(ids), len({function_of(id_) for id_ in ids}))}


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _WORDS.index(word.lower()) + 2
