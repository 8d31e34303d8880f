import asyncio
import sys
from pathlib import Path

import pytest

from tests.node_tools import go_program
from tests.toolchains.projects import write
from treadle.toolchains.go_stream import GoStream
from treadle.toolchains.gotest import GoTest, with_options
from treadle.toolchains.results import TestRun

STREAMS = Path(__file__).with_name("go")


def told(name: str, piece: int = 1_000_000) -> GoStream:
    stream, data = GoStream(), (STREAMS / f"{name}.jsonl").read_bytes()
    for at in range(0, len(data), piece):
        stream.hear(data[at : at + piece])
    return stream


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "mixed",
            {
                "example.com/calc::TestAdd": ("passed", "call", ""),
                "example.com/calc::TestSub/negative": ("failed", "call", "assertion"),
                "example.com/calc::TestSub": ("failed", "call", "assertion"),
                "example.com/calc::TestLater": ("skipped", "call", ""),
            },
        ),
        (
            "panic",
            {
                "example.com/todo::TestMul": ("failed", "call", "not_implemented"),
                "example.com/slow::TestSlow": ("failed", "call", "timeout"),
            },
        ),
        (
            "unbuilt",
            {"example.com/bad": ("error", "collect", "import"), "example.com/quit": ("error", "call", "exit")},
        ),
    ],
)
@pytest.mark.parametrize("piece", [7, 1_000_000])
def test_streams(name: str, expected: dict[str, tuple[str, str, str]], piece: int) -> None:
    found = told(name, piece).tests
    assert {id: (test.verdict, test.phase, test.kind) for id, test in found.items()} == expected


def test_where_and_why() -> None:
    test = told("mixed").tests["example.com/calc::TestSub/negative"]
    assert (test.file, test.line, test.message) == ("calc_test.go", 17, "calc_test.go:17: Sub(1, 2) = 0, want -1")
    assert told("mixed").tests["example.com/calc::TestAdd"].duration == 0.25
    assert "undefined: Div" in told("unbuilt").tests["example.com/bad"].message


def go(folder: Path, stream: str, code: int, *, ids: tuple[str, ...] | None = None) -> TestRun:
    """A program in the place of go: prints a stream and ends with a code."""
    text = f"#!{sys.executable}\nimport sys\nprint(open({str(STREAMS / stream)!r}).read())\nsys.exit({code})\n"
    program = write(folder, "bin/go", text)
    program.chmod(0o755)
    return asyncio.run(GoTest(command=(str(program), "test", "./...")).test(folder, ids))


def test_stream_and_exit_code_are_compared(tmp_path: Path) -> None:
    ran = go(tmp_path, "mixed.jsonl", 1)
    assert (ran.bent, ran.problems, ran.exit) == ((), (), 1)
    assert ran.command[1:] == ("test", "-json", "-count=1", "./...")
    assert go(tmp_path, "mixed.jsonl", 0).bent != ()
    panicked = go(tmp_path, "panic.jsonl", 1)
    assert panicked.problems[0] == "a panic ended the tests of example.com/todo"
    assert "example.com/quit::TestQuit did not end" in go(tmp_path, "unbuilt.jsonl", 1).problems


def test_chosen_tests(tmp_path: Path) -> None:
    ran = go(tmp_path, "mixed.jsonl", 1, ids=("example.com/calc::TestSub", "example.com/calc::TestGone"))
    assert ran.command[3:6] == ("-count=1", "-run", "^(TestGone|TestSub)$")
    assert set(ran.tests) == {"example.com/calc::TestSub", "example.com/calc::TestSub/negative"}
    assert ran.problems == ("example.com/calc::TestGone was not run",)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("go", "test", "./..."), ("go", "test", "-json", "./...")),
        (("go", "test", "-json", "./..."), ("go", "test", "-json", "./...")),
        (("make-tests",), ("make-tests", "-json")),
    ],
)
def test_options_stand_before_packages(command: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert with_options(command, "-json") == expected


def test_lines_that_are_no_events_are_passed_over() -> None:
    stream = GoStream()
    stream.hear(
        b'{"Action": 3}\n{broken\nplain text\n' + b"x" * 3_000_000 + b'\n{"Action":"run","Package":"p","Test":"T"}\n'
    )
    assert list(stream.started) == ["p::T"]


def test_go_itself(tmp_path: Path) -> None:
    go_ = go_program()
    write(tmp_path, "go.mod", "module example.com/calc\n\ngo 1.20\n")
    body = 'import "testing"\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Fatal("no") }\n'
    write(tmp_path, "calc_test.go", f"package calc\n{body}")
    toolchain = GoTest(command=(go_, "test", "./..."))
    ran = asyncio.run(toolchain.test(tmp_path))
    assert {id: test.kind for id, test in ran.tests.items()} == {
        "example.com/calc::TestA": "",
        "example.com/calc::TestB": "assertion",
    }, ran.output
    assert asyncio.run(toolchain.collect(tmp_path)).ids == ("example.com/calc::TestA", "example.com/calc::TestB")
