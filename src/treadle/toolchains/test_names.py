"""The spellings of a test's id, as people, agents and the runners of each language write it.

Every toolchain has one form of id (`tests/test_a.py::TestA::test_x`, `example.com/m/store::TestX/sub`,
`src/a.test.ts::suite > name`, `com.example.SumTest::adds`). Agents and people write other valid and shorter forms. A
spelling may fit several tests: the caller refuses such a name, this module does not choose.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from treadle.toolchains.results import CollectedTests, TestRun

_PYTHON: Final = re.compile(r"[^:\[]+\.py\Z")
_SCRIPT: Final = re.compile(r"[^:]+\.[cm]?[jt]sx?\Z")
_GO_NAME: Final = re.compile(r"(?:Test|Fuzz|Example|Benchmark)(?:[^a-z]|\Z)")
_VERSION: Final = re.compile(r"v\d+\Z")
_TITLES: Final = re.compile(r"::| > ")
_METHOD: Final = re.compile(r"[\w$]+")
_CUTS: Final = re.compile(r"::|[/.#]")


def aliases_of(id_: str, file: str = "") -> set[str]:
    """Return all spellings of a test, including its id; `file` is its source file, if known."""
    return {id_, *(spelling for spelling in _spellings(id_, file) if spelling)}


class TestNames:
    """An index of the tests of a run or a collection by every spelling of their names."""

    __test__ = False

    def __init__(self, ids: Iterable[str], files: Mapping[str, str] = MappingProxyType({})) -> None:
        self._by_spelling: dict[str, list[str]] = {}
        self._ids = dict.fromkeys(ids)
        for id_ in self._ids:
            for spelling in aliases_of(id_, files.get(id_, "")):
                self._by_spelling.setdefault(spelling, []).append(id_)

    def resolve(self, name: str) -> list[str]:
        """Return the tests that a name means, with all their parameters unless it names those too.

        A name that fits several tests means none of them: `candidates` lists them.
        """
        fitting = self._fitting(name)
        return fitting if len({function_of(id_) for id_ in fitting}) == 1 else []

    def candidates(self, name: str) -> list[str]:
        """Return the tests that an ambiguous name fits; none if it fits one test, or no test at all."""
        found = list(dict.fromkeys(function_of(id_) for id_ in self._fitting(name)))
        return found if len(found) > 1 else []

    def _fitting(self, name: str) -> list[str]:
        """Return the tests that a name fits; a full id beats every other spelling."""
        exact = [name] if name in self._ids else [id_ for id_ in self._ids if function_of(id_) == name]
        return exact or self._by_spelling.get(name, [])


def names_of(tests: TestRun | CollectedTests | Iterable[str]) -> TestNames:
    """Index the tests of a run, of a collection, or of plain ids."""
    if isinstance(tests, TestRun):
        files = {id_: test.file for id_, test in tests.tests.items() if test.file}
        return _indexed(tuple(tests.collected), tuple(files.items()))
    if isinstance(tests, CollectedTests):
        return _indexed(tuple(tests.ids), tuple(tests.files.items()))
    return _indexed(tuple(tests), ())


@lru_cache(maxsize=8)
def _indexed(ids: tuple[str, ...], files: tuple[tuple[str, str], ...]) -> TestNames:
    """Cache the index of a suite: a verification queries it many times."""
    return TestNames(ids, dict(files))


def _spellings(id_: str, file: str) -> Iterator[str]:
    place, sign, name = id_.partition("::")
    if not sign:
        return (id_[cut.end() :] for cut in _CUTS.finditer(id_))  # of an unknown form: the rest after each separator
    if _PYTHON.match(place):
        return _pytest(place, name)
    if file.endswith("_test.go") or (not file and _GO_NAME.match(name) and not _SCRIPT.match(place)):
        return _go(place, name, file)
    if _SCRIPT.match(place):
        return _scripts(place, name)
    if _SCRIPT.match(file):
        return _scripts(file, id_)
    return _classes(place, name, file)


def function_of(id_: str) -> str:
    """Strip the parameters from the id of a parametrised pytest test; return any other id unchanged.

    A spelling without parameters means all of them: several ids, but one test.
    """
    place, sign, name = id_.partition("::")
    return f"{place}{sign}{name.partition('[')[0]}" if _PYTHON.match(place) else id_


_NESTED: Final = re.compile(r"::| > ")
_NUMBERED: Final = re.compile(r"(?: \(\d+\))?'*\Z")


def tests_inside(ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the tests that only hold other tests, each with the innermost tests inside it.

    Such a test (one with `t.Run` in Go, with `t.test` in node) fails and passes as those do. Where ids cannot tell a
    test from a group of the same name beside it, it counts as one that holds the others.
    """
    every = dict.fromkeys(ids)
    known: dict[str, list[str]] = {}
    for id_ in every:  # of two tests with one name, the second one has a number, and the tests in it have not
        for name in {id_, _NUMBERED.sub("", id_)}:
            known.setdefault(name, []).append(id_)
    inside: dict[str, list[str]] = {}
    for id_ in every:
        for above in _above(id_):
            for holder in known.get(above, ()):
                inside.setdefault(holder, []).append(id_)
    return {holder: [id_ for id_ in held if id_ not in inside] for holder, held in inside.items()}


def _above(id_: str) -> Iterator[str]:
    """The ids that a test around this one would have."""
    place, _, name = id_.partition("::")
    is_go = _GO_NAME.match(name) and not _SCRIPT.match(place) and not _PYTHON.match(place)
    signs = re.compile("/") if is_go else _NESTED
    return (id_[: cut.start()] for cut in signs.finditer(id_, len(place) + 2 if is_go else 0))


def _pytest(file: str, name: str) -> Iterator[str]:
    """`tests/test_a.py::TestA::test_x[1]`, by parts of its path, as dotted module, without file, class, parameters."""
    bare, bracket, parameters = name.partition("[")
    modules = [one.removesuffix(".py").replace("/", ".") for one in _paths(file)]
    owners = bare.split("::")
    for ending in {"", f"{bracket}{parameters}"}:
        for sign in ("::", "."):
            names = [f"{sign.join(owners[at:])}{ending}" for at in range(len(owners))]
            yield from names
            yield from (f"{one}::{names[0]}" for one in (*_paths(file), *modules))
            yield from (f"{one}.{names[0]}" for one in modules)


def _go(package: str, name: str, file: str) -> Iterator[str]:
    """`example.com/m/store::TestX/sub`: by import path, folder, package name or file, with `::` or `.`."""
    function, slash, subtest = name.partition("/")
    # Go prints underscores for the blanks of a subtest's name.
    names = {name, f"{function}{slash}{subtest.replace('_', ' ')}"}
    folder = str(PurePosixPath(file).parent) if file else ""
    packages = {*_paths(package), *_paths("" if folder == "." else folder)}
    last = [one for one in package.split("/")[-2:] if not _VERSION.match(one)][-1:]
    # Tests from outside of package store are in package store_test.
    packages |= {spelling for one in last for spelling in (one, f"{one}_test")}
    yield from names
    yield from (f"{place}{sign}{one}" for place in packages for sign in ("::", ".") for one in names)
    yield from (f"{place}::{one}" for place in _paths(file) for one in names)


def _scripts(file: str, name: str) -> Iterator[str]:
    """`src/a.test.ts::suite > name` (vitest) and `test/a.test.js::suite::name` (node), each in the other's way, too.

    Suites may be left out also after the file, as agents do: a name that then fits several tests is ambiguous.
    """
    titles = _TITLES.split(name.removeprefix(f"{file}::"))
    for sign in ("::", " > ", " "):
        ends = [sign.join(titles[at:]) for at in range(len(titles))]
        yield from ends
        yield from (f"{place}{between}{end}" for place in _paths(file) for between in ("::", " > ") for end in ends)


def _classes(owner: str, name: str, file: str) -> Iterator[str]:
    """`com.example.SumTest::adds`: by parts of the class's name or by file, with `::`, `.` or `#`, and `()`."""
    method = _METHOD.match(name)
    names = {
        name,
        *([method[0], f"{method[0]}()"] if method and name[method.end() :][:1] in ("", "(", "{", "[") else []),
    }
    dotted = owner.replace("$", ".")
    owners = {one for whole in (owner, dotted) for one in _parts(whole, ".")}
    yield from names
    yield from (f"{one}{sign}{last}" for one in owners for sign in ("::", ".", "#") for last in names)
    yield from (f"{place}::{last}" for place in _paths(file) for last in names)


def _paths(path: str) -> tuple[str, ...]:
    """A path, with `./` before it, and its ends: `a/b.py`, `./a/b.py`, `b.py`."""
    return (*_parts(path, "/"), f"./{path}") if path else ()


def _parts(text: str, sign: str) -> Iterable[str]:
    parts = text.split(sign)
    return [sign.join(parts[at:]) for at in range(len(parts))]
