"""A box of bubblewrap around an agent: it sees this machine, and can write only what it may.

Everything is at the same path inside as outside. What must not be seen is covered, what may be written is bound again
over the read-only rest, and the kernel refuses all else, whatever program tries. Nothing inside outlives the box, and
the box does not outlive the process that started it.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Job, Launch
from treadle.enclosures.engine import ask
from treadle.enclosures.lane_marks import lane_marks
from treadle.enclosures.secrets import homes, secret_places

PROGRAM: Final = "bwrap"
_PLAIN: Final = "--die-with-parent --unshare-pid --unshare-ipc --cap-drop ALL --ro-bind / / --dev /dev --proc /proc"
_SHARED: Final = (Path("/tmp"), Path("/var/tmp"))
_MEMORY: Final = "/dev/shm"
_ROOTS_OWN: Final = ("/proc/sys", "/proc/sysrq-trigger")
"""What root may write without any capability, and reaches the whole machine."""
_CACHES: Final = {"MYPY_CACHE_DIR": "mypy", "RUFF_CACHE_DIR": "ruff", "COVERAGE_FILE": "coverage"}
_HOME_CACHES: Final = {"GOCACHE": "go-build", "npm_config_cache": "npm"}
"""Variables that lead tools away from folders which are read-only in here."""
_PATIENCE: Final = 10.0
_TRIAL: Final = ("/bin/sh", "-c", ": > in/x && ! (: > x) 2> /dev/null")
_IGNORING: Final = "--ignore-signal=TERM"
_HEARING: Final = "--default-signal=TERM"


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """Starts each agent in a new box."""

    program: str
    hidden: tuple[Path, ...] = ()
    """What agents do not see, unless it is handed to them: other lanes, the store, other activities."""
    writable: tuple[Path, ...] = ()
    """What every agent may write besides."""
    network: bool = True
    env: str = ""
    """A program that sets what becomes of signals; without it an agent is not asked to end before it is ended."""
    is_apart: bool = False
    loopback: bool = False
    narrows: bool = False

    @property
    def name(self) -> str:
        network = "its network" if self.network else "no network"
        return f"bubblewrap: writes only to its scope, own processes, {network}"

    def launch(self, job: Job) -> Launch:
        """The words of bubblewrap, and an environment in which temporary files and caches have a place."""
        opened = [path.resolve() for path in (*job.writable, *self.writable)]
        needed = [*opened, job.cwd.resolve(), *(path.resolve() for path in job.readable), Path(job.argv[0]), *homes()]
        shared = [place for place in _SHARED if place.is_dir() and not _holds(place, needed)]
        covered = self._covered(shared, opened)
        asked = self.env and "=" not in self.program + job.argv[0]  # which it would take for a variable
        argv = (
            *((self.env, _IGNORING) if asked else ()),
            *(self.program, *_PLAIN.split()),
            *(() if self.network and job.network else ("--unshare-net",)),
            *_roots_own(),
            *(word for place in covered for word in _cover(place)),
            *_bound(job, opened, covered),
            *(word for place in covered if place not in shared and place.is_dir() for word in ("--remount-ro", place)),
            *("--chdir", job.cwd, "--"),
            *((self.env, _HEARING) if asked else ()),
            *job.argv,
        )
        scratch = str(shared[0]) if shared else _MEMORY
        return Launch(argv=tuple(map(str, argv)), env=_environment(job.env, scratch, opened))

    def _covered(self, shared: Iterable[Path], opened: Iterable[Path]) -> list[Path]:
        """Parents first, and nothing that lies in another one; not what people have opened on purpose."""
        hidden = [path.resolve() for path in self.hidden if path.exists()]
        secret = [path for path in secret_places() if not any(_is_around(one, path) for one in opened)]
        found = [*shared]
        for path in sorted({*hidden, *secret}):
            if not any(path.is_relative_to(one) for one in found):
                found.append(path)
        return found


def _holds(place: Path, needed: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place.resolve()) for path in needed)


def _is_around(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _cover(place: Path) -> tuple[str | Path, ...]:
    return ("--tmpfs", place) if place.is_dir() else ("--ro-bind", "/dev/null", place)


def _roots_own() -> Iterator[str]:
    for place in _ROOTS_OWN if os.getuid() == 0 else ():
        if Path(place).exists():
            yield from ("--ro-bind", place, place)


def _bound(job: Job, opened: Iterable[Path], covered: Iterable[Path]) -> Iterator[str | Path]:
    """What is seen through a cover, then the lane and what is in it, and the rest that may be written."""
    lane, over = job.cwd.resolve(), [*covered]
    ways = {path.resolve(): "--ro-bind" for path in job.readable if _is_inside(path.resolve(), over)}
    ways |= {lane: "--ro-bind"}
    ways |= {lane / mark.path: "--bind" if mark.writable else "--ro-bind" for mark in lane_marks(lane, job.scope)}
    ways |= dict.fromkeys((path for path in opened if path.exists()), "--bind")
    for path in sorted(ways, key=lambda one: len(one.parts)):
        yield from (ways[path], path, path)


def _is_inside(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _environment(env: dict[str, str], scratch: str, opened: Iterable[Path]) -> dict[str, str]:
    home = Path(env.get("HOME") or "/").resolve()
    caches = _CACHES if _is_inside(home, opened) else _CACHES | _HOME_CACHES
    given = {name: f"{scratch}/treadle-{folder}" for name, folder in caches.items()}
    given |= {"PYTEST_ADDOPTS": f"-o cache_dir={scratch}/treadle-pytest", "GIT_OPTIONAL_LOCKS": "0"}
    return given | env | {"TMPDIR": scratch}


_tried: dict[str, Box | str] = {}


async def find_box() -> Box | str:
    """A box that works here, tried once; or why there is none."""
    program = shutil.which(PROGRAM)
    if program is None:
        return f"there is no program '{PROGRAM}'"
    if program not in _tried:
        _tried[program] = await _first_working(program)
    return _tried[program]


async def _first_working(program: str) -> Box | str:
    """The first that keeps its promise: what is in the scope can be written, and what is not cannot."""
    said = ""
    with tempfile.TemporaryDirectory(prefix="treadle-box-") as folder:
        for env in (shutil.which("env") or "", ""):
            box = Box(program=program, env=env)
            job = Job(argv=_TRIAL, cwd=Path(folder), env={}, scope=("in/**",), network=True)
            answer = await ask(box.launch(job).argv, _PATIENCE)
            if answer.code == 0:
                return box
            said = said or answer.first_line
    return f"{program} does not work here: {said}"
