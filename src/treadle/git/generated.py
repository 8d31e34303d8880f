"""Generated files that git ignores, such as `_version.py`: the user's checkout has them, a lane does not.

`environment.generated` names them. Treadle reads them once, when a run begins, and stores them as a tree under a ref of
the run. Lanes and checkouts get copies of that tree. So an agent that changes its copy, or the user's own file, changes
no verdict; and the id of the tree shows whether an earlier test result is still valid.

The second part suggests the setting: it finds files that look generated, because git ignores them and they lie among
tracked code.
"""

import asyncio
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from treadle.config.detection import Folder, subtable
from treadle.config.secrets import secret_in
from treadle.errors import PortError
from treadle.git.files import read_plain_file, write_unless_foreign
from treadle.git.globs import naming
from treadle.git.process import run_git, shorten
from treadle.git.repository import USERS_SETTINGS, Repository
from treadle.git.trees import TreeEntry, graft

MOST_BYTES: Final = 50_000_000
"""The size limit of all generated files together."""
MOST_FILES: Final = 1000
_NEVER: Final = frozenset(
    ".git .treadle .venv venv node_modules __pycache__ .mypy_cache .pytest_cache .ruff_cache .tox .nox".split()
)
"""Folders of environments, caches and Treadle itself: no pattern reaches into them."""


async def ignored_files(root: Path, *options: str, below: Iterable[str] = ()) -> list[str]:
    """List the ignored files of a checkout, below some paths or anywhere, without nested repositories.

    Use the user's own git settings, because they also contain ignore rules.
    """
    places = [f":(top,literal){path}" for path in dict.fromkeys(below)]
    words = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", *options, "--", *places]
    answer = await run_git(words, cwd=root, env=USERS_SETTINGS)
    listed = os.fsdecode(answer.out).split("\0")[:-1] if answer.code == 0 else []
    return [path for path in listed if not _NEVER.intersection(path.split("/"))]


async def read_generated(repository: Repository, globs: Sequence[str]) -> str:
    """Store the generated files of the user's checkout as a tree; return its id, empty without globs.

    Raise a `PortError` with a code `generated.…` for a glob that matches no usable file, with the remedy.
    """
    wanted = [glob for glob in globs if not glob.startswith("!")]
    if not wanted:
        return ""
    listed = await ignored_files(repository.root, below=map(fixed_part, wanted))
    is_named = naming(globs)
    paths = sorted(path for path in listed if not path.endswith("/") and is_named(path))
    for glob in wanted:
        if not any(map(naming([glob]), paths)):
            await _refuse_unmatched(repository, glob)
    if len(paths) > MOST_FILES:
        raise PortError(
            f"`environment.generated` names {len(paths)} files; the limit is {MOST_FILES}: name fewer of them",
            code="generated.too_many",
        )
    files = await asyncio.to_thread(_read_all, repository.root, paths)
    ids = await repository.keep([data for _, data in files])
    entries = {path: (mode, id_) for path, (mode, _), id_ in zip(paths, files, ids, strict=True)}
    return await graft(repository, "", entries)


def fixed_part(glob: str) -> str:
    """Return the part of a glob before its first wildcard, a folder or a file; empty if there is none."""
    parts = glob.removeprefix("./").rstrip("/").split("/")
    count = next((at for at, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    return "/".join(parts[:count])


async def generated_entries(repository: Repository, tree: str) -> tuple[TreeEntry, ...]:
    """Return the files of a tree of generated files."""
    answer = await repository.git("ls-tree", "-r", "-z", "--full-tree", tree)
    lines = [line.partition("\t") for line in os.fsdecode(answer.out).split("\0")[:-1]]
    return tuple(TreeEntry(head.split()[0], head.split()[2], path) for head, _, path in lines)


async def write_copies(repository: Repository, folder: Path, entries: Sequence[TreeEntry]) -> None:
    """Write generated files into a lane or checkout, except where its own tree is in the way."""
    contents = await repository.blobs([entry.id for entry in entries])

    def write() -> None:
        for entry, data in zip(entries, contents, strict=True):
            # No link of the tree is followed: one that an agent has committed could lead into the user's checkout.
            write_unless_foreign(folder, entry.path, data, lambda _there: False, int(entry.mode, 8) & 0o777)

    await asyncio.to_thread(write)


def _read_all(root: Path, paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return the mode and contents of each file; follow no link."""
    found: list[tuple[str, bytes]] = []
    left = MOST_BYTES
    for path in paths:
        data = read_plain_file(root, path, left + 1)
        if data is None:
            raise PortError(
                f"`environment.generated` names {shorten(path)}, which is a link, lies behind one, or cannot be read; "
                "name the plain file",
                code="generated.link",
            )
        left -= len(data)
        if left < 0:
            raise PortError(
                f"the files that `environment.generated` names have more than {MOST_BYTES // 10**6} MB; name fewer",
                code="generated.too_large",
            )
        mode = 0
        with suppress(OSError):
            mode = os.lstat(root / path).st_mode
        found.append(("100755" if mode & stat.S_IXUSR else "100644", data))
    return found


async def _refuse_unmatched(repository: Repository, glob: str) -> None:
    """Raise the reason why a glob matches no ignored file."""
    place = f":(top,literal){fixed_part(glob)}"
    words = ("ls-files", "-z", "--", place)
    listed = os.fsdecode((await repository.users(*words, ok=(0, 128))).out).split("\0")
    problem = f"`environment.generated` names {shorten(glob)}"
    if any(map(naming([glob]), listed)):
        raise PortError(
            f"{problem}, which git tracks: every lane has it; take it out of the setting", code="generated.tracked"
        )
    others = await repository.users("ls-files", "--others", "-z", "--exclude-standard", "--", place, ok=(0, 128))
    if any(map(naming([glob]), os.fsdecode(others.out).split("\0"))):
        raise PortError(
            f"{problem}, which git does not ignore; commit it, or name it in .gitignore", code="generated.not_ignored"
        )
    raise PortError(
        f"{problem}, and {repository.root} has no such file; build it there (for a Python package, `pip install -e .` "
        "does), or take it out of the setting",
        code="generated.missing",
    )


# Find the files of a checkout that look generated.

_SOURCES: Final = frozenset(".py .pyx .js .mjs .cjs .jsx .ts .mts .cts .tsx .go .rs .java .kt .c .cc .cpp .rb".split())
_WANTED: Final = _SOURCES | frozenset(".pyi .so .mo .json .h .pb .wasm .css .sql .map".split()) - {".c", ".cpp"}
"""Suffixes of files that programs read or import. C files are left out: tests need their compiled form."""
_OTHERS: Final = frozenset("build dist out target coverage htmlcov docs doc examples site vendor tmp logs".split())
"""Folders with ignored files that no test of the code imports."""
_PERSONAL: Final = re.compile(r"local|secret|credential|private|settings|config|password|token", re.IGNORECASE)
"""Names of files that people write for their own machine."""
_VERSION_FILES: Final = (
    ("setuptools_scm", "version_file"),
    ("setuptools_scm", "write_to"),
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("pdm", "version", "write_to"),
    ("versioningit", "write", "file"),
)
"""Keys below `[tool]` of pyproject.toml that name the version file of a build tool."""
_FEW: Final = 3
"""The number of files of one kind up to which each is named by itself."""
_MOST_GLOBS: Final = 8
_TEXT: Final = 500_000
_NOT_FOUND: Final = re.compile(
    r"No module named '?([\w.]+)|cannot import name '?(\w+)'? from (?:partially initialized module )?'?([\w.]+)"
    r"|(?:Cannot find (?:module|package)|No such file or directory|ENOENT[^'\"]*)[^'\"\n]{0,40}['\"]([^'\"\n]+)['\"]"
)


class GeneratedGlobs(msgspec.Struct, frozen=True):
    """Globs for `environment.generated`, and the files that pyproject.toml itself names as generated."""

    globs: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


async def find_generated(root: Path) -> GeneratedGlobs:
    """Suggest globs for `environment.generated`; with too many files, only those that pyproject.toml names."""
    named = await _version_files(root)
    others = [path for path in await _look_generated(root) if path not in named]
    globs = _summarize(others)
    size = 0
    for path in others:
        with suppress(OSError):
            size += (root / path).lstat().st_size
    if len(globs) > _MOST_GLOBS or len(others) > MOST_FILES or size > MOST_BYTES // 2:
        globs = []
    return GeneratedGlobs((*named, *globs), tuple(named))


async def missing_generated(root: Path, printed: str) -> list[str]:
    """Return the generated files of the user's checkout that a program in another checkout, by its output, lacks."""
    wanted: set[str] = set()
    for match in _NOT_FOUND.finditer(printed):
        module, name, package, file = match.groups()
        if module:
            wanted.add(module.replace(".", "/"))
        elif name:
            wanted.add(f"{package.replace('.', '/')}/{name}")
        elif file and (parts := [part for part in file.split("/") if part not in ("", ".", "..")]):
            wanted.add(PurePosixPath(*parts[-3:]).with_suffix("").as_posix())
    if not wanted:
        return []
    files = {*await _version_files(root), *await _look_generated(root)}
    there = [path for path in files if (root / path).is_file()]
    return sorted(path for path in there if any(_ends_with(path, ending) for ending in wanted))


async def _version_files(root: Path) -> list[str]:
    """Return the ignored files that pyproject.toml names as build outputs, whether they exist or not."""
    tool = subtable(Folder(root).toml("pyproject.toml"), "tool")
    values = [subtable(tool, *keys[:-1]).get(keys[-1]) for keys in _VERSION_FILES]
    paths = [PurePosixPath(one).as_posix() for one in values if isinstance(one, str) and one.isprintable()]
    fit = [path for path in paths if not path.startswith(("/", "~", "-", ".")) and ".." not in path.split("/")]
    if not fit:
        return []
    stdin = os.fsencode("".join(f"{path}\0" for path in dict.fromkeys(fit)))
    answer = await run_git(["check-ignore", "-z", "--stdin"], cwd=root, env=USERS_SETTINGS, stdin=stdin)
    return os.fsdecode(answer.out).split("\0")[:-1] if answer.code == 0 else []


async def _look_generated(root: Path) -> list[str]:
    """Return ignored files below folders with tracked code, without caches and personal settings."""
    answer = await run_git(["ls-files", "-z"], cwd=root, env=USERS_SETTINGS)
    if answer.code:
        return []
    tracked = (PurePosixPath(path) for path in os.fsdecode(answer.out).split("\0")[:-1])
    folders = {path.parent.as_posix() for path in tracked if path.suffix in _SOURCES} - {"."}
    # Folders that are ignored as a whole are listed as one: an environment has too many files to look through.
    listed = await ignored_files(root, "--directory")
    inside = [path for path in listed if path.endswith("/") and _is_of(path.rstrip("/"), folders)]
    found = [path for path in listed if not path.endswith("/")]
    found += await ignored_files(root, below=inside) if inside else []
    chosen = [path for path in sorted({*found}) if _is_of(path, folders) and _is_wanted(PurePosixPath(path))]
    fit: list[str] = []
    for path in chosen[: 2 * MOST_FILES]:
        data = read_plain_file(root, path, _TEXT)  # None: a link, or unreadable
        if data is not None and not secret_in(data.decode(errors="replace")):
            fit.append(path)
    return fit


def _is_of(path: str, folders: set[str]) -> bool:
    """Whether a path lies below a folder with code, and not below one that no test imports from."""
    parents = [one.as_posix() for one in PurePosixPath(path).parents]
    is_other = any(part in _OTHERS or part.startswith(".") or part.endswith(".egg-info") for part in path.split("/"))
    return not is_other and any(parent in folders for parent in parents)


def _is_wanted(path: PurePosixPath) -> bool:
    fits = path.suffix in _WANTED and path.as_posix().isprintable() and not set(path.as_posix()) & set("*?\\")
    return fits and not path.name.startswith((".", "-")) and not _PERSONAL.search(path.name)


def _summarize(paths: Iterable[str]) -> list[str]:
    """Return each path by itself where there are few of a kind, else one glob below their common folder."""
    kinds: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in paths:
        parts = path.split("/")
        depth = 2 if parts[0] in ("src", "lib", "packages") and len(parts) > 2 else 1
        kinds["/".join(parts[:depth]), PurePosixPath(path).suffix].append(path)
    found: list[str] = []
    for (_, suffix), those in kinds.items():
        if len(those) <= _FEW:
            found += those
        else:
            shared = os.path.commonpath([os.path.dirname(path) for path in those])  # noqa: PTH120 - text, no path here
            found.append(f"{shared}/**/*{suffix}" if shared else f"**/*{suffix}")
    return found


def _ends_with(path: str, wanted: str) -> bool:
    """Whether a file's path without suffixes ends with the wanted path, or the other way round."""
    stem = path.removesuffix("".join(PurePosixPath(path).suffixes[-2:])) if ".cpython" in path else path
    stem = stem.removesuffix(PurePosixPath(stem).suffix)
    return bool(wanted) and (f"/{stem}".endswith(f"/{wanted}") or f"/{wanted}".endswith(f"/{stem}"))
