"""Which files are read, and what becomes of those that cannot be."""

import subprocess
import sys

import pytest

from treadle.git.api.languages import LARGEST, is_source, is_understood, read_api


@pytest.mark.parametrize("path", "a.py a.pyi a.ts a.tsx a.js a.mjs a.cjs a.go".split())
def test_python_typescript_javascript_and_go_are_understood(path: str) -> None:
    assert is_understood(path)
    assert is_source(path)


@pytest.mark.parametrize("path", "a.rs A.java a.c a.proto".split())
def test_a_source_of_another_language_counts_as_a_file(path: str) -> None:
    assert is_source(path)
    assert list(read_api(path, b"x").symbols) == [path]
    assert read_api(path, b"x") != read_api(path, b"y")


@pytest.mark.parametrize("path", "README.md tests/a.py src/test_a.py src/a.spec.ts a_test.go conftest.py".split())
def test_documents_and_tests_export_no_names(path: str) -> None:
    assert not is_source(path)
    assert read_api(path, b"def f(): ...").symbols == {}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", b"def f(:"),
        ("a.py", b"\0"),
        ("a.py", b"# coding: nonsense\n"),
        ("a.py", b"(" * 5000 + b")" * 5000),
        ("a.py", b"x = " + b"-" * 50_000 + b"1"),
        ("a.py", b"x = 1\n" * (LARGEST // 6 + 1)),
        ("a.ts", b"export const = 1"),
        ("a.ts", b"export const x: " + b"[" * 3000 + b"]" * 3000 + b" = 1"),
        ("a.js", b"\xff\xfe{{{"),
        ("a.go", b"func ("),
    ],
    ids=lambda one: str(one)[:12],
)
def test_an_unreadable_source_counts_as_a_file_and_gives_its_reason(path: str, source: bytes) -> None:
    reading = read_api(path, source)
    assert list(reading.symbols) == [path]
    assert reading.broken
    assert reading.broken in reading.symbols[path].signature
    assert reading.symbols != read_api(path, source + b" ").symbols


def test_a_syntax_error_names_its_line() -> None:
    assert "line 2" in read_api("a.py", b"x = 1\ndef f(:\n").broken
    assert "line 2" in read_api("a.ts", b"let x = 1;\nlet = ;;(\n").broken


def test_deep_but_sensible_code_is_read() -> None:
    long = " + ".join(f"'{number}'" for number in range(3000))
    assert not read_api("a.js", f"export const x = {long};".encode()).broken


def test_readers_are_loaded_when_they_are_needed() -> None:
    code = (
        "import sys, treadle.cli.start, treadle.git.effects, treadle.evidence.claim_verifier\n"
        "print([one for one in ('griffe', 'tree_sitter', 'tree_sitter_go') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
