"""The writable places of a scope, and those of a lane on disk."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.enclosures.write_scope import (
    MOST_CLOSED,
    FolderContents,
    Mark,
    built_folders,
    lane_marks,
    marks,
    needed_folders,
)
from treadle.errors import PortError
from treadle.git.globs import matches

NEVER = ("!.git", "!.git/**", "!.treadle", "!.treadle/**", "!treadle.toml")
Tree = Mapping[str, FolderContents]


def tree_of(files: Iterable[str], folders: Iterable[str] = ()) -> Tree:
    """The folders of a lane with these files; a file in the place of a folder gives way."""
    inside: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
    for path, is_file in [*((one, False) for one in folders), *((one, True) for one in files)]:
        parts = path.split("/")
        for end in range(len(parts)):
            folder, name = "/".join(parts[:end]), parts[end]
            here = inside.setdefault(folder, (set(), set()))
            here[1 if is_file and end == len(parts) - 1 else 0].add(name)
            if not is_file or end < len(parts) - 1:
                inside.setdefault("/".join(parts[: end + 1]), (set(), set()))
    return {folder: FolderContents(sorted(one[0]), sorted(one[1] - one[0])) for folder, one in inside.items()}


def opened(globs: Iterable[str], tree: Tree) -> tuple[Mark, ...]:
    return marks(tuple(globs), lambda folder: tree.get(folder, FolderContents()))


def is_writable(path: str, found: Iterable[Mark]) -> bool:
    """As mounts have it: the nearest mark at or above a path."""
    above = {str(one) if str(one) != "." else "" for one in PurePosixPath(path).parents} | {path}
    nearest = max((mark for mark in found if mark.path in above), key=lambda mark: len(mark.path), default=None)
    return nearest is not None and nearest.writable


TABLE = [
    (["src/**"], ["src/a.py", "docs/x.md"], ["+src"]),
    (["tests/test_*.py"], ["tests/test_a.py", "tests/data.txt"], ["+tests", "-tests/data.txt"]),
    (["**/*.py"], ["src/a.py"], ["+"]),
    (["*"], ["a", "src/b"], ["+", "-src"]),
    (["**"], [".git/config", "src/a", "treadle.toml"], ["+", "-treadle.toml", "-.git"]),
    (["**", "!tests/**"], ["src/a", "tests/t"], ["+", "-tests"]),
    (["**", "!**/test_*"], ["src/a", "src/test_a", "b"], ["+", "-src/test_a"]),
    (["docs/**", "!docs/api/**"], ["docs/a", "docs/api/b"], ["+docs", "-docs/api"]),
    (["src/a.py", "src/a.py/**"], ["src/a.py", "src/b.py"], ["+src", "-src/b.py"]),
    (["PLAN.md"], ["a", "src/b", "PLAN.md"], ["+", "-a", "-src"]),
    (["src/*/gen/**"], ["src/x/gen/a", "src/x/b"], ["+src", "-src/x", "+src/x/gen"]),
    ([".git/**", ".treadle/**"], [".git/config", ".treadle/x", "a"], []),
    ([], ["a", "src/b"], []),
    (["!src/**"], ["src/b"], []),
]


@pytest.mark.parametrize(("globs", "files", "wanted"), TABLE, ids=[" ".join(row[0]) or "nothing" for row in TABLE])
def test_globs_become_writable_and_closed_places(globs: list[str], files: list[str], wanted: list[str]) -> None:
    found = opened(globs, tree_of(files))
    assert [f"{'+' if mark.writable else '-'}{mark.path}" for mark in found] == wanted


@pytest.mark.parametrize(
    ("globs", "wanted"),
    [
        (["src/**"], ["src"]),
        (["src/new/test_*.py"], ["src", "src/new"]),
        (["src/new", "src/new/**"], ["src"]),  # it may become a file
        (["**", "src/**"], []),
        (["a.md"], []),
        (["src/**", "!src/api/**", "src/api/x/**"], ["src"]),
        (["**/x/**", "*.py", "?/y"], []),
        (["!src/**"], []),
        ([".treadle/x/**"], []),
    ],
)
def test_folders_that_have_to_be_there(globs: list[str], wanted: list[str]) -> None:
    assert list(needed_folders(globs)) == wanted


def test_build_folders_are_those_that_git_ignores() -> None:
    ignored = "# what tools make\n/target/\nnode_modules\n!dist\nsecret/\n*.pyc\nbuild/out\n"
    assert built_folders(ignored) == ("node_modules/**", "target/**")


def test_the_number_of_mounts_is_bounded_and_folders_come_before_their_files() -> None:
    files = [f"{folder}/f{number}" for folder in ("a", "b") for number in range(MOST_CLOSED)]
    found = opened(["**/test_*"], tree_of(files))
    assert len(found) <= MOST_CLOSED + 1
    assert found[0] == Mark("", writable=True)
    assert not is_writable("a/f0", found)


NAMES = st.sampled_from(["a", "b", "ab", "test_a", ".git", "x.py"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.one_of(NAMES, st.sampled_from(["*", "**", "?", "test_*", "*.py", "a*"]))
ALLOWING = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
GLOBS = st.lists(st.one_of(ALLOWING, ALLOWING, ALLOWING.map(lambda glob: f"!{glob}")), max_size=5)
ODD = st.one_of(GLOBS, st.lists(st.sampled_from(["a**", "a/b**/x.py", "**.py", "**a/b"]), min_size=1))


@given(ODD, st.lists(PATHS, max_size=8), PATHS)
def test_paths_that_the_scope_allows_can_be_written(globs: list[str], files: list[str], path: str) -> None:
    tree = tree_of(files, needed_folders(globs))
    above = [str(one) for one in PurePosixPath(path).parents if str(one) != "."]
    blocked = path in tree or any(name in tree[folder].files for folder, name in map(_split, above) if folder in tree)
    if matches(path, (*globs, *NEVER)) and not blocked:
        assert is_writable(path, opened(globs, tree))


@given(ODD, st.lists(PATHS, max_size=8))
def test_existing_files_are_writable_only_if_the_scope_allows_them(globs: list[str], files: list[str]) -> None:
    tree = tree_of(files)
    found = opened(globs, tree)
    for folder, inside in tree.items():
        for path in (f"{folder}/{name}".removeprefix("/") for name in inside.files):
            assert is_writable(path, found) == matches(path, (*globs, *NEVER))


@given(GLOBS, st.lists(PATHS, max_size=8))
def test_a_folder_is_open_only_if_a_glob_matches_a_path_in_it(globs: list[str], files: list[str]) -> None:
    tree = tree_of(files, needed_folders(globs))
    wanted = [glob for glob in globs if not glob.startswith("!")]
    names = ["a", "b", "ab", "test_a", ".git", "x.py", "z"]
    for mark in opened(globs, tree):
        if mark.writable:
            inside = [f"{mark.path}/{name}".removeprefix("/") for name in names]
            deeper = [f"{one}/{name}" for one in inside for name in names]
            deepest = [f"{one}/{name}" for one in deeper for name in names]
            assert any(matches(path, wanted) for path in (*inside, *deeper, *deepest))


@given(GLOBS)
def test_no_folder_lies_outside(globs: list[str]) -> None:
    for folder in needed_folders(globs):
        assert ".." not in folder.split("/")
        assert not folder.startswith(("/", ".git", ".treadle"))


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def test_folders_of_the_scope_are_made_and_never_behind_links(tmp_path: Path) -> None:
    lane, elsewhere = tmp_path / "lane", tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    lane.mkdir()
    (lane / "up").symlink_to(elsewhere)
    found = lane_marks(lane, ["src/new/**", "up/**", "up/deep/new/**"])
    assert [mark.path for mark in found] == ["src/new"]
    assert (lane / "src/new").is_dir()
    assert list(elsewhere.rglob("*")) == [elsewhere / "deep"]


@pytest.mark.parametrize("glob", ["../x/**", "/etc/**", "src/../../x", ".git/**"])
def test_a_scope_that_leads_outside_is_refused(glob: str, tmp_path: Path) -> None:
    with pytest.raises(PortError, check=lambda error: error.code == "box.scope"):
        lane_marks(tmp_path, [glob])
    assert not list(tmp_path.iterdir())


def test_folders_that_tools_build_in_are_open_where_git_ignores_them(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("target/\n__pycache__/\n")
    assert lane_marks(tmp_path, ["src/**"]) == (Mark("src", writable=True), Mark("target", writable=True))
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    assert lane_marks(tmp_path, ["src/**"]) == (Mark("src", writable=True),)


def test_without_a_scope_the_lane_is_open_except_the_orchestrators_folders(tmp_path: Path) -> None:
    for name in (".git/objects", ".treadle/protocols", "src"):
        (tmp_path / name).mkdir(parents=True)
    closed = [Mark(".git", writable=False), Mark(".treadle", writable=False)]
    assert list(lane_marks(tmp_path, None)) == [Mark("", writable=True), *closed]
