"""Paths stay inside the repository."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.answers.paths import clean_path, path_fault


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
