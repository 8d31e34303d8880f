"""One test for several criteria."""

from treadle.evidence.one_for_many import idle_beside, one_for_many, overburdened

SUM = "tests/a/test_a.py::test_sum"


def test_parameters_do_not_make_several_tests_of_one() -> None:
    groups = {"AC-1": [f"{SUM}[1]", f"{SUM}[2]"], "AC-2": [f"{SUM}[1]"], "AC-3": [SUM, "tests/a/test_a.py::test_more"]}
    assert one_for_many(groups) == {SUM: ["AC-1", "AC-2"]}
    assert one_for_many({"AC-1": [SUM], "AC-2": []}) == {}
    assert one_for_many({"": [SUM]}) == {}


def test_it_is_too_much_for_a_test_that_passes_with_something_wrong() -> None:
    shared = {SUM: ["AC-1", "AC-2"]}
    (told,) = overburdened(shared, {"AC-1": ["add returns 0"], "AC-2": ["add returns 0"]})
    assert str(told).startswith(f"{SUM}: is the only test of AC-1, AC-2, and passes if add returns 0: it cannot show")
    assert list(overburdened(shared, {"AC-1": ["add returns 0"]})) == []


def test_others_that_stand_for_nothing_are_named() -> None:
    shared = {SUM: ["AC-1", "AC-2"]}
    (said,) = idle_beside(shared, [SUM], [SUM, "tests/a/test_a.py::test_more[1]", "tests/a/test_a.py::test_more[2]"])
    assert said == (
        f"{SUM} is the only test of AC-1, AC-2, while no criterion has test_a.py::test_more: is the manifest right?"
    )
    assert list(idle_beside(shared, [SUM], [SUM])) == []
    assert list(idle_beside({}, [], [SUM])) == []
