"""When a limit is kept, when not, and when nobody can tell; and its picture."""

from collections.abc import Callable
from xml.etree import ElementTree

from treadle.evidence.growth import growth
from treadle.evidence.scaling_plot import plot
from treadle.evidence.scaling_verdict import judged
from treadle.toolchains.scaling import Measured, Point, Stop

SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def measured(problem: str = "", **costs: Callable[[int], float]) -> Measured:
    points = [Point("shuffled", what, n, cost(n)) for what, cost in costs.items() for n in SIZES]
    return Measured(points=tuple(points), problem=problem)


def test_instructions_decide() -> None:
    squares = measured(instructions=lambda n: 5 * n * n, seconds=lambda n: n * 1e-4)
    verdict = judged("time", growth("O(n log n)"), squares)
    assert verdict.verdict == "exceeds"
    assert verdict.reason == "instructions grow as n^2.00 on shuffled inputs up to n = 1024"
    assert judged("time", growth("O(n^2)"), squares).verdict == "fits"


def test_time_shows_work_that_is_no_instruction() -> None:
    within = measured(instructions=lambda n: 5 * n, seconds=lambda n: 1e-6 * n * n)
    assert judged("time", growth("O(n)"), within).verdict == "exceeds"


def test_times_that_are_short_or_only_a_little_too_steep_decide_nothing() -> None:
    noisy = measured(instructions=lambda n: n, seconds=lambda n: 1e-9 * n**2)
    assert judged("time", growth("O(n)"), noisy).verdict == "fits"
    steep = measured(instructions=lambda n: n, seconds=lambda n: 1e-4 * n**1.3)
    assert judged("time", growth("O(n)"), steep).verdict == "fits"


def test_space() -> None:
    table = measured(bytes=lambda n: 8.0 * n * n)
    assert judged("space", growth("O(n)"), table).verdict == "exceeds"
    assert judged("space", growth("O(1)"), measured(bytes=lambda n: n / 4)).verdict == "fits"


def test_a_call_that_does_not_end() -> None:
    short = Measured(
        points=tuple(
            Point("plain", what, n, cost * n)
            for what, cost in (("seconds", 1e-6), ("instructions", 9))
            for n in (4, 6, 8, 11)
        ),
        stops=(Stop("plain", "seconds", 16, "TooMuch", 0.8),),
    )
    verdict = judged("time", growth("O(n)"), short)
    assert (verdict.verdict, verdict.reason) == (
        "exceeds",
        "n = 16 (plain inputs) did not end in 0.8 s, and n = 11 took 0.000011 s",
    )
    deep = Measured(points=short.points, stops=(Stop("plain", "seconds", 16, "RecursionError", 0.8),))
    assert judged("time", growth("O(n)"), deep).verdict == "fits"


def test_nothing_to_tell_from() -> None:
    none = judged("time", growth("O(n)"), Measured(problem="ImportError: no module"))
    assert (none.verdict, none.reason) == ("unmeasurable", "ImportError: no module")
    assert judged("time", growth("O(n)"), Measured()).reason == "there are too few sizes to tell"
    broke_off = measured("ValueError: too large", instructions=lambda n: n)
    assert judged("time", growth("O(n)"), broke_off).verdict == "unmeasurable"


def test_the_picture_is_small_and_whole() -> None:
    bound = growth("O(n)")
    lines = judged("time", bound, measured(instructions=lambda n: n * n)).lines
    picture = plot("time of <f>", lines, bound)
    assert len(picture) < 8_000
    root = ElementTree.fromstring(picture)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"time of <f>", "limit: O(n)", "shuffled: n^2.00"} <= set(texts)
    assert "href" not in picture
    assert plot("nothing", [], bound) == ""
