"""Limits on time and space, measured for whoever reviews."""

from pathlib import Path
from typing import Any

from tests.evidence.stage import SPEC, Stage, run
from treadle.evidence.checks.scaling import constraints
from treadle.ports import Verdict
from treadle.protocol.items import Json

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


def test_a_function_that_is_too_slow(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {"time": "O(n log n)", "space": "at most 10 MB"})
        evidence = stage.evidence(verdict, "scaling")
        assert (evidence["ok"], evidence["advisory"]) == (False, True)
        told: list[dict[str, Any]] = evidence["scaling"]
        assert [(one["limit"], one["verdict"]) for one in told] == [("space", "unmeasurable"), ("time", "exceeds")]
        space, slow = told
        assert space["reason"] == "'at most 10 MB' is no growth such as O(n log n)"
        assert (slow["function"], slow["claimed"]) == ("src.calc.add.ordered", "O(n log n)")
        assert 1.7 < slow["slope"] < 2.3
        assert {"shape", "what", "n", "cost"} == slow["points"][0].keys()
        picture = stage.payloads.get(slow["plot"])
        assert isinstance(picture, dict)
        assert str(picture["svg"]).startswith("<svg")
        assert slow["plot"] not in str(verdict.fields["scaling"]), "nobody can open a digest"

    run(story())


def test_nothing_to_measure(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {"time": "O(n)"}, tests="def test_a() -> None:\n    assert 1 + 1\n")
        told = stage.evidence(verdict, "scaling")["scaling"]
        assert [one["verdict"] for one in told] == ["unmeasurable"]
        assert "no test calls a public function of the target" in told[0]["reason"]

    run(story())


def test_specs_without_limits() -> None:
    assert constraints({}) == {}
    assert constraints({"complexityConstraints": None}) == {}
    assert constraints({"complexityConstraints": {"time": "O(n)", "space": None}}) == {"time": "O(n)"}
