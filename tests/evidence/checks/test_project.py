"""The project's own commands."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import ADD, FILES, Stage, run
from tests.refusals import refused
from treadle.evidence.checks.project import named_files, words_of
from treadle.protocol.model import CheckRef

NOT_IF_BAD = (
    sys.executable,
    "-c",
    "import sys, pathlib; sys.exit(pathlib.Path('src/bad.py').exists() and 'line 3 is bad')",
)


@pytest.mark.parametrize("name", ["build", "lint", "format"])
def test_a_failing_command_is_reported_with_its_output(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        commands: dict[str, Any] = {name: NOT_IF_BAD}
        stage = await Stage(tmp_path, **commands).start()
        assert (await stage.claim("impl", "TestsPassed", {}, checks=name)).report == ""
        verdict = await stage.claim("impl", "TestsPassed", {"src/bad.py": ""}, checks=name, n="2.1")
        assert "line 3 is bad" in verdict.report

    run(story())


def test_a_missing_program_is_no_fault_of_the_agent_and_a_missing_command_is_noted(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, build=("no-such-program-here",)).start()
        with refused("env.missing", "no-such-program-here"):
            await stage.claim("impl", "TestsPassed", {}, checks="build")
        verdict = await stage.claim("impl", "TestsPassed", {}, checks="build? lint", n="2.1")
        assert [one.ok for one in verdict.results] == [False, True]
        assert "no-such-program-here" in stage.evidence(verdict, "build")["report"]
        assert stage.codes(verdict, "lint") == ["check.no_command"]

    run(story())


def test_a_program_of_the_project_that_is_not_there_fails(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, build=("./no-such-script",)).start()
        verdict = await stage.claim("impl", "TestsPassed", {}, checks="build")
        assert [one.ok for one in verdict.results] == [False]

    run(story())


def test_a_failed_build_skips_the_tests(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, build=(sys.executable, "-c", "raise SystemExit(1)")).start()
        verdict = await stage.claim("impl", "TestsPassed", {"README.md": "x"}, checks="checkpoint scope build green")
        assert [one.ok for one in verdict.results] == [True, False, False, False]
        assert stage.evidence(verdict, "green")["skipped"] is True
        assert stage.found(verdict, "scope") == [("README.md", "scope.outside")]

    run(story())


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("go vet ./... && golangci-lint run", [["go", "vet", "./..."], ["golangci-lint", "run"]]),
        ("eslint 'src dir'", [["eslint", "src dir"]]),
        ("a | b", []),
        ("a; b", []),
        ("a > b", []),
        ("a $(b)", []),
        ("a && ", []),
        ("a 'b", []),
        ("", []),
    ],
)
def test_plain_commands_need_no_shell(text: str, commands: list[list[str]]) -> None:
    assert words_of(text) == commands


NAMES_TABS = """\
import pathlib, sys
bad = [path for path in sorted(pathlib.Path("src").rglob("*.py")) if "\\t" in path.read_text()]
for path in bad:
    print(f"{path}:1:1: a tab")
sys.exit(bool(bad))
"""
TABS = (sys.executable, "-c", NAMES_TABS)
SILENT = (sys.executable, "-c", NAMES_TABS.replace("print", "repr"))
OLD = {**FILES, "src/old.py": "if 1:\n\tx = 1\n"}
NEW = {"src/calc/new.py": "if 1:\n\tx = 1\n"}


@pytest.mark.parametrize("name", ["build", "lint", "format"])
def test_a_failure_of_the_base_commit_is_a_note_and_a_new_file_is_charged(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        commands: dict[str, Any] = {name: TABS}
        stage = await Stage(tmp_path, files=OLD, **commands).start()
        same = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks=name)
        assert [one.ok for one in same.results] == [True]
        assert stage.codes(same, name) == ["baseline.lint"]
        worse = await stage.claim("impl", "TestsPassed", NEW, checks=name, n="2.1")
        assert set(stage.codes(worse, name)) == {f"{name}.failing"}
        findings = stage.evidence(worse, name)["findings"]
        assert [one["file"] for one in findings if "file" in one] == ["src/calc/new.py"]

    run(story())


def test_a_command_that_names_no_file_is_compared_by_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=OLD, lint=SILENT, build=SILENT).start()
        verdict = await stage.claim("impl", "TestsPassed", NEW, checks="lint build")
        assert stage.codes(verdict, "lint") == ["baseline.lint"]
        assert stage.codes(verdict, "build") == ["build.failing"], "the work may be what the build waits for"

    run(story())


def test_a_post_check_is_compared_by_the_files_that_it_names(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=OLD).start()
        names = CheckRef(name="post_check", arg="! grep -rlP '\\t' src")
        same = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks=(names,))
        assert stage.codes(same, "post_check") == ["baseline.lint"]
        worse = await stage.claim("impl", "TestsPassed", NEW, checks=(names,), n="2.1")
        assert set(stage.codes(worse, "post_check")) == {"post_check.failing"}
        waits = await stage.claim("impl", "TestsPassed", {}, checks="post_check:test -f plan.md", n="3.1")
        assert stage.codes(waits, "post_check") == ["post_check.failing"]

    run(story())


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("src/a.py", ["src/a.py"]),
        ("./src/a.py:3:4: unused", ["src/a.py"]),
        ("src/a.py(3,4): error TS1", ["src/a.py"]),
        ("  --> src/a.py:3:4", ["src/a.py"]),
        ("Would reformat: src/a.py", ["src/a.py"]),
        ("[warn] src/a.py", ["src/a.py"]),
        ("/tmp/slots/3/src/a.py", ["src/a.py"]),
        ("*** Error compiling './src/a.py'...", ["src/a.py"]),
        ("/tmp/slots/3/with a space.js", ["with a space.js"]),
        ("FAILED src/a.py::test_x - boom", ["src/a.py"]),
        ("src/gone.py:1:1: x", []),
        ("all of it is well in src/a.py", []),
    ],
)
def test_the_files_that_tools_name(line: str, named: list[str]) -> None:
    assert named_files(f"# head\n{line}\n{line}\n", {"src/a.py", "with a space.js"}) == named


AND = CheckRef(name="post_check", arg="true && sh -c 'echo no; exit 1'")


def test_the_projects_own_check_runs_to_the_first_failure(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        good = await stage.claim("impl", "TestsPassed", {}, checks="post_check:true")
        assert good.report == ""
        bad = await stage.claim("impl", "TestsPassed", {}, checks="post_check:false", n="2.1")
        assert stage.codes(bad, "post_check") == ["post_check.failing"]
        assert "`false` ended with 1" in bad.report
        both = await stage.claim("impl", "TestsPassed", {}, checks=(AND,), n="3.1")
        assert stage.codes(both, "post_check") == ["post_check.failing"]
        assert "`sh -c 'echo no; exit 1'` ended with 1" in both.report

    run(story())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cat src/c*/add.py | grep -q add", ""),
        ("WORD=add; grep -q $WORD src/calc/add.py || exit 3", ""),
        ("test $(cat src/calc/add.py | wc -l) -gt 900; echo counted; false", "ended with 1: counted"),
        ("cat src/c*/none.py", "No such file"),
        (
            "echo looking; echo extra.py is missing; exit 3",
            "; exit 3` ended with 3: extra.py is missing [post_check.failing]\nlooking\n",
        ),
    ],
)
def test_a_post_check_with_shell_syntax_runs_in_a_shell(tmp_path: Path, line: str, said: str) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        ref = CheckRef(name="post_check", arg=line)
        verdict = await stage.claim("impl", "TestsPassed", {}, checks=(ref,))
        assert (said in verdict.report) if said else verdict.report == ""

    run(story())
