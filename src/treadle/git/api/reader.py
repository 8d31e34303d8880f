"""Reads what trees export. A file's contents are read once, however many trees it is in."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.git.api.languages import is_source, read_api
from treadle.git.api.links import Places, linked
from treadle.git.api.symbol import Api, Reading
from treadle.git.repository import Repository
from treadle.git.trees import Entry, Trees

_AT_ONCE: Final = 50
"""Files that are fetched together."""
_KEPT: Final = 20_000
"""Readings that are remembered, the latest."""
_ROUNDS: Final = 10


class Readings:
    """What has been read, by path and contents: that never changes, so whoever asks may have it."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Reading] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, entry: Entry) -> Reading | None:
        """The reading of a file, if it is remembered."""
        key = (entry.path, entry.id)
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def add(self, entry: Entry, reading: Reading) -> Reading:
        """Remember a reading; the one that nobody has asked for longest is forgotten."""
        self._kept[entry.path, entry.id] = reading
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return reading


_SHARED: Final = Readings()


class TreeApi(msgspec.Struct, frozen=True):
    """What a tree exports, or some of its files."""

    symbols: Api
    broken: dict[str, str] = {}
    """Files that could not be understood, each with why."""


class ApiReader:
    """Reads from the objects of a repository; nothing is checked out."""

    def __init__(self, repository: Repository, readings: Readings = _SHARED) -> None:
        self._repository, self._trees, self._known = repository, Trees(repository), readings

    async def api(self, commit: str, paths: Iterable[str] | None = None) -> TreeApi:
        """What a commit exports (in some files, and in those that pass names of them on)."""
        entries = await self._sources(commit)
        wanted = set(entries) if paths is None else await self._related(entries, {*paths})
        readings = await self._readings([entries[path] for path in sorted(wanted & set(entries))])
        broken = {path: one.broken for path, one in readings.items() if one.broken}
        return TreeApi(linked(readings.values()), broken)

    async def both(self, before: str, after: str) -> tuple[TreeApi, TreeApi]:
        """What two commits export in the files that differ."""
        differing = await self._trees.changes(before, after)
        changed = {path for change in differing for path in change.touched if is_source(path)}
        wanted = set(changed)
        for commit in (before, after):
            wanted |= await self._related(await self._sources(commit), changed)
        return await self.api(before, wanted), await self.api(after, wanted)

    async def where(self, commit: str, name: str) -> list[tuple[str, str]]:
        """Where a commit offers something of that name: the full names, each with its file."""
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

    async def _sources(self, commit: str) -> dict[str, Entry]:
        every = await self._trees.entries(commit)
        return {one.path: one for one in every if one.mode.startswith("100") and is_source(one.path)}

    async def _related(self, entries: dict[str, Entry], paths: set[str]) -> set[str]:
        """Some files, the private ones that they have names from, and those that pass names of private ones on."""
        places, wanted, fresh = Places(entries), set(paths), set(paths)
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

    async def _mentioning(self, entries: dict[str, Entry], paths: list[str], words: tuple[bytes, ...]) -> set[str]:
        """The files that hold one of some words: nothing else needs to be understood."""
        found: set[str] = set()
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            texts = await self._repository.blobs([entries[path].id for path in some])
            found |= {path for path, text in zip(some, texts, strict=True) if any(word in text for word in words)}
        return found

    async def _readings(self, entries: list[Entry]) -> dict[str, Reading]:
        known = {one.path: self._known.get(one) for one in entries}
        missing = [one for one in entries if known[one.path] is None]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for entry, source in zip(some, await self._repository.blobs([one.id for one in some]), strict=True):
                known[entry.path] = self._known.add(entry, read_api(entry.path, source))
                await asyncio.sleep(0)  # a large tree keeps nobody waiting
        return {path: one for path, one in known.items() if one is not None}
