"""One test for several criteria."""

from treadle.evidence.sharpness import idle_beside, one_for_many, overburdened

SUM = "tests/a/test_a.py::test_sum"


def test_parameters_do_not_make_several_tests_of_one() -> None:
    groups = {"AC-1": [f"{SUM}[1]", f"{SUM}[2]"], "AC-2": [f"{SUM}[1]"], "AC-3": [SUM, "tests/a/test_a.py::test_more"]}
    assert one_for_many(groups) == {SUM: ["AC-1", "AC-2"]}
    assert one_for_many({"AC-1": [SUM], "AC-2": []}) == {}
    assert one_for_many({"": [SUM]}) == {}


def test_one_test_is_too_little_for_several_criteria_if_a_wrong_implementation_passes() -> None:
    shared = {SUM: ["AC-1", "AC-2"]}
    (problem,) = overburdened(shared, {"AC-1": ["add returns 0"], "AC-2": ["add returns 0"]})
    assert (problem.test, problem.code) == (SUM, "red.one_for_many")
    assert [text for text in ("AC-1, AC-2", "add returns 0") if text not in problem.what] == []
    assert list(overburdened(shared, {"AC-1": ["add returns 0"]})) == []


def test_tests_without_a_criterion_beside_one_for_many_are_named() -> None:
    shared = {SUM: ["AC-1", "AC-2"]}
    (said,) = idle_beside(shared, [SUM], [SUM, "tests/a/test_a.py::test_more[1]", "tests/a/test_a.py::test_more[2]"])
    assert [text for text in (SUM, "AC-1, AC-2", "test_a.py::test_more") if text not in said] == []
    assert list(idle_beside(shared, [SUM], [SUM])) == []
    assert list(idle_beside({}, [], [SUM])) == []
