"""Sharpness: whether new tests can distinguish a right implementation from a simple wrong one, criterion by criterion.

Wrong implementations (constants, the first expected value, the first argument) replace the stubs, and the tests run
against them. Tests that pass already are rerun on a tree from which the code that they call was removed.
"""

import ast
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from treadle.evidence.baseline import flaky_among
from treadle.evidence.code_shapes import Function
from treadle.evidence.examples import UNKNOWN, Example, examples, mentioned
from treadle.evidence.findings import CheckProblem, join_names, note, problem
from treadle.evidence.manifest import read_manifest
from treadle.evidence.stubs import hollowed, stub_functions, with_stubs_returning
from treadle.evidence.subject import Subject
from treadle.evidence.suite import file_of
from treadle.evidence.test_quality import is_readable
from treadle.git.trees import TreeEntry
from treadle.protocol.items import Json
from treadle.toolchains.results import TestResult, TestRun
from treadle.toolchains.test_names import function_of

# Simple wrong implementations of missing functions: constants, the first value that a test expects, the first
# argument.
#
# They are made in rounds: in each, every missing function has its next candidate. Where an example of a test already
# contradicts a candidate, no run is needed. Values that a careless implementation might return come first. Absurd
# values, of the right type and of others, are for tests that did not notice those; the first of them, a large one of
# the right type, is for all tests.

_ARGUMENT: Final = "its first argument"
_EMPTY: Final = {
    "int": "0",
    "float": "0",
    "str": "''",
    "bytes": "b''",
    "bool": "False",
    "list": "[]",
    "Sequence": "[]",
    "Iterable": "[]",
    "tuple": "()",
    "dict": "{}",
    "Mapping": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
}
_UNANNOTATED: Final = ("None", "0", "''", "[]")
_FAR: Final = 4
_PADDING: Final = "\n" + 60 * f"# {'-' * 77}\n"
"""Padding against tests that weigh a file instead of calling its code: by its size, nothing is missing."""


def _head(function: Function) -> str:
    """Return a stub's signature. Stubs may share a name (a getter and its setter, several `__init__`), but two with
    the same signature can stand for the same value.
    """
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    prefix = "".join(f"@{ast.unparse(one)} " for one in function.decorator_list)
    return f"{prefix}{function.name}({ast.unparse(function.args)}){returns}"


class WrongImplementation(msgspec.Struct, frozen=True):
    """The return value of each missing function in one round, by its signature and its name."""

    returns: dict[str, tuple[str, str]]
    """Signature → name and value."""

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of the functions with a name."""
        return tuple(dict.fromkeys(value for own, value in self.returns.values() if own == name))

    def program(self, source: str) -> str | None:
        """A program in which it does; None if nothing is missing in it."""
        program = with_stubs_returning(source, self._expression)
        return None if program is None else program + _PADDING

    def _expression(self, function: Function) -> str:
        _, said = self.returns.get(_head(function), ("", "None"))
        return _parameters(function)[0].arg if said == _ARGUMENT else said

    def is_refuted_by(self, example: Example) -> bool:
        """Whether an example contradicts this implementation, without a test run."""
        values = [example.argument if one == _ARGUMENT else one for one in self.values(example.callee)]
        return bool(values) and all(one != UNKNOWN and not _equal(one, example.expected) for one in values)

    def about(self, names: Collection[str]) -> tuple[str, ...]:
        """Return its return values for some of the functions."""
        return tuple(what for name, what in self.returns.values() if name in names)

    def described(self, names: Iterable[str]) -> str:
        """In a few words, for those of the functions that are of interest."""
        wanted = set(names)
        parts = [f"{name} returns {what}" for name, what in self.returns.values() if not wanted or name in wanted]
        return ", ".join([*dict.fromkeys(parts)][:4])


def rounds(sources: Iterable[str], known: Iterable[Example]) -> list[WrongImplementation]:
    """The wrong implementations to try; none if nothing is missing."""
    expected: dict[str, str] = {}
    for example in known:
        expected.setdefault(example.callee, example.expected)
    return _in_rounds(sources, lambda one: candidates(one, expected))


def far_rounds(sources: Iterable[str], seed: str) -> list[WrongImplementation]:
    """Return further, absurd wrong implementations, with values that depend on a seed so that no test can know them."""
    made = _in_rounds(sources, lambda one: far_candidates(one, seed))
    return made if any({value for _, value in one.returns.values()} != {"None"} for one in made) else []


def _in_rounds(sources: Iterable[str], offer: Callable[[Function], list[str]]) -> list[WrongImplementation]:
    functions = {_head(one): one for source in sources for one in stub_functions(source)}
    offers = {head: (one.name, offer(one)) for head, one in functions.items()}
    most = max((len(values) for _, values in offers.values()), default=0)
    return [
        WrongImplementation({head: (name, one[min(number, len(one) - 1)]) for head, (name, one) in offers.items()})
        for number in range(most)
    ]


def candidates(function: Function, expected: Mapping[str, str]) -> list[str]:
    """Return the values that a careless implementation of a function might return, as far as its signature allows."""
    returns = _returns(function)
    if returns == "None":
        return ["None"]
    found = list(_UNANNOTATED) if not returns else ["None", *_empty(returns)]
    found += [expected[function.name]] if function.name in expected else []
    first = _parameters(function)
    if first and (not returns or (first[0].annotation and ast.unparse(first[0].annotation).strip("'\"") == returns)):
        found.append(_ARGUMENT)
    return list(dict.fromkeys(found))


def far_candidates(function: Function, seed: str) -> list[str]:
    """Return up to four absurd values that `candidates` lacks, those of the right type first."""
    returns = _returns(function)
    if returns == "None":
        return ["None"]
    odd = int(hashlib.sha256(f"{seed} {function.name}".encode()).hexdigest(), 16) % 10**11 | 1
    filled = {"b''": f"b'odd{odd}'", "[]": f"[{odd}]", "()": f"({odd},)", "{}": f"{{{odd}: {odd}}}"}
    of_type = {**filled, "''": f"'odd{odd}'", "set()": f"{{{odd}}}", "frozenset()": f"{{{odd}}}"}
    near = candidates(function, {})
    found = [*(of_type[one] for one in _empty(returns) if one in of_type), str(odd), "-1", f"'odd{odd}'", "[]", "{}"]
    return [one for one in dict.fromkeys(found) if one not in near][:_FAR]


def _returns(function: Function) -> str:
    """Return the return annotation, empty if there is none; `None` where nothing reads a result.

    That is so for the setter and deleter of a property, and for special methods other than `__call__`.
    """
    if function.name.startswith("__") and function.name != "__call__":
        return "None"
    if any(isinstance(one, ast.Attribute) and one.attr in ("setter", "deleter") for one in function.decorator_list):
        return "None"
    return ast.unparse(function.returns).strip("'\"") if function.returns else ""


def _bare(returns: str) -> str:
    return returns.partition("[")[0].rpartition(".")[2].strip()


def _empty(returns: str) -> list[str]:
    name = _bare(returns)
    return ["False", "True"] if name == "bool" else [_EMPTY[name]] if name in _EMPTY else []


def _parameters(function: Function) -> list[ast.arg]:
    every = [*function.args.posonlyargs, *function.args.args]
    return every[1:] if every and every[0].arg in ("self", "cls") else every


def _equal(one: str, other: str) -> bool:
    try:
        return bool(ast.literal_eval(one) == ast.literal_eval(other))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return one == other


# Plays wrong implementations against new tests, and counts those that no test noticed.

_LEAST: Final = 10.0
_FACTOR: Final = 5.0

Groups = Mapping[str, Sequence[str]]
"""By criterion, or under an empty name for all, the tests."""
Known = Mapping[str, Sequence[Example]]
"""By test, without its parameters, its examples."""


class SharpnessTrial:
    """A trial: groups of tests, and the wrong implementations that each of them has met.

    An example in a test refutes most of them without a run. The trial relies on that only after one run has confirmed
    it, and never where the tests have the means to replace a function.
    """

    def __init__(
        self,
        s: Subject,
        run: TestRun,
        on: str,
        sources: Mapping[str, str],
        groups: Groups,
        known: Known,
        *,
        may_be_replaced: bool,
    ) -> None:
        self._s, self._on, self._sources, self._groups, self._known = s, on, sources, groups, known
        self._believes, self._probed = not may_be_replaced, False
        self._runs = 0
        self.limit = min(max(_LEAST, _FACTOR * run.duration), float(s.measure.settings.timeout))
        self.passing: dict[str, list[WrongImplementation]] = {name: [] for name in groups}
        self.met: dict[str, list[WrongImplementation]] = {name: [] for name in groups}
        self.contradicted: dict[str, tuple[WrongImplementation, Example]] = {}
        """Tests that pass with an implementation that one of their own examples contradicts."""
        self._late: set[str] = set()

    @property
    def facts(self) -> dict[str, Json]:
        """How it was done, for the evidence."""
        late: list[Json] = [name or "all" for name in sorted(self._late)]
        return {
            "tried": max(map(len, self.met.values()), default=0),
            "runs": self._runs,
            "seconds_each": round(self.limit, 1),
            **({"out_of_time": late} if late else {}),
        }

    async def play(self, wrong: WrongImplementation, names: Iterable[str]) -> None:
        """Try one wrong implementation on some groups, except those that timed out before."""
        asked = {name: self._groups[name] for name in names if name not in self._late}
        for name in asked:
            self.met[name].append(wrong)
        believes = self._believes and self._probed
        open_ = {name: tests for name, tests in asked.items() if not (believes and any(self._refuting(wrong, tests)))}
        if open_:
            self._count(wrong, open_, await self._run(wrong, open_))
            self._probed = True

    async def _run(self, wrong: WrongImplementation, groups: Groups) -> TestRun:
        entries = await self._s.entries(self._on)
        made = {path: wrong.program(source) for path, source in self._sources.items()}
        programs = {path: program.encode() for path, program in made.items() if program is not None}
        ids = await self._s.git.blobs(list(programs.values()))
        files: dict[str, TreeEntry | None] = {
            path: TreeEntry(entries[path].mode, id_, path) for path, id_ in zip(programs, ids, strict=True)
        }
        tree = await self._s.git.with_files(self._on, files)
        tests = sorted({id_ for listed in groups.values() for id_ in listed})
        self._runs += 1
        return await self._s.measure.suite(tree, ids=tests, limit=self.limit, mirrors=False)

    def _count(self, wrong: WrongImplementation, groups: Groups, done: TestRun) -> None:
        for name, tests in groups.items():
            if not done.bent and all(id_ in done.passed for id_ in tests):
                self.passing[name].append(wrong)
            if _is_late(done, tests):
                self._late.add(name)
        for test, example in self._refuting(wrong, [] if done.bent else sorted(done.passed)):
            self._believes = False
            self.contradicted.setdefault(test, (wrong, example))

    def _refuting(self, wrong: WrongImplementation, tests: Iterable[str]) -> Iterable[tuple[str, Example]]:
        for test in dict.fromkeys(function_of(id_) for id_ in tests):
            for one in self._known.get(test, ()):
                if wrong.is_refuted_by(one):
                    yield test, one


def _is_late(done: TestRun, tests: Sequence[str]) -> bool:
    hung = any((one := done.tests.get(id_)) is not None and one.kind == "timeout" for id_ in tests)
    return hung or (done.ended == "timeout" and any(id_ not in done.tests for id_ in tests))


# Finds a test that is the only one of several criteria.


def one_for_many(groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """By test, without its parameters, the criteria that have no other one; if they are several."""
    found: dict[str, list[str]] = {}
    for name, tests in groups.items():
        if name and len(functions := {function_of(id_) for id_ in tests}) == 1:
            found.setdefault(functions.pop(), []).append(name)
    return {test: names for test, names in found.items() if len(names) > 1}


def overburdened(shared: Mapping[str, Sequence[str]], passing: Mapping[str, Sequence[str]]) -> Iterator[CheckProblem]:
    """Such tests that pass with a wrong implementation: they cannot be the one case that each criterion needs."""
    for test, listed in shared.items():
        names = [name for name in listed if passing.get(name)]
        if len(names) > 1:
            what = f"is the only test of {join_names(names)}, and passes if {join_names(passing[names[0]], 2)}"
            yield problem(
                f"{what}, so it cannot prove all of them",
                test=test,
                expected="a test for each criterion",
                code="red.one_for_many",
            )


def idle_beside(shared: Mapping[str, Sequence[str]], listed: Collection[str], new: Sequence[str]) -> Iterator[str]:
    """Such tests beside which others stand for nothing, in words."""
    idle = list(dict.fromkeys(function_of(id_) for id_ in new if id_ not in listed))
    for test, names in shared.items() if idle else ():
        others = join_names([one.rpartition("/")[2] for one in idle])
        yield f"{test} is the only test of {join_names(names)}, while {others} stands for none: is the manifest right?"


# Decides whether new Python tests could replace the code under test.
#
# If they could, an example in a test proves nothing about the call, and only a run does.

_MEANS: Final = re.compile(
    r"\b(fixture|usefixtures|monkeypatch|mocker|mock|patch|setattr|__setattr__|__dict__|__globals__|__code__|globals"
    r"|vars|modules|exec|eval|reload|import_module|__import__|pytest_plugins|settrace|setprofile|hookimpl)\b"
)
_AROUND: Final = ("conftest.py", "sitecustomize.py", "usercustomize.py")


async def may_be_replaced(s: Subject) -> bool:
    """Whether anything that this instance has written for its tests has the means to exchange a function."""
    origin = await s.origin()
    changed = await s.written_since(origin)
    around = [path for path in changed if path.endswith(".py") and not s.tests.is_code(path)]
    return has_means(await s.texts(around)) if around else False


def has_means(texts: Mapping[str, str]) -> bool:
    """Whether some files could replace a function, by their names or by words in them."""
    return any(path.rpartition("/")[2] in _AROUND or _MEANS.search(text) for path, text in texts.items())


_ENOUGH: Final = 3
"""The number of different wrong implementations that tests must pass with to count as blind."""
_SECONDS: Final = 60.0
_LARGEST: Final = 500_000


class Sharpness(msgspec.Struct, frozen=True, kw_only=True):
    """The wrong implementations that new tests do not notice, as problems, notes and facts."""

    problems: tuple[CheckProblem, ...] = ()
    notes: tuple[CheckProblem, ...] = ()
    facts: dict[str, Json] = {}


async def sharpness(s: Subject, run: TestRun, ids: Sequence[str], *, refuses: bool, on: str = "") -> Sharpness:
    """Find the wrong implementations that some tests do not notice; with `refuses`, as problems, too.

    They replace the stubs of the recorded work, or those of another tree with these tests (`on`).
    """
    on = on or s.work.commit
    groups = await _groups(s, run, ids)
    shared = one_for_many(groups)
    listed = (await read_manifest(s)).tests(run)
    idle = [note(what, code="manifest.idle") for what in idle_beside(shared, listed, ids)]
    sources = await _unfinished_sources(s, on) if ids else {}
    known = await _examples(s, run, ids) if sources else {}
    near = rounds(sources.values(), [one for every in known.values() for one in every])
    if not near:
        return Sharpness(notes=tuple(idle))
    trial = SharpnessTrial(s, run, on, sources, groups, known, may_be_replaced=await may_be_replaced(s))
    most = max(_ENOUGH, int(_SECONDS / max(run.duration, 1.0)))
    for wrong in near[:most]:
        await trial.play(wrong, groups)
    for number, wrong in enumerate(far_rounds(sources.values(), s.work.tree)[: max(_ENOUGH, most - len(near))]):
        await trial.play(wrong, [name for name in groups if trial.passing[name] or not number])
    reached = await _reached(s, run, groups, sources.values())
    told = {
        name: list(dict.fromkeys(one.described(reached[name]) for one in wrongs))
        for name, wrongs in trial.passing.items()
        if wrongs
    }
    problems: list[CheckProblem] = []
    if refuses:
        problems += _not_called(trial, _undecorated(sources.values()))
        problems += [_blind(name, told[name]) for name in told if _is_blind(trial, name, reached[name])]
        problems += [] if problems else overburdened(shared, told)
    notes = [*(_dull(name, what) for name, what in told.items()), *idle]
    unnoticed: dict[str, Json] = {name or "all": list(what) for name, what in told.items()}
    facts: dict[str, Json] = {"wrong_implementations": trial.facts}
    facts |= {"unnoticed": unnoticed} if unnoticed else {}
    return Sharpness(problems=tuple(problems), notes=() if problems else tuple(notes), facts=facts)


def _subject(name: str) -> str:
    return f"criterion {name}" if name else "the new tests"


def _dull(name: str, wrong: list[str]) -> CheckProblem:
    what = f"{_subject(name)}: all tests pass if {join_names(wrong, 4)}; is another example needed?"
    return note(what, code="tests.few_examples")


def _is_blind(trial: SharpnessTrial, name: str, reached: set[str]) -> bool:
    """Whether tests have passed with everything that was tried but `None`, and that was enough of different things."""
    met = [one for one in trial.met[name] if set(one.about(reached)) != {"None"}]
    is_content = all(one in trial.passing[name] for one in met)
    return is_content and len({one.about(reached) for one in trial.passing[name]}) >= _ENOUGH


def _blind(name: str, wrong: list[str]) -> CheckProblem:
    what = f"{_subject(name)}: the tests pass whatever the code returns ({join_names(wrong, 4)}), so they prove nothing"
    return problem(
        what,
        expected="tests that compare the result with the right value, so that a wrong one fails",
        code="tests.blind",
    )


def _not_called(trial: SharpnessTrial, plain: set[str]) -> Iterator[CheckProblem]:
    for test, (wrong, example) in trial.contradicted.items():
        if example.is_imported and example.callee in plain:
            what = f"passes if {wrong.described([example.callee])}, although its own example expects {example.expected}"
            expected = f"a test that calls the real {example.callee}"
            yield problem(
                f"{what}: it does not call the real code", test=test, expected=expected, code="tests.stand_in"
            )


def _undecorated(sources: Iterable[str]) -> set[str]:
    return {one.name for source in sources for one in stub_functions(source) if not one.decorator_list}


async def _unfinished_sources(s: Subject, on: str) -> dict[str, str]:
    entries = await s.entries(on)
    unfinished = await s.git.holding(on, "NotImplemented", ".py")
    code = [path for path in unfinished if entries[path].mode.startswith("100") and s.tests.is_code(path)]
    return {path: text for path, text in (await s.texts(code, on)).items() if len(text) <= _LARGEST}


async def _examples(s: Subject, run: TestRun, ids: Sequence[str]) -> dict[str, list[Example]]:
    """By the id of the test, without its parameters."""
    found: dict[str, list[Example]] = {}
    for file in dict.fromkeys(file_of(id_, run) for id_ in ids):
        for one in examples(await s.text(file) or "") if file.endswith(".py") else ():
            found.setdefault(f"{file}::{one.test}", []).append(one)
    return found


async def _reached(s: Subject, run: TestRun, groups: Groups, sources: Iterable[str]) -> dict[str, set[str]]:
    """By group, the names that its tests use; those of the whole file where they leave the call to others."""
    missing = {one.name for source in sources for one in stub_functions(source)}
    files = {file_of(id_, run) for tests in groups.values() for id_ in tests}
    names = {file: mentioned(await s.text(file) or "") for file in files if file.endswith(".py")}
    found: dict[str, set[str]] = {}
    for name, tests in groups.items():
        own: set[str] = set()
        for file, test in {(file_of(id_, run), function_of(id_).partition("::")[2]) for id_ in tests}:
            used = names.get(file, {})
            own |= used.get(test, set()) & missing or used.get("", set()) & missing
        found[name] = own or missing
    return found


async def _groups(s: Subject, run: TestRun, ids: Sequence[str]) -> Groups:
    listed = (await read_manifest(s)).by_criterion(run)
    wanted = set(ids)
    whole = {name: tests for name, tests in listed.items() if tests and wanted.issuperset(tests)}
    return whole or {"": list(ids)}


# Decides whether passing tests would fail without the code that they call: the code is removed, and they are rerun.
#
# First the functions that a test names are emptied, in every file. A test that notices nothing, because it reaches
# the code by other ways, is then run with each file of the code in turn emptied of all of its functions. Python only.

_FILES: Final = 12
"""How many files are emptied one after the other."""


class HollowedTree(msgspec.Struct, frozen=True):
    """A tree in which code is missing, and the tests that fail there."""

    tree: str
    noticed: tuple[str, ...]


async def hollowed_trees(s: Subject, run: TestRun, ids: Sequence[str]) -> list[HollowedTree]:
    """Return trees without some code, each with the passing tests that fail there.

    A test in none of them notices nothing.
    """
    left, found = [id_ for id_ in ids if is_readable(file_of(id_, run))], list[HollowedTree]()
    limit = min(max(_LEAST, _FACTOR * run.duration), float(s.measure.settings.timeout))
    if not left:
        return []
    async for tree in _trees(s, run, left):
        done = await s.measure.suite(tree, ids=left, limit=limit, mirrors=False)
        noticed = [id_ for id_ in left if not done.bent and _fails(done.tests.get(id_))]
        if noticed:  # a test that passes there as well has failed by chance
            flaky = await flaky_among(s, tree, done, noticed, times=1)
            noticed = [id_ for id_ in noticed if id_ not in flaky]
        if noticed:
            found.append(HollowedTree(tree, tuple(noticed)))
            left = [id_ for id_ in left if id_ not in noticed]
        if not left:
            break
    return found


def _fails(test: TestResult | None) -> bool:
    """Whether a test noticed: it ran, and did not only fail to begin."""
    return test is not None and (test.is_red or (test.verdict == "failed" and test.kind in ("unknown", "error")))


async def _trees(s: Subject, run: TestRun, ids: Sequence[str]) -> AsyncIterator[str]:
    sources = await _code_sources(s)
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
    files: dict[str, TreeEntry | None] = {
        path: TreeEntry(entries[path].mode, id_, path) for path, id_ in zip(made, blobs, strict=True)
    }
    return await s.git.with_files(s.work.commit, files)


async def _code_sources(s: Subject) -> dict[str, str]:
    entries = await s.entries()
    code = [path for path, one in entries.items() if _is_code(s, path) and one.mode.startswith("100")]
    return {path: text for path, text in (await s.texts(code)).items() if len(text) <= _LARGEST}


def _is_code(s: Subject, path: str) -> bool:
    return path.endswith(".py") and s.tests.is_code(path)
