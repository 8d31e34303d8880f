"""Paths and globs: which may be written, and which belong to the tests."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.paths import (
    TestPaths,
    clean_path,
    collecting_folders,
    glob_fault,
    is_pattern,
    is_test,
    names_tests,
    path_fault,
    path_overlap,
    quote_glob,
)

# Paths stay inside the repository.


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
def test_an_unsafe_path_is_refused(path: str, fault: str) -> None:
    assert fault in path_fault(path)


@pytest.mark.parametrize(
    ("path", "clean"),
    [("src/a.py", "src/a.py"), ("./src//a.py", "src/a.py"), ("src/", "src"), (".", "."), ("a b/...", "a b/..."),
     (".github/x", ".github/x"), ("a~", "a~"), ("größe.md", "größe.md")],
)  # fmt: skip
def test_a_safe_path_is_accepted_and_cleaned(path: str, clean: str) -> None:
    assert path_fault(path) == ""
    assert clean_path(path) == clean


@given(st.text(alphabet="a./\\~: \0gitG", max_size=12) | st.text(max_size=12))
def test_an_accepted_path_stays_inside(path: str) -> None:
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
def test_overlapping_paths_are_recognised(one: str, other: str, overlap: str) -> None:
    assert path_overlap(one, other) == overlap


@pytest.mark.parametrize(("path", "many"), [("src/*", True), ("a?", True), ("!src", True), ("app/[id]/x.ts", False)])
def test_a_pattern_is_no_path(path: str, many: bool) -> None:
    assert is_pattern(path) == many


# Which globs can bound what is written.


@pytest.mark.parametrize(
    ("glob", "why"),
    [
        ("/etc/**", "is absolute"),
        ("C:/x", "is absolute"),
        ("../../x/**", "leaves its directory with .."),
        ("a/../../b", "leaves its directory with .."),
        ("!../x", "leaves its directory with .."),
        ("~/x", "starts with ~"),
        ("a\\b", "holds a backslash"),
        ("a\x00b", "holds a control character, or another one that cannot be seen"),
        (".git/**", "lies inside .git, which only the orchestrator touches"),
        ("**/.GIT/hooks/*", "lies inside .git, which only the orchestrator touches"),
        (".treadle/**", "lies inside .treadle, which only the orchestrator touches"),
        ("", "is empty"),
        ("!", "is empty"),
    ],
)
def test_a_glob_that_leads_outside_is_refused(glob: str, why: str) -> None:
    fault = glob_fault(glob)
    assert fault is not None
    what, hint = fault
    assert what == why
    assert hint


@pytest.mark.parametrize(
    "glob", ["**", "*", "src/**", "**/test_?.py", "!tests/**", "{targetPath}/**", ".github/**", "a..b", "!.git/**"]
)
def test_a_glob_inside_of_the_repository_is_accepted(glob: str) -> None:
    assert glob_fault(glob) is None


def test_unprintable_characters_are_escaped() -> None:
    assert (quote_glob("a b"), quote_glob("a\x00b")) == ("'a b'", r"'a\x00b'")


# Which files belong to the tests: one table for everybody who asks.


TESTS = {
    "Python": "tests/a.py test/x.json src/test_a.py src/a_test.py conftest.py pkg/conftest.py app/tests.py pytest.ini",
    "JavaScript": "src/a.test.ts a.spec.js a.test.mjs src/__tests__/a.js a-test.js test-a.mjs test.js x.cy.ts "
    "src/__mocks__/fs.js a/__snapshots__/a.snap jest.config.ts vitest.config.mts e2e/shop.ts a.test-d.ts",
    "Go": "a_test.go pkg/testdata/golden.txt",
    "Rust": "tests/shop.rs src/cart/tests.rs src/cart_test.rs",
    "Java": "src/test/java/a/Foo.java a/FooTest.java a/FooTests.kt a/FooIT.java a/TestFoo.java a/FooSpec.scala "
    "app/src/androidTest/A.kt a/FooTestCase.java",
    "others": "spec/a_spec.rb lib/a_spec.rb FooTest.php Shop.Tests/Cart.cs Shop.UnitTests/a.cs FooTests.swift "
    "a_unittest.cc test/a_test.exs",
    "what bends them": "test_manifest.json sitecustomize.py tests/fixtures/deep/data.bin .mocharc.yml "
    "src/test_data.json",
}
CODE = {
    "Python": "src/a.py contest.py src/latest.py attest/a.py src/testing/scenario.py pyproject.toml testament.py",
    "JavaScript": "src/contest.ts src/latest.js test-utils/a.ts src/attest.tsx package.json",
    "Go": "a.go test.go latest/a.go",
    "Rust": "src/lib.rs src/test.rs",
    "Java": "a/Testimony.java a/Latest.java a/Contest.kt a/Digit.java a/ITalic.java a/IT.java",
    "others": "README.md docs/tests.md src/specification.rb Shop.Testing/a.cs",
}


@pytest.mark.parametrize("path", [path for paths in TESTS.values() for path in paths.split()])
def test_test_files_are_recognised(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", [path for paths in CODE.values() for path in paths.split()])
def test_code_files_are_no_tests(path: str) -> None:
    assert not is_test(path)


def test_configured_folders_count_as_tests_too() -> None:
    paths = TestPaths(("checks/unit",), ("qa", "smoke.sh"))
    assert paths.is_test("qa/a.py")
    assert paths.is_test("smoke.sh")
    assert paths.is_test("checks/unit/x.py")
    assert paths.is_test("checks/unit")
    assert paths.is_test("tests/a.py")
    assert paths.is_code("checks/unity.py")
    assert not is_test("checks/unit/x.py")


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("tests/**", True),
        ("tests", True),
        ("**/tests/**", True),
        ("**/test_*", True),
        ("**/*_test.*", True),
        ("**/*.test.*", True),
        ("**/*.spec.*", True),
        ("**/conftest.py", True),
        ("src/**/*Test.java", True),
        ("**", False),
        ("src/**", False),
        ("**/*.py", False),
        ("{targetPath}/**", False),
        ("contest/**", False),
    ],
)
def test_only_globs_of_tests_name_tests(glob: str, expected: bool) -> None:
    assert names_tests(glob) is expected


def test_doubtful_folders_belong_to_the_tests_only_where_tests_are_found() -> None:
    product = (
        "src/app/specs/parser.py",
        "src/app/spec/cart.ts",
        "specs/reader.py",
        "spec/model.go",
        "app/testing/a.py",
    )
    tests = ("spec/spec_helper.rb", "packages/a/spec/support.js", "specs/test_reader.py", "src/app/specs/cart.spec.ts")
    assert [path for path in product if is_test(path)] == []
    assert [path for path in tests if not is_test(path)] == []
    found = collecting_folders(("specs/test_a.py", "specs/helping.py", "lib/testing/tests/test_b.py", "src/spec/a.py"))
    assert found == ("specs",)
    paths = TestPaths(collected=found)
    assert (paths.is_test("specs/helping.py"), paths.is_code("src/spec/a.py"), paths.is_code("specification.py")) == (
        True,
        True,
        True,
    )
