"""What lies in a lane, looked at without following or opening anything."""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal

import msgspec

FindingKind = Literal["link", "repository", "submodule", "large", "special", "name"]

LARGE: Final = 50 * 1024 * 1024
"""Bytes; a new file beyond this is not recorded."""
_OURS: Final = frozenset({".git", "git~1"})
_SHORTEST: Final = 4
_FIRST: Final = ".gG"
_LOOKED_AT: Final = 0o170000 | stat.S_IRUSR  # of a mode: the kind, and whether its owner may read it
_PLAIN: Final = stat.S_IFREG | stat.S_IRUSR
_NAME: Final = attrgetter("name")
_STEPS: Final = 1000
"""Parts of names that a link may lead over."""


class Finding(msgspec.Struct, frozen=True):
    """Something in a lane that is not taken as it is; data for the check of the scope."""

    kind: FindingKind
    path: str
    detail: str


class Found(msgspec.Struct, frozen=True):
    """A lane's contents: plain files and links by path, what is odd, and the folders that were not looked into."""

    files: dict[str, int]
    """Path → size; links have the size of their target's name, and what was known before has none."""
    links: dict[str, str]
    odd: tuple[Finding, ...]


def scan(root: Path, known: Collection[str] = frozenset()) -> Found:
    """Everything below a folder except its own `.git`.

    Plain files that are known by their paths count without a look at their sizes and rights: to ask the system about
    each file of a large tree takes longer than all the rest.
    """
    files: dict[str, int] = {}
    links: dict[str, str] = {}
    odd: list[Finding] = []
    for path, entry in _walk(str(root), ""):
        if path in known and entry.is_file(follow_symlinks=False) and path.isascii() and entry.name[0] not in _FIRST:
            files[path] = 0
            continue
        state = entry.stat(follow_symlinks=False)
        mode = state.st_mode
        if mode & _LOOKED_AT == _PLAIN and path.isascii() and entry.name[0] not in _FIRST:  # as nearly all are
            files[path] = state.st_size
        elif is_reserved(entry.name):
            odd.append(Finding("repository", path, "a git folder inside of the lane"))
        elif not _is_readable(path):
            odd.append(Finding("name", path, "a name that is not UTF-8"))
        elif stat.S_ISLNK(mode):
            links[path] = str(Path(entry.path).readlink())
            files[path] = len(links[path])
        elif stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
            odd.append(Finding("special", path, "a file that may not be read"))
        elif stat.S_ISREG(mode):
            files[path] = state.st_size
        elif not stat.S_ISDIR(mode):
            odd.append(Finding("special", path, "neither a file nor a folder nor a link"))
    odd += [
        Finding("link", path, f"points out of the lane: {to}") for path, to in links.items() if _leaves(path, to, links)
    ]
    return Found(files, links, tuple(odd))


def has_files(root: Path) -> bool:
    """Whether anything but folders lies below a folder."""
    return any(not entry.is_dir(follow_symlinks=False) for _, entry in _walk(str(root), ""))


def is_reserved(name: str) -> bool:
    """Whether git, somewhere, takes a name for its own folder."""
    return len(name) >= _SHORTEST and name[0] in _FIRST and name.lower().rstrip(". ") in _OURS


def _walk(root: str, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [(root, below)]
    while waiting:
        folder, prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=_NAME)
        except OSError:  # a folder that may not be read has nothing to say
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if path == ".git":
                continue
            yield path, entry
            if entry.is_dir(follow_symlinks=False) and not is_reserved(entry.name):
                waiting.append((entry.path, f"{path}/"))


def _is_readable(path: str) -> bool:
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(path: str, to: str, links: Mapping[str, str]) -> bool:
    """Whether a link leads out of its lane; other links on its way are followed as text, and nothing is opened."""
    here = path.split("/")[:-1]
    waiting = [to]
    for _ in range(_STEPS):
        if not waiting:
            return False
        step, more, rest = waiting.pop().partition("/")
        if more and not step:
            return True
        waiting += [rest.lstrip("/")] if more else []
        if step == ".." and not here:
            return True
        here = here[:-1] if step == ".." else here if step in ("", ".") else [*here, step]
        if here and is_reserved(here[0]):
            return True
        if step not in ("", ".", "..") and (target := links.get("/".join(here))) is not None:
            here.pop()
            waiting.append(target)
    return True  # in a circle, or as good as that
