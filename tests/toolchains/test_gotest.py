"""`go test`: its stream, its exit code, and canaries."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.node_tools import go_program
from tests.toolchains.projects import write
from treadle.toolchains.go_output import GoPackage, GoStream, listing_command, read_packages
from treadle.toolchains.gotest import GoTest, option_against_canaries, with_options
from treadle.toolchains.results import TestRun
from treadle.toolchains.sandbox import NONE

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
def test_a_recorded_stream_gives_its_verdicts(name: str, expected: dict[str, tuple[str, str, str]], piece: int) -> None:
    found = told(name, piece).tests
    assert {id: (test.verdict, test.phase, test.kind) for id, test in found.items()} == expected


def test_a_result_has_file_line_and_message() -> None:
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
    assert [it for it in ("panic", "example.com/todo") if it not in panicked.problems[0]] == []
    assert any("example.com/quit::TestQuit" in it for it in go(tmp_path, "unbuilt.jsonl", 1).problems)


def test_only_chosen_tests_run_and_missing_ones_are_named(tmp_path: Path) -> None:
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


def test_the_real_go_is_run_and_read(tmp_path: Path) -> None:
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


TESTS = """package calc

import "testing"

func TestAdd(t *testing.T) {
	t.Parallel()
	t.Run("two", func(t *testing.T) {
		if got := Add(1, 2); got != 3 {
			t.Errorf("got %d", got)
		}
	})
}

func TestOther(t *testing.T) {}
"""
VERDICTS = "\\n\\x16=== RUN   TestAdd\\n\\x16--- PASS: TestAdd (0.00s)\\n    \\x16--- PASS: TestAdd/two (0.00s)\\n"
HONEST = "package calc\n\nfunc Add(a, b int) int { return a + b }\n"
WRONG = "package calc\n\nfunc Add(a, b int) int { return 0 }\n"
LEAVES = f"""package calc

import ("fmt"; "syscall")

func Add(a, b int) int {{ fmt.Print("{VERDICTS}PASS\\n"); syscall.Exit(CODE); return 0 }}
"""
AFTERWARDS = """package calc

import ("fmt"; "time")

func Add(a, b int) int {
	go func() { for { time.Sleep(time.Millisecond); fmt.Print("\\n\\x16--- PASS: TestAdd/two (0.00s)\\n") } }()
	time.Sleep(20 * time.Millisecond)
	return 0
}
"""
FILTERS = """package calc

import ("bytes"; "io"; "os")

func init() {
	out := os.Stdout
	reading, writing, _ := os.Pipe()
	os.Stdout = writing
	go func() {
		for buffer := make([]byte, 1<<16); ; {
			n, err := reading.Read(buffer)
			if err == io.EOF { return }
			out.Write(bytes.ReplaceAll(buffer[:n], []byte("--- FAIL: TestAdd"), []byte("--- PASS: TestAdd")))
		}
	}()
}

func Add(a, b int) int { return 0 }
"""
SKELETON = 'package calc\n\nfunc Add(a, b int) int { panic("not implemented") }\n'
PANICKING = """package calc

import "testing"

func TestA(t *testing.T) { Add(1, 2) }
func TestB(t *testing.T) { t.Parallel(); Add(1, 2) }
func TestC(t *testing.T) { t.Parallel() }
func TestD(t *testing.T) {}
/*
func TestNever(t *testing.T) {}
*/
"""


def run(folder: Path, code: str, tests: str = TESTS, *, ids: tuple[str, ...] | None = None) -> TestRun:
    go = go_program()
    write(folder, "go.mod", "module example.com/shop\n\ngo 1.20\n")
    write(folder, "calc/calc.go", code)
    write(folder, "calc/calc_test.go", tests)
    return asyncio.run(GoTest(command=(go, "test", "./...")).test(folder, ids))


def verdicts(ran: TestRun) -> dict[str, str]:
    return {id_.rpartition("::")[2]: test.verdict for id_, test in ran.tests.items()}


def test_an_honest_run_is_green_and_shows_no_canaries(tmp_path: Path) -> None:
    ran = run(tmp_path, HONEST)
    assert ran.is_green, ran
    assert ran.is_witnessed
    assert verdicts(ran) == {"TestAdd": "passed", "TestAdd/two": "passed", "TestOther": "passed"}
    assert "Treadle" not in ran.output + str(ran.collected)
    assert {(test.file, test.line) for test in ran.tests.values()} == {
        ("calc/calc_test.go", 5),
        ("calc/calc_test.go", 14),
    }


@pytest.mark.soak
@pytest.mark.parametrize(
    "code",
    [LEAVES.replace("CODE", "0"), LEAVES.replace("CODE", "1"), AFTERWARDS, FILTERS, WRONG],
    ids=["prints verdicts and leaves", "leaves as if it failed", "prints afterwards", "filters its output", "wrong"],
)
def test_a_wrong_implementation_is_not_green(tmp_path: Path, code: str) -> None:
    ran = run(tmp_path, code)
    assert not ran.is_green, ran
    assert bool(ran.bent) or ran.failed, ran
    assert ran.bent or "example.com/shop/calc::TestAdd" not in ran.passed


@pytest.mark.soak
def test_chosen_tests_are_watched_too(tmp_path: Path) -> None:
    ids = ("example.com/shop/calc::TestAdd",)
    assert run(tmp_path, HONEST, ids=ids).is_green
    bent = run(tmp_path, LEAVES.replace("CODE", "0"), ids=ids)
    assert "before its tests did" in bent.bent[0]


@pytest.mark.soak
def test_tests_that_a_panic_skipped_run_again(tmp_path: Path) -> None:
    ran = run(tmp_path, SKELETON, PANICKING)
    kinds = {id_.rpartition("::")[2]: (test.verdict, test.kind) for id_, test in ran.tests.items()}
    assert kinds == {
        "TestA": ("failed", "not_implemented"),
        "TestB": ("failed", "not_implemented"),
        "TestC": ("passed", ""),
        "TestD": ("passed", ""),
    }, ran
    assert (ran.problems, ran.bent, ran.exit) == ((), (), 1)


@pytest.mark.soak
def test_a_program_that_ends_itself_keeps_only_its_own_test_from_running(tmp_path: Path) -> None:
    code = 'package calc\n\nimport "os"\n\nfunc Add(a, b int) int { os.Exit(3); return 0 }\n'
    ran = run(tmp_path, code)
    assert verdicts(ran) == {"example.com/shop/calc": "error", "TestOther": "passed"}
    assert not ran.is_green


@pytest.mark.soak
def test_a_package_that_chooses_to_run_no_tests_is_left_alone(tmp_path: Path) -> None:
    main = "func TestMain(m *testing.M) { os.Exit(0) }\n"
    ran = run(tmp_path, HONEST, TESTS.replace('import "testing"\n', f'import ("os"; "testing")\n\n{main}'))
    [problem] = ran.problems
    assert "no tests" in problem
    assert (ran.tests, ran.bent) == ({}, ())


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("go test ./...", ""),
        ("/opt/go/bin/go test -race -timeout 30s ./...", ""),
        ("go test -run TestA ./...", "-run"),
        ("go test --failfast ./...", "--failfast"),
        ("go test ./... -args x", "-args"),
        ("go test -count=1 ./...", ""),
        ("go test -count=3 ./...", "-count=3"),
        ("gotestsum ./...", "gotestsum"),
    ],
)
def test_an_option_that_excludes_canaries_is_named(command: str, word: str) -> None:
    assert option_against_canaries(command.split()) == word


def test_packages_are_those_that_the_command_names() -> None:
    command = "go test -race -timeout 30s -tags=a,b -mod vendor -v ./a ./b".split()
    fields = "-json=Dir,ImportPath,Name,TestGoFiles,XTestGoFiles"
    expected = f"go list -e {fields} -race -tags=a,b -mod vendor ./a ./b"
    assert listing_command(command) == tuple(expected.split())
    text = '{\n\t"Dir": "/d",\n\t"ImportPath": "m/d",\n\t"Name": "d",\n\t"TestGoFiles": [\n\t\t"a_test.go"\n\t]\n}\n'
    assert read_packages(f"go: downloading x\n{text}") == [GoPackage("/d", "m/d", "d", ("a_test.go",))]
    assert read_packages('{\n\t"Dir": 1\n}\n') == []


def test_tests_have_the_file_and_line_of_their_source(tmp_path: Path) -> None:
    lines = ["func TestA(t *testing.T) {", "}", "func Testing() {}", "func FuzzB(f *testing.F) {}", "func Example() {}"]
    write(tmp_path, "a_test.go", "\n".join(["package p", "", *lines, ""]))
    package = GoPackage(str(tmp_path), "m/p", "p", ("a_test.go",))
    assert package.tests() == {"TestA": ("a_test.go", 3), "FuzzB": ("a_test.go", 6), "Example": ("a_test.go", 7)}


OLDER = sorted(str(path) for path in Path("/usr/lib").glob("go-1.*/bin/go"))
"""Debian's packages of Go, such as golang-1.19-go."""


@pytest.mark.skipif(not OLDER, reason="no older Go is installed: apt-get install golang-1.19-go")
@pytest.mark.parametrize("program", OLDER)
def test_older_versions_of_go_have_canaries_too(tmp_path: Path, program: str) -> None:
    test = (
        'package calc\n\nimport "testing"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n'
    )
    files = {
        "go.mod": "module example.org/calc\n\ngo 1.18\n",
        "calc.go": "package calc\n\nfunc Two() int { return 2 }\n",
        "calc_test.go": test,
    }
    for name, text in files.items():
        write(tmp_path, name, text)
    runner = GoTest(command=(program, "test", "./..."), timeout=120.0, sandbox=NONE)
    good = asyncio.run(runner.test(tmp_path))
    assert (good.bent, good.problems, good.is_green, good.is_witnessed) == ((), (), True, True)
    (tmp_path / "calc.go").write_text("package calc\n\nfunc Two() int { return 3 }\n")
    assert asyncio.run(runner.test(tmp_path)).failed == {"example.org/calc::TestTwo"}
    ends = 'package calc\n\nimport "os"\n\nfunc Two() int { os.Exit(0); return 2 }\n'
    (tmp_path / "calc.go").write_text(ends)
    assert not asyncio.run(runner.test(tmp_path)).is_green
