"""Who may change what."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.stage import Stage, is_accepted, parsed, run
from treadle.evidence.checks.partition import globs_overlap
from treadle.git.globs import matches
from treadle.kernel.state import Slot
from treadle.protocol.items import Json

CONFIG = "[project]\nname = 'calc'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"


@pytest.mark.parametrize(
    ("step", "check", "files", "said"),
    [
        ("impl", "scope", {"src/calc/a.py": ""}, ""),
        ("impl", "scope", {"src/other.py": ""}, "[scope.outside]"),
        ("impl", "scope", {"tests/calc/test_a.py": ""}, "[scope.outside]"),
        ("impl", "scope", {"tests/calc/test_a.py": ""}, "no change of tests/calc/**"),
        ("impl", "scope", {"README.md": None}, "[scope.outside]"),
        ("impl", "scope", {".coverage": ""}, "!tests/calc/**; delete this new file"),
        ("impl", "scope", {"treadle.toml": ""}, "[scope.orchestrator]"),
        ("tests", "scope", {"tests/calc/test_a.py": ""}, ""),
        ("tests", "scope", {"src/calc/a.py": ""}, "changes only in tests/calc, tests/calc/**"),
        ("tests", "scope_tests", {"tests/calc/data.json": "{}"}, ""),
        ("scaffold", "scope_tests", {"src/calc/a.py": ""}, "[scope.not_a_test]"),
        ("scaffold", "scope_src", {"src/calc/a.py": ""}, ""),
        ("scaffold", "scope_src", {"tests/calc/test_a.py": ""}, "[tests.modified]"),
        ("scaffold", "scope_src", {"src/calc/conftest.py": ""}, "[tests.modified]"),
    ],
)
def test_each_role_changes_only_files_in_its_scope(
    tmp_path: Path, step: str, check: str, files: dict[str, str | None], said: str
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim(step, "TestsPassed", files, checks=check)
        assert verdict.results[0].ok == (not said)
        assert said in verdict.report
        assert all(f"{path}: " in verdict.report for path in files if said)
        assert ("new file" in verdict.report) == ("scope.outside" in verdict.report and None not in files.values())

    run(story())


def test_a_rename_needs_both_paths_in_the_scope(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={"src/calc/a.py": "x = 1\n" * 20, "docs/b.md": "y\n"}).start()
        files = {"docs/b.md": None, "src/calc/b.md": "y\n"}
        verdict = await stage.claim("impl", "TestsPassed", files, checks="scope")
        assert stage.found(verdict, "scope") == [("docs/b.md", "scope.outside")]

    run(story())


def test_the_test_section_of_a_shared_file_belongs_to_the_tests(tmp_path: Path) -> None:
    async def story() -> None:
        given_: dict[str, Json] = {"name": "m", "criteria": [], "description": ""}
        stage = await Stage(tmp_path, "dptr", {"pyproject.toml": CONFIG, "a.py": ""}, "cycle", given_).start()
        assert (
            await stage.claim("green", "GC", {"pyproject.toml": CONFIG + "\n[x]\n"}, checks="scope_src")
        ).report == ""
        bent = CONFIG.replace("-q", "-k nothing")
        verdict = await stage.claim("green", "GC", {"pyproject.toml": bent}, checks="scope_src", n="2.1")
        assert stage.found(verdict, "scope_src") == [("pyproject.toml", "tests.configuration")]

    run(story())


def test_a_task_keeps_to_its_own_files(tmp_path: Path) -> None:
    async def story() -> None:
        task: dict[str, Json] = {"task_id": "t", "story": "US-1", "instruction": "", "files": ["src/a/**", "src/b.py"]}
        stage = await Stage(tmp_path, "waterfall", {"src/b.py": ""}, "task-backend", task).start()
        good = await stage.claim("work", "task_done", {"src/a/x/y.py": "", "src/b.py": "1"}, checks="owned_files")
        assert good.report == ""
        bad = await stage.claim("work", "task_done", {"src/c.py": ""}, checks="owned_files", n="2.1")
        assert stage.found(bad, "owned_files") == [("src/c.py", "scope.other_task")]
        assert "src/a/**, src/b.py" in bad.report

    run(story())


def test_a_protected_file_needs_a_persons_word(tmp_path: Path) -> None:
    cycle: dict[str, Json] = {"id": "TDD1", "files": [], "interface": ""}

    async def story() -> None:
        stage = await Stage(tmp_path, "riper", {"db/migrations/1.sql": "", "a.py": ""}, "rcycle", cycle).start()
        assert (await stage.claim("green", "GC", {"a.py": "1"}, checks="protection")).report == ""
        files = {"db/migrations/1.sql": "drop"}
        verdict = await stage.claim("green", "GC", files, checks="protection", n="2.1")
        assert stage.found(verdict, "protection") == [("db/migrations/1.sql", "scope.protected")]
        assert "(Ψ4)" in verdict.report
        assert stage.evidence(verdict, "protection")["paths"] == ["db/migrations/1.sql"]
        ask = stage.protocol.graphs["rcycle"].steps["green"].routes["!gate.protection"][0].to
        stage.seq += 1
        stage.insts["root"].slots[f"{ask}.confirm"] = Slot("", seq=stage.seq)
        assert (await stage.claim("green", "GC", files, checks="protection", n="3.1")).report == ""
        more = {**files, "db/migrations/2.sql": "drop"}
        assert "2.sql: is protected" in (await stage.claim("green", "GC", more, checks="protection", n="4.1")).report

    run(story())


def test_a_failed_advisory_check_does_not_refuse_a_claim(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("impl", "TestsPassed", {"README.md": "x"}, checks="checkpoint scope?")
        assert [one.ok for one in verdict.results] == [True, False]
        assert is_accepted(parsed("checkpoint scope?"), verdict)
        assert verdict.report == ""

    run(story())


# globs

NAMES = st.text("ab", min_size=1, max_size=3)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
GLOBS = st.lists(st.one_of(NAMES, st.just("**"), st.text("ab*?", min_size=1, max_size=3)), min_size=1, max_size=4).map(
    "/".join
)


def reference(path: str, glob: str) -> bool:
    """Matching, segment by segment, the slow way."""
    if "***" in glob or re.search(r"\*\*[^/]|[^/]\*\*", glob):
        return matches(path, [glob])

    def segments(parts: list[str], globs: list[str]) -> bool:
        if not globs:
            return not parts
        if globs[0] == "**":
            return bool(parts) if len(globs) == 1 else any(segments(parts[n:], globs[1:]) for n in range(len(parts)))
        return bool(parts) and fnmatchcase(parts[0], globs[0]) and segments(parts[1:], globs[1:])

    return segments(path.split("/"), glob.split("/"))


@given(PATHS, GLOBS)
def test_globs_match_like_the_reference_implementation(path: str, glob: str) -> None:
    assert matches(path, [glob]) == reference(path, glob)


@given(PATHS, GLOBS, GLOBS)
def test_an_exclusion_wins(path: str, glob: str, other: str) -> None:
    assert matches(path, [glob, f"!{other}"]) == (matches(path, [glob]) and not matches(path, [other]))


@given(PATHS, GLOBS, GLOBS)
def test_globs_that_name_one_path_overlap(path: str, one: str, other: str) -> None:
    plain = not any(re.search(r"\*\*[^/]|[^/]\*\*", glob) for glob in (one, other))
    if plain and reference(path, one) and reference(path, other):
        assert globs_overlap(one, other)
        assert globs_overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/a/**", "src/b/**", False),
        ("src/**", "src/a/b.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("**/*.py", "src/*.ts", False),
        ("**/*.py", "src/**", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
    ],
)
def test_overlapping_globs_are_recognised(one: str, other: str, expected: bool) -> None:
    assert globs_overlap(one, other) == expected


US_1: dict[str, Json] = {"id": "US-1", "title": "Due", "description": "When it is due."}
OLD = "def old(x: int) -> int:\n    return x + 1\n"
STUB = "def due(x: int) -> int:\n    raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"src/due.py": STUB, "src/old.py": f"{OLD}\n\n{STUB}", "tests/test_due.py": "x = 1\n"}, ""),
        ({"src/due.py": "def due(x: int) -> int:\n    return x\n"}, "src/due.py:1: due is more than a stub"),
        ({"src/old.py": OLD.replace("x + 1", "x + 2")}, "src/old.py:1: old was there already"),
        ({"src/old.py": STUB}, "old was there and is gone"),
        ({"src/old.py": None}, "src/old.py: held more than stubs and is gone"),
        ({"src/due.rs": "fn due() { todo!() }\n"}, "src/due.rs: cannot be looked into"),
        ({"src/due.txt": "x"}, "[scope.outside]"),
        ({"treadle.toml": ""}, "[scope.orchestrator]"),
    ],
)
def test_an_author_of_tests_may_add_stubs_only(tmp_path: Path, files: dict[str, str | None], said: str) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "waterfall", {"src/old.py": OLD}, "story", US_1).start()
        verdict = await stage.claim("scaffold", "pass_red", files, checks="scope scope_tests")
        assert said in verdict.report
        assert bool(said) == bool(verdict.report)

    run(story())
