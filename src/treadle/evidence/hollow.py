"""Whether tests that pass would fail without the code that they meet: it is taken out, and they are run again.

First the functions that a test names are emptied, wherever they are; a test that notices nothing, because it comes to
the code by other ways, then meets each file of the code with all of its functions empty. Python only.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Final

import msgspec

from treadle.evidence.examples import mentioned
from treadle.evidence.python_stubs import hollowed
from treadle.evidence.subject import Subject
from treadle.evidence.suite import file_of
from treadle.evidence.test_quality import is_readable
from treadle.git.trees import Entry
from treadle.toolchains.results import TestResult, TestRun

_FILES: Final = 12
"""How many files are emptied one after the other."""
_LARGEST: Final = 500_000
_LEAST: Final = 10.0
_FACTOR: Final = 5.0


class Hollow(msgspec.Struct, frozen=True):
    """A tree in which code is missing, and the tests that fail there."""

    tree: str
    noticed: tuple[str, ...]


async def noticing(s: Subject, run: TestRun, ids: Sequence[str]) -> list[Hollow]:
    """Where some passing tests fail once code is taken out; those that are in none of these notice nothing."""
    left, found = [id_ for id_ in ids if is_readable(file_of(id_, run))], list[Hollow]()
    limit = min(max(_LEAST, _FACTOR * run.duration), float(s.measure.settings.timeout))
    if not left:
        return []
    async for tree in _trees(s, run, left):
        done = await s.measure.suite(tree, ids=left, limit=limit, mirrors=False)
        noticed = [id_ for id_ in left if not done.bent and _fails(done.tests.get(id_))]
        if noticed:
            found.append(Hollow(tree, tuple(noticed)))
            left = [id_ for id_ in left if id_ not in noticed]
        if not left:
            break
    return found


def _fails(test: TestResult | None) -> bool:
    """Whether a test noticed: it ran, and did not only fail to begin."""
    return test is not None and (test.is_red or (test.verdict == "failed" and test.kind in ("unknown", "error")))


async def _trees(s: Subject, run: TestRun, ids: Sequence[str]) -> AsyncIterator[str]:
    sources = await _sources(s)
    files = dict.fromkeys(file_of(id_, run) for id_ in ids)
    named = {name for file in files for name in mentioned(await s.text(file) or "").get("", ())}
    if tree := await _without(s, sources, named):
        yield tree
    for path, text in [*sources.items()][:_FILES]:
        if tree := await _without(s, {path: text}, None):
            yield tree


async def _without(s: Subject, sources: Mapping[str, str], names: Collection[str] | None) -> str:
    """The tree of the work in which these functions are empty; nothing if there are none."""
    made = {path: text for path, source in sources.items() if (text := hollowed(source, names)) is not None}
    if not made:
        return ""
    entries = await s.entries()
    blobs = await s.git.blobs([text.encode() for text in made.values()])
    files: dict[str, Entry | None] = {
        path: Entry(entries[path].mode, id_, path) for path, id_ in zip(made, blobs, strict=True)
    }
    return await s.git.with_files(s.work.commit, files)


async def _sources(s: Subject) -> dict[str, str]:
    entries = await s.entries()
    code = [path for path, one in entries.items() if _is_code(s, path) and one.mode.startswith("100")]
    return {path: text for path, text in (await s.texts(code)).items() if len(text) <= _LARGEST}


def _is_code(s: Subject, path: str) -> bool:
    return path.endswith(".py") and s.tests.is_code(path)
