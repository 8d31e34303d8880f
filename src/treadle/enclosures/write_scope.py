"""Which folders and files of a lane must be writable, so that what globs allow can be written and little else.

Mounts know folders and files, not patterns. A folder in which a pattern may match something new is opened; what lies in
it and is not allowed is closed again, as far as a bounded number of mounts goes. What no mount can refuse, the check on
the diff does: it is in force whatever happens here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from treadle.git.globs import matches, naming

MOST_CLOSED: Final = 120
"""Closed places inside of open ones; each of them is a mount, and a thousand would take seconds."""
MOST_SEEN: Final = 2_000
"""Folders that are looked into."""
_NEVER: Final = ("!.git", "!.git/**", "!.treadle", "!.treadle/**", "!treadle.toml")
_BUILT: Final = frozenset(
    "build coverage dist htmlcov node_modules out target .cache .eggs .gradle .hypothesis .mypy_cache .next .nyc_output"
    " .pytest_cache .ruff_cache .tox .turbo".split()
)


class Mark(NamedTuple):
    """A place in a lane, from which on things are writable, or not."""

    path: str
    """Relative to the lane; empty: the lane itself."""
    writable: bool


class Inside(NamedTuple):
    """What lies in a folder, by name; links are neither."""

    folders: Sequence[str] = ()
    files: Sequence[str] = ()


Look = Callable[[str], Inside]
"""Looks into a folder of the lane."""


def marks(globs: Iterable[str], look: Look) -> tuple[Mark, ...]:
    """The places to open and to close, parents first; what is above all of them is closed."""
    scope = _Scope(globs)
    found: list[Mark] = []
    closed = 0
    waiting = deque([("", False)])
    seen = 0
    while waiting:
        folder, around = waiting.popleft()
        is_open, is_mixed = scope.folder(folder)
        if is_open or closed < MOST_CLOSED:
            closed += around and not is_open
            found += [Mark(folder, is_open)] if is_open != around else []
        else:
            is_open = around
        if not is_mixed or seen >= MOST_SEEN:
            continue
        seen += 1
        inside = look(folder)
        refused = [] if not is_open else [one for one in _below(folder, inside.files) if not scope.allows(one)]
        found += [Mark(one, writable=False) for one in refused[: MOST_CLOSED - closed]]
        closed = min(MOST_CLOSED, closed + len(refused))
        waiting.extend((one, is_open) for one in _below(folder, inside.folders))
    return tuple(sorted(found, key=lambda mark: mark.path.count("/") if mark.path else -1))


def needed_folders(globs: Iterable[str]) -> tuple[str, ...]:
    """Folders that must be there to be opened: the beginnings of globs that can be nothing but folders."""
    wanted = [*globs]
    found: dict[str, None] = {}
    for glob in wanted:
        parts = glob.split("/")
        wild = next((at for at, part in enumerate(parts) if _is_wild(part)), len(parts) - 1)
        for end in range(1, wild + 1) if not glob.startswith("!") else ():
            folder = "/".join(parts[:end])
            if matches(folder, (*wanted, *_NEVER)):
                break  # it may become a file
            if not matches(f"{folder}/x", _excluded(wanted)):
                found[folder] = None
    return tuple(found)


def built_folders(ignored: str) -> tuple[str, ...]:
    """Globs for the folders that tools build in, as far as a `.gitignore` names them: they are in no diff."""
    names = {line.strip().strip("/") for line in ignored.splitlines() if not line.startswith("!")}
    return tuple(f"{name}/**" for name in sorted(names & _BUILT))


def _excluded(globs: Iterable[str]) -> list[str]:
    return [glob[1:] for glob in (*globs, *_NEVER) if glob.startswith("!")]


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [f"{folder}/{name}" if folder else name for name in names]


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part


class _Scope:
    """Globs, asked about folders instead of files."""

    def __init__(self, globs: Iterable[str]) -> None:
        every = (*globs, *_NEVER)
        self.allows = naming(every)
        self._wanted = [_Glob(glob) for glob in every if not glob.startswith("!")]
        self._excluded = [_Glob(glob) for glob in _excluded(every)]

    def folder(self, path: str) -> tuple[bool, bool]:
        """Whether something new may be written in a folder, and whether more has to be known about what is in it."""
        parts = path.split("/") if path else []
        left = [glob.left(parts) for glob in self._wanted]
        denied = [glob.left(parts) for glob in self._excluded]
        if not any(left) or any(_is_all(one) for one in denied):
            return False, False
        is_open = any(_may_begin(rest) for one in left for rest in one)
        return is_open, any(denied) or not any(_is_all(one) for one in left)


class _Glob:
    """What is left of a glob behind a folder."""

    def __init__(self, glob: str) -> None:
        # `a**b` goes through folders too; that it may be anything from there on is more than it means, never less.
        parts = glob.removeprefix("./").rstrip("/").split("/")
        deep = next((at for at, part in enumerate(parts) if "**" in part and part != "**"), None)
        self._parts = parts if deep is None else [*parts[:deep], "**", "*"]

    def left(self, folder: Sequence[str]) -> list[list[str]]:
        """All that may have to follow; nothing if the glob names nothing in there."""
        states = self._rested({0})
        for name in folder:
            states = self._rested(after for at in states for after in self._after(at, name))
        return [self._parts[at:] for at in sorted(states)]

    def _after(self, at: int, name: str) -> list[int]:
        part = self._parts[at]
        if part == "**":
            return [at]
        return [at + 1] if name == part or (_is_wild(part) and matches(name, (part,))) else []

    def _rested(self, states: Iterable[int]) -> set[int]:
        """With what follows a `**` that stands for no folder at all."""
        found: set[int] = set()
        for state in states:
            at = state
            while at < len(self._parts):
                found.add(at)
                if self._parts[at] != "**":
                    break
                at += 1
        return found


def _is_all(left: Iterable[list[str]]) -> bool:
    return ["**"] in left


def _may_begin(rest: Sequence[str]) -> bool:
    """Whether what comes next may be new: a file, or a folder whose name only a pattern tells."""
    return len(rest) == 1 or _is_wild(rest[0])
