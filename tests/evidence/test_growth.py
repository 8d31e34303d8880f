"""Bounds as people write them, and points that keep them or do not."""

import math

import pytest

from treadle.evidence.growth import excess, growth, slope

SIZES = [2**power for power in range(3, 11)]


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
def test_bounds(text: str, value: object) -> None:
    assert callable(value)
    bound = growth(text)
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
def test_what_cannot_be_measured(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        growth(text)


def test_points_are_compared_with_a_bound() -> None:
    squares = [(n, 3.0 * n * n) for n in SIZES]
    assert slope(squares) == pytest.approx(2)
    assert excess(squares, growth("O(n^2)")) == pytest.approx(0)
    assert excess(squares, growth("O(n)")) == pytest.approx(1)
    assert excess(squares, growth("O(2^n)")) < -1


def test_one_outlier_is_nothing() -> None:
    points = [(n, float(n)) for n in SIZES]
    points[3] = (points[3][0], points[3][1] * 50)
    assert slope(points) == pytest.approx(1, abs=0.1)
