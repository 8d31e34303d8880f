"""Which files belong to the tests: one table for everybody who asks."""

import pytest

from treadle.protocol.test_paths import TestPaths, is_test, names_tests

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
def test_these_do(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", [path for paths in CODE.values() for path in paths.split()])
def test_these_do_not(path: str) -> None:
    assert not is_test(path)


def test_folders_may_be_named_besides() -> None:
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
def test_globs_that_name_nothing_else(glob: str, expected: bool) -> None:
    assert names_tests(glob) is expected
