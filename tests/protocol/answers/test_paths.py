"""Paths stay inside the repository."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.answers.paths import clean_path, is_pattern, path_fault, path_overlap


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("/etc/passwd", "is absolute"),
        ("//host/share", "is absolute"),
        ("C:/x", "is absolute"),
        ("c:x", "is absolute"),
        ("..", "leaves its directory"),
        ("a/../../b", "leaves its directory"),
        ("a/..", "leaves its directory"),
        ("..\\b", "backslash"),
        ("a\\b", "backslash"),
        ("~", "starts with ~"),
        ("~root/x", "starts with ~"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        (".git/config", "inside .git"),
        ("sub/.GIT/hooks", "inside .git"),
        ("a/ ../b", "starts or ends with a space"),
        ("src ", "starts or ends with a space"),
        ("src/\u202etxt.py", "cannot be seen"),
        ("a\u200bb", "cannot be seen"),
        ("a\x85b", "cannot be seen"),
        ("C:\\x", "backslash"),
        ("\\\\host\\share", "backslash"),
        (".git./x", "inside .git"),
        ("GIT~1/x", "inside .git"),
        (".treadle", "inside .treadle"),
        ("a/.Treadle/x", "inside .treadle"),
        ("-rf", "starts with -"),
        ("a" * 2000, "2000 characters"),
    ],
)
def test_refuses(path: str, fault: str) -> None:
    assert fault in path_fault(path)


@pytest.mark.parametrize(
    ("path", "clean"),
    [("src/a.py", "src/a.py"), ("./src//a.py", "src/a.py"), ("src/", "src"), (".", "."), ("a b/...", "a b/..."),
     (".github/x", ".github/x"), ("a~", "a~"), ("größe.md", "größe.md")],
)  # fmt: skip
def test_accepts(path: str, clean: str) -> None:
    assert path_fault(path) == ""
    assert clean_path(path) == clean


@given(st.text(alphabet="a./\\~: \0gitG", max_size=12) | st.text(max_size=12))
def test_what_is_accepted_stays_inside(path: str) -> None:
    if path_fault(path):
        return
    clean = PurePosixPath(clean_path(path))
    assert not clean.is_absolute()
    assert ".." not in clean.parts
    assert str(clean) == clean_path(path)
    assert path_fault(str(clean)) == ""


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("src/a", "src/a", "is the same as"),
        ("src", "src/tests", ""),
        (".", "tests", ""),
        ("src/a/b", "src/a", "holds"),
        ("tests", ".", "holds"),
        ("src/a", "src/ab", ""),
        ("src", "tests", ""),
    ],
)
def test_how_two_paths_lie(one: str, other: str, overlap: str) -> None:
    assert path_overlap(one, other) == overlap


@pytest.mark.parametrize(("path", "many"), [("src/*", True), ("a?", True), ("!src", True), ("app/[id]/x.ts", False)])
def test_a_pattern_is_no_path(path: str, many: bool) -> None:
    assert is_pattern(path) == many
