import asyncio
from pathlib import Path

import pytest

from tests.node_tools import go_program
from tests.toolchains.projects import write
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.test_names import TestNames, aliases_of, function_of


@pytest.mark.parametrize(
    ("id_", "file", "spellings"),
    [
        (
            "tests/unit/test_a.py::TestA::test_x[a::b-1]",
            "tests/unit/test_a.py",
            [
                "./tests/unit/test_a.py::TestA::test_x[a::b-1]",
                "tests/unit/test_a.py::TestA::test_x",
                "unit/test_a.py::TestA::test_x",
                "test_a.py::TestA::test_x",
                "tests.unit.test_a.TestA.test_x",
                "tests.unit.test_a::TestA::test_x",
                "TestA::test_x",
                "TestA.test_x",
                "test_x[a::b-1]",
                "test_x",
            ],
        ),
        (
            "example.com/m/store::TestX/has_blanks",
            "store/store_test.go",
            [
                "store/store_test.go::TestX/has_blanks",
                "./store/store_test.go::TestX/has_blanks",
                "store_test.go::TestX/has blanks",
                "example.com/m/store.TestX/has_blanks",
                "m/store::TestX/has_blanks",
                "./store::TestX/has_blanks",
                "store::TestX/has_blanks",
                "store.TestX/has_blanks",
                "store_test.TestX/has_blanks",
                "TestX/has_blanks",
            ],
        ),
        ("example.com/calc/v2::TestX", "calc_test.go", ["calc.TestX", "v2::TestX", "calc_test.go::TestX", "TestX"]),
        ("example.com/calc::TestX", "", ["calc::TestX", "calc.TestX", "TestX"]),
        (
            "src/a.test.ts::sum > of two > adds",
            "src/a.test.ts",
            [
                "a.test.ts::sum > of two > adds",
                "src/a.test.ts > sum > of two > adds",
                "src/a.test.ts::sum::of two::adds",
                "a.test.ts::sum of two adds",
                "sum > of two > adds",
                "sum of two adds",
                "of two > adds",
                "adds",
            ],
        ),
        (
            "test/a.test.js::sum::adds",
            "test/a.test.js",
            ["a.test.js::sum > adds", "sum > adds", "sum adds", "sum::adds", "./test/a.test.js::sum::adds", "adds"],
        ),
        ("sum::adds", "src/sum.test.js", ["src/sum.test.js::sum > adds", "sum.test.js::sum::adds", "sum adds", "adds"]),
        (
            "com.example.Sum$Inner::adds(int)[1]",
            "src/test/java/com/example/SumTest.java",
            ["com.example.Sum.Inner#adds", "Sum$Inner.adds()", "Inner::adds", "SumTest.java::adds", "adds"],
        ),
        ("suite/part.case", "", ["part.case", "case"]),
    ],
)
def test_a_test_has_the_spellings_of_its_language(id_: str, file: str, spellings: list[str]) -> None:
    found = aliases_of(id_, file)
    assert id_ in found
    assert set(spellings) - found == set()


@pytest.mark.parametrize(
    ("id_", "file", "other"),
    [
        ("tests/test_a.py::test_x", "tests/test_a.py", "tests/test_ab.py::test_x"),
        ("tests/test_a.py::test_x", "tests/test_a.py", "est_x"),
        ("tests/test_a.py::TestA::test_x", "tests/test_a.py", "tests/test_a.py::test_x"),
        ("tests/test_a.py::test_x[1]", "tests/test_a.py", "tests/test_a.py::test_x[2]"),
        ("example.com/m/a::TestX", "a/a_test.go", "b_test.go::TestX"),
        ("example.com/m/a::TestX", "a/a_test.go", "example.com/m/b::TestX"),
        ("example.com/m/a::TestX/one", "a/a_test.go", "example.com/m/a::TestX"),
        ("src/a.test.ts::sum > adds", "src/a.test.ts", "b.test.ts::sum > adds"),
        ("src/a.test.ts::sum > adds two", "src/a.test.ts", "two"),
        ("com.example.SumTest::adds", "", "com.example.OtherTest::adds"),
        ("tests/test_a.py::test_x", "tests/test_a.py", ""),
        ("x::", "", ""),
    ],
)
def test_other_tests_have_other_spellings(id_: str, file: str, other: str) -> None:
    assert other not in aliases_of(id_, file) - {id_}


def test_parameters_belong_to_pytest_alone() -> None:
    assert function_of("tests/test_a.py::TestA::test_x[a::b]") == "tests/test_a.py::TestA::test_x"
    assert function_of("src/a.test.ts::reads [brackets]") == "src/a.test.ts::reads [brackets]"
    assert function_of("example.com/m::TestX/a[0]") == "example.com/m::TestX/a[0]"


def test_collected_go_tests_know_their_files(tmp_path: Path) -> None:
    go = go_program()
    write(tmp_path, "go.mod", "module example.com/m\n\ngo 1.21\n")
    write(tmp_path, "store/store.go", "package store\n")
    text = 'package store_test\n\nimport "testing"\n\nfunc TestX(t *testing.T) {}\n'
    write(tmp_path, "store/store_test.go", text)
    there = asyncio.run(GoTest(command=(go, "test", "./...")).collect(tmp_path))
    assert there.files == {"example.com/m/store::TestX": "store/store_test.go"}
    assert "store/store_test.go::TestX" in aliases_of(there.ids[0], there.files[there.ids[0]])


IDS = [
    "tests/test_a.py::test_x[1]",
    "tests/test_a.py::test_x[2]",
    "tests/test_b.py::T::test_x",
    "tests/test_b.py::test_xy",
]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tests/test_a.py::test_x", IDS[:2]),
        ("test_a.py::test_x", IDS[:2]),
        ("tests/test_a.py::test_x[2]", [IDS[1]]),
        ("test_x[2]", [IDS[1]]),
        ("T::test_x", [IDS[2]]),
        ("test_xy", [IDS[3]]),
        ("est_x", []),
        ("test_x", []),
    ],
)
def test_a_name_means_one_test_with_its_parameters(name: str, meant: list[str]) -> None:
    assert TestNames(IDS).resolve(name) == meant


def test_a_name_that_fits_several_tests_has_candidates() -> None:
    names = TestNames(IDS)
    assert names.candidates("test_x") == ["tests/test_a.py::test_x", "tests/test_b.py::T::test_x"]
    assert names.candidates("test_xy") == names.candidates("nothing") == []


def test_a_full_id_is_exact_though_others_end_with_it() -> None:
    ids = ["test_a.py::test_x", "sub/test_a.py::test_x"]
    assert TestNames(ids).resolve(ids[0]) == [ids[0]]


def test_a_go_test_resolves_by_its_file_and_by_its_package() -> None:
    names = TestNames(["example.com/m/store::TestX"], {"example.com/m/store::TestX": "store/x_test.go"})
    assert names.resolve("store/x_test.go::TestX") == names.resolve("x_test.go::TestX") == names.resolve("store::TestX")
    assert names.resolve("TestX") == ["example.com/m/store::TestX"]


@pytest.mark.parametrize("sign", [" > ", "::"], ids=["vitest", "node"])
def test_a_title_without_its_suite_fits_every_suite_of_its_file(sign: str) -> None:
    ids = [f"test/a.test.js::{suite}{sign}works" for suite in ("one", "two")]
    names = TestNames([*ids, f"test/a.test.js::one{sign}ends", f"test/b.test.js::one{sign}works"])
    assert names.candidates("test/a.test.js::works") == ids
    assert names.resolve("test/a.test.js::works") == []
    assert names.resolve("test/a.test.js::ends") == [f"test/a.test.js::one{sign}ends"]
    assert TestNames([*ids, "test/a.test.js::works"]).resolve("test/a.test.js::works") == ["test/a.test.js::works"]
