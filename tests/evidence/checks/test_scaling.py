"""Limits on time and space: how they are read, what they apply to, and the verdict on measured costs."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import SPEC, Stage, run
from treadle.evidence.checks.scaling import exponent, find_targets, judge_limit, parse_growth
from treadle.ports import Verdict
from treadle.protocol.items import Json
from treadle.toolchains.scaling import CallCost, ScalingMeasurement, ScalingProbe

POWERS = [2**power for power in range(3, 11)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("O(1)", lambda _: 1),
        ("O(log n)", math.log),
        ("O(n)", lambda n: n),
        ("Θ(N log N)", lambda n: n * math.log(n)),
        ("at most O(nlogn) comparisons", lambda n: n * math.log(n)),
        ("O(n log^2 n)", lambda n: n * math.log(n) ** 2),
        ("O(n²)", lambda n: n**2),
        ("O(n**2.5)", lambda n: n**2.5),
        ("O(n * sqrt(n))", lambda n: n**1.5),
        ("O(√n)", lambda n: n**0.5),
        ("O(n + log n)", lambda n: n),
        ("O(2n + 7)", lambda n: n),
        ("O(len(items))", lambda n: n),
        ("linear", lambda n: n),
        ("constant extra space", lambda _: 1),
        ("O(2^n)", lambda n: 2**n),
        ("O(n!)", math.factorial),
    ],
)
def test_a_bound_is_read_as_people_write_it(text: str, value: object) -> None:
    assert callable(value)
    bound = parse_growth(text)
    for n in (8, 64):
        assert bound.log(n) == pytest.approx(math.log(value(n)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10 MB", "is no growth such as"),
        ("", "is no growth such as"),
        ("O(n + m)", "more than one size"),
        ("O(V + E)", "more than one size"),
        ("O(n) on average, O(n^2) at worst", "more than one bound"),
        ("O(α(n))", "cannot be read"),
        ("O()", "is no growth such as"),
    ],
)
def test_a_bound_that_cannot_be_measured_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_growth(text)


def test_the_exponent_is_relative_to_a_bound() -> None:
    squares = [(n, 3.0 * n * n) for n in POWERS]
    assert exponent(squares) == pytest.approx(2)
    assert exponent(squares, parse_growth("O(n^2)")) == pytest.approx(0)
    assert exponent(squares, parse_growth("O(n)")) == pytest.approx(1)
    assert exponent(squares, parse_growth("O(2^n)")) < -1


def test_one_outlier_does_not_change_the_exponent() -> None:
    points = [(n, float(n)) for n in POWERS]
    points[3] = (points[3][0], points[3][1] * 50)
    assert exponent(points) == pytest.approx(1, abs=0.1)


SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def measured(problem: str = "", **costs: Callable[[int], float]) -> ScalingMeasurement:
    points = [CallCost("shuffled", what, n, cost(n)) for what, cost in costs.items() for n in SIZES]
    return ScalingMeasurement(points=tuple(points), problem=problem)


def test_counted_instructions_decide_before_time() -> None:
    squares = measured(instructions=lambda n: 5 * n * n, seconds=lambda n: n * 1e-4)
    verdict = judge_limit("time", parse_growth("O(n log n)"), squares)
    assert verdict.verdict == "exceeds"
    assert verdict.reason.startswith("instructions")
    assert verdict.slope == pytest.approx(2)
    assert CallCost("shuffled", "instructions", 1024, 5 * 1024**2) in verdict.points
    assert judge_limit("time", parse_growth("O(n^2)"), squares).verdict == "fits"


def test_time_shows_work_that_is_no_instruction() -> None:
    within = measured(instructions=lambda n: 5 * n, seconds=lambda n: 1e-6 * n * n)
    assert judge_limit("time", parse_growth("O(n)"), within).verdict == "exceeds"


def test_short_or_slightly_steep_times_still_fit() -> None:
    noisy = measured(instructions=lambda n: n, seconds=lambda n: 1e-9 * n**2)
    assert judge_limit("time", parse_growth("O(n)"), noisy).verdict == "fits"
    steep = measured(instructions=lambda n: n, seconds=lambda n: 1e-4 * n**1.3)
    assert judge_limit("time", parse_growth("O(n)"), steep).verdict == "fits"


def test_bytes_decide_on_space() -> None:
    table = measured(bytes=lambda n: 8.0 * n * n)
    assert judge_limit("space", parse_growth("O(n)"), table).verdict == "exceeds"
    assert judge_limit("space", parse_growth("O(1)"), measured(bytes=lambda n: n / 4)).verdict == "fits"


def test_a_call_that_does_not_end_exceeds_its_limit() -> None:
    short = ScalingMeasurement(
        points=tuple(
            CallCost("plain", what, n, cost * n)
            for what, cost in (("seconds", 1e-6), ("instructions", 9))
            for n in (4, 6, 8, 11)
        ),
        stops=(CallCost("plain", "seconds", 16, 0.8, "TooMuch"),),
    )
    verdict = judge_limit("time", parse_growth("O(n)"), short)
    assert verdict.verdict == "exceeds"
    assert "n = 16" in verdict.reason
    assert "0.8 s" in verdict.reason
    deep = ScalingMeasurement(points=short.points, stops=(CallCost("plain", "seconds", 16, 0.8, "RecursionError"),))
    assert judge_limit("time", parse_growth("O(n)"), deep).verdict == "fits"


def test_too_few_points_are_unmeasurable() -> None:
    none = judge_limit("time", parse_growth("O(n)"), ScalingMeasurement(problem="ImportError: no module"))
    assert (none.verdict, none.reason) == ("unmeasurable", "ImportError: no module")
    assert judge_limit("time", parse_growth("O(n)"), ScalingMeasurement()).verdict == "unmeasurable"
    broke_off = measured("ValueError: too large", instructions=lambda n: n)
    assert judge_limit("time", parse_growth("O(n)"), broke_off).verdict == "unmeasurable"


MODULES = {
    "src/calc/__init__.py": "from .sort import merge_sort\n",
    "src/calc/sort.py": "def merge_sort(xs): ...\ndef helper(xs): ...\ndef _hidden(): ...\nclass Stack: ...\n",
}


@pytest.mark.parametrize(
    ("tests", "found"),
    [
        ("from calc.sort import merge_sort\ndef test_a(): merge_sort([])", [("calc.sort", "merge_sort")]),
        ("from src.calc import merge_sort as m\ndef test_a(): m([])", [("src.calc", "merge_sort")]),
        ("import calc.sort\ndef test_a(): calc.sort.merge_sort([])", [("calc.sort", "merge_sort")]),
        ("import calc.sort as s\ndef test_a(): s.merge_sort([])", [("calc.sort", "merge_sort")]),
        ("from other.sort import merge_sort\ndef test_a(): merge_sort([])", []),
        ("from calc.sort import Stack\ndef test_a(): Stack()", []),
        ("from calc.sort import _hidden\ndef test_a(): _hidden()", []),
        ("from calc.sort import merge_sort\ndef test_a(): pass", []),
        ("def broken(", []),
    ],
)
def test_the_functions_that_tests_call_are_measured(tests: str, found: list[tuple[str, str]]) -> None:
    assert [(one.module, one.name) for one in find_targets(MODULES, {"tests/test_a.py": tests})] == found


def test_criteria_and_the_spec_choose_among_called_functions() -> None:
    both = "from calc.sort import merge_sort, helper\ndef test_a():\n    helper(1)\n    merge_sort([])\n"
    tests = {"tests/test_a.py": both}
    assert [one.name for one in find_targets(MODULES, tests)] == ["helper", "merge_sort"]
    assert [one.name for one in find_targets(MODULES, tests, about="merge_sort sorts")] == ["merge_sort"]
    assert [one.name for one in find_targets(MODULES, tests, wanted="helper", about="merge_sort sorts")] == ["helper"]
    assert find_targets(MODULES, tests, wanted="gone") == []


def test_tests_may_make_the_inputs() -> None:
    text = "from calc.sort import merge_sort\ndef test_a(): merge_sort([])\ndef sizes_merge_sort(n): return ([n],)\n"
    assert find_targets(MODULES, {"t/test_a.py": text}) == [
        ScalingProbe(module="calc.sort", name="merge_sort", sizes="sizes_merge_sort", sizes_file="t/test_a.py")
    ]
    work = "from calc.sort import Stack\ndef sizes(n): return lambda: Stack()\n"
    assert find_targets(MODULES, {"t/test_a.py": work}) == [
        ScalingProbe(module="", name="sizes", sizes="sizes", sizes_file="t/test_a.py")
    ]


SLOW = """def ordered(xs: list[int]) -> list[int]:
    out: list[int] = []
    for x in xs:
        at = 0
        while at < len(out) and out[at] < x:
            at += 1
        out.insert(at, x)
    return out
"""
TEST = "from src.calc.add import ordered\n\n\ndef test_orders() -> None:\n    assert ordered([2, 1]) == [1, 2]\n"


async def claimed(tmp_path: Path, limits: Json, tests: str = TEST) -> tuple[Stage, Verdict]:
    stage = await Stage(tmp_path, given={**SPEC, "complexityConstraints": limits}).start()
    await stage.tested({"tests/calc/test_add.py": tests})
    return stage, await stage.claim("impl", "TestsPassed", {"src/calc/add.py": SLOW}, checks="checkpoint scaling?")


def test_a_function_that_is_too_slow_is_advice_with_points(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {"time": "O(n log n)", "space": "at most 10 MB"})
        evidence = stage.evidence(verdict, "scaling")
        assert (evidence["ok"], evidence["advisory"]) == (False, True)
        assert [one["code"] for one in evidence["findings"]] == [
            "scaling.unmeasured",
            "scaling.exceeded",
            "scaling.precision",
        ]
        told: list[dict[str, Any]] = evidence["scaling"]
        assert [(one["limit"], one["verdict"]) for one in told] == [("space", "unmeasurable"), ("time", "exceeds")]
        space, slow = told
        assert space["claimed"] == "at most 10 MB"
        assert (slow["function"], slow["claimed"]) == ("src.calc.add.ordered", "O(n log n)")
        assert 1.7 < slow["slope"] < 2.3
        assert {"shape", "what", "n", "cost"} == slow["points"][0].keys()
        assert slow["reason"] in str(verdict.fields["scaling"])

    run(story())


def test_tests_that_call_no_function_are_unmeasurable(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {"time": "O(n)"}, tests="def test_a() -> None:\n    assert 1 + 1\n")
        told = stage.evidence(verdict, "scaling")["scaling"]
        assert [one["verdict"] for one in told] == ["unmeasurable"]
        assert "complexityConstraints.function" in told[0]["reason"]

    run(story())


@pytest.mark.parametrize("limits", [None, {}, {"time": None}])
def test_a_spec_without_limits_is_not_measured(tmp_path: Path, limits: Json) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, limits)
        evidence = stage.evidence(verdict, "scaling")
        assert evidence["ok"]
        assert [one["code"] for one in evidence["findings"]] == ["scaling.no_limit"]

    run(story())
