"""A bubblewrap sandbox around an agent: it sees this machine, and can write only inside its scope.

Every path is the same inside as outside. Secret places are covered, writable paths are bound again over the read-only
rest, and the kernel refuses all other writes by any program. No process inside outlives the sandbox, and the sandbox
does not outlive the process that started it.
"""

import os
import pwd
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.container import run_program
from treadle.enclosures.port import EnclosedCommand, LaunchCommand
from treadle.enclosures.write_scope import lane_marks
from treadle.git.files import temporary_folder

# Places of this machine that no agent needs to see: keys, passwords, and sockets that would let it out of its
# sandbox.

_OF_A_USER: Final = (
    *(".ssh .gnupg .aws .azure .kube .docker .password-store .config/gh .config/glab-cli .config/hub".split()),
    *(".config/gcloud .config/op .config/git/credentials .config/containers/auth.json .git-credentials".split()),
    *(".netrc .pypirc .vault-token .cargo/credentials .cargo/credentials.toml .terraform.d".split()),
    *(".local/share/keyrings .mozilla .config/google-chrome .config/chromium".split()),
    *(".bash_history .zsh_history .python_history .psql_history".split()),
)
_OF_THE_MACHINE: Final = (
    *("/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/dbus", "/run/systemd/private"),
    *("/run/libvirt", "/run/snapd.socket", "/run/screen", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"),
)


def secret_places() -> Iterator[Path]:
    """Yield the secret places that exist, with all links resolved."""
    of_users = [home / name for home in home_folders() for name in _OF_A_USER]
    of_the_machine = [Path(name) for name in (*_OF_THE_MACHINE, f"/run/user/{os.getuid()}")]
    for place in (*of_users, *of_the_machine):
        with suppress(OSError, RuntimeError):
            yield place.resolve(strict=True)


def home_folders() -> list[Path]:
    """Return the current user's home folders: from the environment, and from the password database."""
    found = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # a container may run under a user that has no entry
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    return [Path(home) for home in dict.fromkeys(found) if home.startswith("/") and home != "/"]


PROGRAM: Final = "bwrap"
_PLAIN: Final = "--die-with-parent --unshare-pid --unshare-ipc --cap-drop ALL --ro-bind / / --dev /dev --proc /proc"
_SHARED: Final = (Path("/tmp"), Path("/var/tmp"))
_MEMORY: Final = "/dev/shm"
_ROOTS_OWN: Final = ("/proc/sys", "/proc/sysrq-trigger")
"""Files of the whole machine that root may write even without any capability."""
_CACHES: Final = {"MYPY_CACHE_DIR": "mypy", "RUFF_CACHE_DIR": "ruff", "COVERAGE_FILE": "coverage"}
_HOME_CACHES: Final = {"GOCACHE": "go-build", "npm_config_cache": "npm"}
"""Variables that move tools' caches out of folders that are read-only in the sandbox."""
_PATIENCE: Final = 10.0
_TRIAL: Final = ("/bin/sh", "-c", ": > in/x && ! (: > x) 2> /dev/null")
_IGNORING: Final = "--ignore-signal=TERM"
_HEARING: Final = "--default-signal=TERM"


class BubblewrapBox(msgspec.Struct, frozen=True, kw_only=True):
    """Starts each agent in a new sandbox."""

    program: str
    hidden: tuple[Path, ...] = ()
    """Paths hidden from agents, unless a job opens them: other lanes, the store, other activities."""
    writable: tuple[Path, ...] = ()
    """Additional paths that every agent may write."""
    network: bool = True
    env: str = ""
    """The `env` program, which sets signal handling; without it an agent is killed without a SIGTERM first."""
    is_apart: bool = False
    loopback: bool = False
    narrows: bool = False

    @property
    def name(self) -> str:
        network = "its network" if self.network else "no network"
        return f"bubblewrap: writes only to its scope, own processes, {network}"

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        """Return bubblewrap's command line, and an environment with writable places for temporary files and caches."""
        lane = job.cwd.resolve()
        opened = [path.resolve() for path in (*job.writable, *self.writable)]
        readable = [path.resolve() for path in job.readable]

        # An empty folder covers /tmp, unless something that the agent needs lies in there.
        needed = [*opened, lane, *readable, Path(job.argv[0]), *home_folders()]
        is_needed = {place: any(_is_inside(one, [place.resolve()]) for one in needed) for place in _SHARED}
        shared = [place for place in _SHARED if place.is_dir() and not is_needed[place]]
        covered = self._covered(shared, opened)
        covers: list[str | Path] = []
        for name in _ROOTS_OWN if os.getuid() == 0 else ():
            covers += ("--ro-bind", name, name) if Path(name).exists() else ()
        for place in covered:
            covers += ("--tmpfs", place) if place.is_dir() else ("--ro-bind", "/dev/null", place)

        # Parents come first: a later mount lies over an earlier one.
        ways = {path: "--ro-bind" for path in readable if _is_inside(path, covered)}
        ways |= {lane: "--ro-bind"}
        ways |= {lane / mark.path: "--bind" if mark.writable else "--ro-bind" for mark in lane_marks(lane, job.scope)}
        ways |= dict.fromkeys((path for path in opened if path.exists()), "--bind")
        binds = [word for path in sorted(ways, key=lambda one: len(one.parts)) for word in (ways[path], path, path)]

        # Only now: nothing could be bound below a cover that is read-only already.
        closed = [place for place in covered if place not in shared and place.is_dir()]
        # The keeper sends SIGTERM to all its descendants. bwrap would end at once and take the agent with it; so it
        # ignores the signal, and the agent gets it back and has time to react.
        can_set_signals = self.env and "=" not in self.program + job.argv[0]  # `env` would take it for a variable
        argv = (
            *((self.env, _IGNORING) if can_set_signals else ()),
            *(self.program, *_PLAIN.split()),
            *(() if self.network and job.network else ("--unshare-net",)),
            *covers,
            *binds,
            *(word for place in closed for word in ("--remount-ro", place)),
            *("--chdir", job.cwd, "--"),
            *((self.env, _HEARING) if can_set_signals else ()),
            *job.argv,
        )
        scratch = str(shared[0]) if shared else _MEMORY
        home = Path(job.env.get("HOME") or "/").resolve()
        caches = _CACHES if _is_inside(home, opened) else _CACHES | _HOME_CACHES
        env = {name: f"{scratch}/treadle-{folder}" for name, folder in caches.items()}
        env |= {"PYTEST_ADDOPTS": f"-o cache_dir={scratch}/treadle-pytest", "GIT_OPTIONAL_LOCKS": "0"}
        return LaunchCommand(argv=tuple(map(str, argv)), env=env | job.env | {"TMPDIR": scratch})

    def _covered(self, shared: Iterable[Path], opened: Iterable[Path]) -> list[Path]:
        """Return the places to cover, parents first, without nested ones and paths opened by the user."""
        hidden = {path.resolve() for path in self.hidden if path.exists()}
        for path in secret_places():
            if not any(one.is_relative_to(path) or path.is_relative_to(one) for one in opened):
                hidden.add(path)
        found = [*shared]
        for path in sorted(hidden):
            if not _is_inside(path, found):
                found.append(path)
        return found


def _is_inside(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


_tried: dict[str, BubblewrapBox | str] = {}


async def find_box() -> BubblewrapBox | str:
    """Return a working sandbox, tried once, or why there is none."""
    program = shutil.which(PROGRAM)
    if program is None:
        return f"the program '{PROGRAM}' is not installed"
    if program in _tried:
        return _tried[program]
    # The trial: a write inside the scope succeeds, and one outside fails.
    complaint = ""
    with temporary_folder("box") as folder:
        job = EnclosedCommand(argv=_TRIAL, cwd=Path(folder), env={}, scope=("in/**",), network=True)
        for env in (shutil.which("env") or "", ""):
            box = BubblewrapBox(program=program, env=env)
            answer = await run_program(box.launch(job).argv, _PATIENCE)
            if answer.code == 0:
                _tried[program] = box
                return box
            complaint = complaint or answer.first_line
    _tried[program] = f"{program} does not work here: {complaint}"
    return _tried[program]
