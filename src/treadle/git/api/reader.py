"""Read the exports of trees, and compute which exported names a merge adds, removes or changes.

Each version of a file is parsed once, however many trees contain it. Links connect re-exported names to their origin.
For other languages, a command of the project prints the exported names.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.git.api.languages import (
    WHOLE,
    Api,
    FileExports,
    is_private,
    is_python,
    is_source,
    make_symbol,
    merge_apis,
    module_name,
    read_api,
)
from treadle.git.repository import Repository
from treadle.git.trees import TreeEntry, Trees

# Links: the names that one file re-exports from another, and the files to parse for them.

_DEEPEST: Final = 10
"""The limit on chained re-exports of a name."""


def link_exports(readings: Iterable[FileExports]) -> Api:
    """Return the combined exports of several files.

    A name re-exported from a public module is only a name, because its changes show up there. A name from a private
    module brings its signature and members along, because they show up nowhere else.
    """
    every = list(readings)
    public = [one for one in every if not one.is_private]
    hidden = merge_apis(one.symbols for one in every if one.is_private)
    inner = {name: target for one in every if one.is_private for name, target in one.links.items()}
    reexported = (_reexported(name, target, hidden, inner) for one in public for name, target in one.links.items())
    return merge_apis([*(one.symbols for one in public), *reexported])


def _reexported(name: str, target: str, hidden: Api, inner: Mapping[str, str]) -> Api:
    for _ in range(_DEEPEST):
        target = inner.get(target, target)
    if target.endswith(".*"):
        start, inside = target.removesuffix("*"), name.removesuffix("*")
        every = {full.removeprefix(start): one for full, one in hidden.items() if full.startswith(start)}
        found = {inside + rest: one for rest, one in every.items() if not rest.startswith("_")}
        return found or {f"{name} of {target[:-2]}": make_symbol(f"from {target[:-2]} import *")}
    members = {name + full.removeprefix(target): one for full, one in hidden.items() if full.startswith(f"{target}.")}
    if target in hidden:
        return {name: hidden[target], **members}
    module, _, last = target.rpartition(".")
    return {name: make_symbol(f"from {module} import {last}" if module else f"import {last}")}


class ModulePlaces:
    """The paths of a tree's Python modules."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            if is_python(path):
                self._paths.setdefault(module_name(path), []).append(path)

    def sources(self, reading: FileExports) -> Iterator[str]:
        """Yield the private files that a file re-exports names from."""
        for target in reading.links.values():
            module = target
            while module and module not in self._paths:
                module = module.rpartition(".")[0]
            if is_private(module):
                yield from self._paths.get(module, ())

    def mentions(self, changed: Iterable[str]) -> tuple[bytes, ...]:
        """Return the names of changed private modules: a file that re-exports from one must contain its name."""
        modules = [module_name(path) for path in changed if is_python(path)]
        return tuple({one.rpartition(".")[2].encode() for one in modules if is_private(one)})

    def all(self) -> list[str]:
        """Return every file that could re-export names."""
        return [path for paths in self._paths.values() for path in paths]


_AT_ONCE: Final = 50
"""The number of files to fetch together."""
_KEPT: Final = 20_000
"""The number of readings in the cache."""
_ROUNDS: Final = 10


_readings: OrderedDict[tuple[str, str], FileExports] = OrderedDict()
"""Parsed files by path and id, the most recently used last. A reading never changes, so all callers share it."""


class TreeApi(msgspec.Struct, frozen=True):
    """The exports of a tree, or of some of its files."""

    symbols: Api
    broken: dict[str, str] = {}
    """Files that could not be parsed, each with the reason."""


class ApiReader:
    """A reader of exports from the objects of a repository, without a checkout."""

    def __init__(self, repository: Repository) -> None:
        self._repository, self._trees = repository, Trees(repository)

    async def api(self, commit: str, paths: Iterable[str] | None = None) -> TreeApi:
        """Return the exports of a commit, or only of some files and of the files that re-export their names."""
        entries = await self._sources(commit)
        wanted = set(entries) if paths is None else await self._related(entries, {*paths})
        readings = await self._readings([entries[path] for path in sorted(wanted & set(entries))])
        broken = {path: one.broken for path, one in readings.items() if one.broken}
        return TreeApi(link_exports(readings.values()), broken)

    async def both(self, before: str, after: str) -> tuple[TreeApi, TreeApi]:
        """Return the exports of two commits in the files that differ."""
        differing = await self._trees.changes(before, after)
        changed = {path for change in differing for path in change.touched if is_source(path)}
        wanted = set(changed)
        for commit in (before, after):
            wanted |= await self._related(await self._sources(commit), changed)
        return await self.api(before, wanted), await self.api(after, wanted)

    async def where(self, commit: str, name: str) -> list[tuple[str, str]]:
        """Return the full names in a commit that end with this name, each with its file."""
        entries = await self._sources(commit)
        likely = await self._mentioning(entries, list(entries), (name.encode(errors="surrogateescape"),))
        readings = await self._readings([entries[path] for path in sorted(likely)])
        offered = [(path, one) for path, one in readings.items() if not one.is_private]
        return [
            (full, path)
            for path, one in offered
            for full in (*one.symbols, *one.links)
            if full.rpartition(".")[2] == name
        ]

    async def _sources(self, commit: str) -> dict[str, TreeEntry]:
        every = await self._trees.entries(commit)
        return {one.path: one for one in every if one.mode.startswith("100") and is_source(one.path)}

    async def _related(self, entries: dict[str, TreeEntry], paths: set[str]) -> set[str]:
        """Add the private files that some files re-export from, and the files that re-export from private ones."""
        places, wanted, fresh = ModulePlaces(entries), set(paths), set(paths)
        for _ in range(_ROUNDS):
            readings = await self._readings([entries[path] for path in sorted(fresh & set(entries))])
            found = {source for one in readings.values() for source in places.sources(one)}
            if words := places.mentions(fresh):
                found |= await self._mentioning(entries, places.all(), words)
            fresh = found - wanted
            wanted |= fresh
            if not fresh:
                break
        return wanted

    async def _mentioning(self, entries: dict[str, TreeEntry], paths: list[str], words: tuple[bytes, ...]) -> set[str]:
        """Return the files that contain one of the words: only these need to be parsed."""
        found: set[str] = set()
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            texts = await self._repository.blobs([entries[path].id for path in some])
            found |= {path for path, text in zip(some, texts, strict=True) if any(word in text for word in words)}
        return found

    async def _readings(self, entries: list[TreeEntry]) -> dict[str, FileExports]:
        """Return the readings of some files, in this order; parse those that are not in the cache."""
        found = {one.path: _readings.get((one.path, one.id)) for one in entries}
        missing = [one for one in entries if found[one.path] is None]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for entry, source in zip(some, await self._repository.blobs([one.id for one in some]), strict=True):
                found[entry.path] = _readings[entry.path, entry.id] = read_api(entry.path, source)
                await asyncio.sleep(0)  # other tasks go on while a large tree is parsed
        for entry in entries:
            if (entry.path, entry.id) in _readings:
                _readings.move_to_end((entry.path, entry.id))
        while len(_readings) > _KEPT:
            _readings.popitem(last=False)
        return {path: one for path, one in found.items() if one is not None}


# The output of the project's own command about its exports, for languages without a reader.

Dump = Callable[[Path], Awaitable[str]]
"""Runs the command in a checkout and returns its output; empty if it fails."""
_OBJECT = re.compile(r"^\{.*\}", re.MULTILINE | re.DOTALL)


class DumpedName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One exported name, as the command prints it."""

    signature: str
    body: str = ""


def parse_dump(printed: str) -> Api:
    """Parse the printed names and signatures; raise `ValueError` with the reason if the output has another form."""
    found = _OBJECT.search(printed)
    try:
        names = msgspec.json.decode(found[0] if found else "", type=dict[str, str | DumpedName])
    except (msgspec.MsgspecError, RecursionError) as error:
        problem = str(error) if found else "it prints no JSON object"
        raise ValueError(f"{problem}; it should print {{NAME: SIGNATURE, …}}") from None
    dumped = {name: DumpedName(one) if isinstance(one, str) else one for name, one in names.items()}
    return {name: make_symbol(one.signature, one.body) for name, one in dumped.items()}


def fill_from_dump(read: Api, printed: Api) -> Api:
    """Replace the files that count as one name each by the names that the command printed."""
    return printed | {name: one for name, one in read.items() if one.signature != WHOLE}


# The changes of a merge for its users: the exported names it added, removed or changed, computed from both trees.

ChangeType = Literal["NewExport", "RemovedExport", "SignatureChange", "BehaviorChange"]
Impact = Literal["Trivial", "Additive", "Breaking"]


class ApiChange(msgspec.Struct, frozen=True):
    """One exported name that differs; `before` and `after` are its signatures."""

    symbol: str
    type: ChangeType
    before: str = ""
    after: str = ""


def compare_apis(before: Api, after: Api) -> list[ApiChange]:
    """Return the differences between two sets of exported names, sorted by name."""
    found: list[ApiChange] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None and new is not None:
            found.append(ApiChange(name, "NewExport", after=new.signature))
        elif new is None and old is not None:
            found.append(ApiChange(name, "RemovedExport", before=old.signature))
        elif old is not None and new is not None and old.signature != new.signature:
            found.append(ApiChange(name, "SignatureChange", old.signature, new.signature))
        elif old is not None and new is not None and old.body != new.body:
            found.append(ApiChange(name, "BehaviorChange", old.signature, new.signature))
    return found


def impact(found: list[ApiChange]) -> Impact:
    """Classify changes: none, additions only, or breaking for existing users."""
    if not found:
        return "Trivial"
    return "Additive" if all(one.type == "NewExport" for one in found) else "Breaking"


async def api_changes(
    repository: Repository, before: str, after: str, printed: tuple[Api, Api] | None = None
) -> list[ApiChange]:
    """Return the changed exports between two commits; parse only the files that differ and those linked with them.

    `printed` has the output of the project's own command for both, for files without a reader.
    """
    old, new = await ApiReader(repository).both(before, after)
    if printed is None:
        return compare_apis(old.symbols, new.symbols)
    return compare_apis(fill_from_dump(old.symbols, printed[0]), fill_from_dump(new.symbols, printed[1]))
