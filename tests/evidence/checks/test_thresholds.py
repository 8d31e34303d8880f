"""Thresholds that scenarios refer to, measured by their tools."""

import sys
from pathlib import Path

import pytest

from tests.evidence.checks.test_scenarios import CLEAR, PLACE, STORY
from tests.evidence.stage import Stage, run
from treadle.errors import PortError
from treadle.protocol.items import Json

HEAD = "| ID | Description | Metric | Threshold | Scope/Regex | Tool | Priority |\n|---|---|---|---|---|---|---|\n"
TAGGED = CLEAR.replace("@unit @AC-1", "@unit @AC-1 @perf(PERF-01)")


def row(tool: str, limit: str = "< 200 ms") -> str:
    return f"{HEAD}| PERF-01 | search | p95 | {limit} | /search | {tool} | P1 |\n"


def says(text: str, code: int = 0) -> str:
    return f"`{sys.executable} -c \"print('{text}'); exit({code})\"`"


@pytest.mark.parametrize(
    ("bdd", "table", "said"),
    [
        (CLEAR, HEAD, ""),
        (TAGGED, row(says("PERF-01: 187 ms")), "(note) PERF-01: 187 ms (threshold < 200 ms)"),
        (TAGGED, row(says("PERF-01 240 ms")), "docs/nfr.md:3: PERF-01 is not kept: 240 ms. Expected: p95 < 200 ms"),
        (TAGGED, row(says("all is well")), "(note) PERF-01: its tool succeeds"),
        (TAGGED, row("k6"), "(note) PERF-01 (p95 < 200 ms) was not measured: docs/nfr.md names no command for it"),
        (TAGGED, HEAD, f"{PLACE}: refers to PERF-01, which has no threshold"),
        (TAGGED, row(says("PERF-01: 240 ms")), "docs/nfr.md:3: PERF-01 is not kept: 240 ms. Expected: p95 < 200 ms"),
        (
            TAGGED,
            row('`sh -c "echo slow; exit 1"`'),
            'PERF-01 is not kept: `sh -c "echo slow; exit 1"` ended with 1: slow. Expected: p95 < 200 ms',
        ),
        (TAGGED, row("`k6 run x > y`"), "docs/nfr.md:3: `k6 run x > y` cannot be run"),
        (TAGGED, row(says("PERF-01: 99.5 %"), "≥ 99.9 %"), "PERF-01 is not kept: 99.5 %"),
        (TAGGED, row(says("PERF-01: 0.9 s")), "PERF-01 is not kept: 0.9 s. Expected: p95 < 200 ms"),
        (TAGGED, row(says("PERF-01: 0.1 s")), "(note) PERF-01: 0.1 s (threshold < 200 ms)"),
        (TAGGED, row(says("PERF-01: 1e9 ms")), "PERF-01 is not kept: 1e+09 ms"),
        (TAGGED, row(says("p95 perf-01: 1,900 ms")), "PERF-01 is not kept: 1900 ms"),
        (TAGGED, row(says("PERF-01: 900 ms'); print('PERF-01: 100 ms")), "PERF-01 is not kept: 900 ms"),
        (TAGGED, row(says("PERF-01: nan ms")), "Treadle cannot tell whether PERF-01 is kept: its tool prints nan ms"),
        (TAGGED, row(says("PERF-01: -5 ms")), "is kept: its tool prints -5 ms"),
        (TAGGED, row(says("PERF-01: 5 MB")), "is kept: its tool prints 5 MB"),
        (TAGGED, row(says("PERF-01: 5")), "is kept: its tool prints 5"),
        (TAGGED, row(says("PERF-01: 900ms")), "PERF-01 is not kept: 900 ms"),
        (TAGGED, row(says("PERF-01: 900 ms (p95)")), "PERF-01 is not kept: 900 ms"),
        (TAGGED, row(says("PERF-01 (search): p95 ~900 ms of 200")), "PERF-01 is not kept: 900 ms"),
        (TAGGED, row(says("PERF-01: 50 users, 100 ms")), "(note) PERF-01: 100 ms (threshold < 200 ms)"),
        (TAGGED, row(says("PERF-01: 900 ms"), "< 200 ms (p95)"), "PERF-01 is not kept: 900 ms"),
        (TAGGED, row(says("PERF-01: 2 s"), "< 1,000 ms"), "PERF-01 is not kept: 2 s"),
        (TAGGED, row(says("PERF-01: 2 s"), "at most 1 second"), "PERF-01 is not kept: 2 s"),
        (TAGGED, row(says("PERF-01: 1"), "== 0"), "PERF-01 is not kept: 1"),
        (
            TAGGED,
            row(says("PERF-01: 99.95 %"), "99.9 %"),
            "(note) PERF-01: its tool succeeds; 99.95 % is compared",
        ),
        (
            TAGGED,
            row(says("PERF-01: 5 ms"), "< 200 ms and errors < 1 %"),
            "(note) PERF-01: its tool succeeds; 5 ms is compared",
        ),
        (TAGGED, row(says("PERF-01: 5 ms"), "p95 < 200 ms"), "(note) PERF-01: 5 ms"),
        (TAGGED, row(says("PERF-011: 900 ms")), "(note) PERF-01: its tool succeeds"),
    ],
)
def test_a_threshold_is_measured(tmp_path: Path, bdd: str, table: str, said: str) -> None:
    async def told() -> None:
        files = {PLACE: bdd, "docs/nfr.md": table, "src/__init__.py": ""}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        verdict = await stage.claim("verify", "x", {"a.txt": "a"}, checks="checkpoint thresholds")
        assert verdict.results[-1].ok == (not said or "(note)" in said), verdict.report
        report = stage.payloads.get(verdict.results[-1].report_ref)
        assert said in str(report["report"] if isinstance(report, dict) else report)
        assert str(report).count("Expected:") == (not verdict.results[-1].ok)

    run(told())


@pytest.mark.parametrize(
    ("tool", "change", "said"),
    [
        ("python perf.py", {"a.txt": "a"}, ""),
        ("python perf.py", {"perf.py": "print('PERF-01: 1 ms')"}, "perf.py: measures PERF-01, and was changed by this"),
        ("python ./perf.py", {"perf.py": "print('PERF-01: 1 ms')"}, "perf.py: measures PERF-01"),
        ("python perf.py perf/load.json", {"perf/load.json": "{}"}, ""),
        ("ls perf.py perf", {"perf.py": "x = 1\n"}, ""),
        ("python -m perf", {"perf.py": "print('PERF-01: 1 ms')"}, "perf.py: measures PERF-01"),
    ],
)
def test_the_measured_work_may_not_change_its_measuring_tool(
    tmp_path: Path, tool: str, change: dict[str, str], said: str
) -> None:
    async def told() -> None:
        command = tool.replace("python", sys.executable)
        files = {PLACE: TAGGED, "docs/nfr.md": row(f"`{command}`"), "src/__init__.py": ""}
        files |= {"perf.py": "print('PERF-01: 100 ms')\n", "perf/load.json": "[]"}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        verdict = await stage.claim("verify", "x", change, checks="checkpoint thresholds")
        assert (said in verdict.report) if said else verdict.report == ""

    run(told())


def test_a_tool_that_is_not_installed_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    async def told() -> None:
        files = {PLACE: TAGGED, "docs/nfr.md": row("`no-such-program --all`"), "src/__init__.py": ""}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
        with pytest.raises(PortError) as caught:
            await stage.claim("verify", "x", {"a.txt": "a"}, checks="checkpoint thresholds")
        assert (caught.value.retryable, caught.value.code) == (True, "env.missing")
        assert "no-such-program" in str(caught.value)
        verdict = await stage.claim("verify", "x", {"a.txt": "b"}, checks="checkpoint thresholds?", n="2.1")
        assert not verdict.results[-1].ok

    run(told())


@pytest.mark.parametrize(
    ("table", "refused", "measured"),
    [
        (
            HEAD,
            f"{PLACE}: refers to PERF-01, which has no threshold. Expected: a row of docs/nfr.md, or no such tag",
            [],
        ),
        (row("`k6 run a.js`"), "", ["PERF-01: p95 < 200 ms; measured by `k6 run a.js`"]),
        (
            row("`k6 run a.js`", "fast"),
            "",
            [
                (
                    "PERF-01: p95 fast; measured by `k6 run a.js`; only its exit code decides, because the "
                    "threshold is no single limit such as `< 200 ms`"
                )
            ],
        ),
        (
            row("k6"),
            "",
            ["PERF-01: p95 < 200 ms; nothing measures it: its Tool in docs/nfr.md is no command in `backquotes`"],
        ),
    ],
)
def test_the_reviewer_of_scenarios_reads_their_thresholds(
    tmp_path: Path, table: str, refused: str, measured: list[Json]
) -> None:
    async def told() -> None:
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files={"docs/nfr.md": table}).start()
        fields: dict[str, Json] = {"clarifications": []}
        verdict = await stage.claim("bdd", "pass_bdd", {PLACE: TAGGED}, fields, checks="commit thresholds_known")
        assert refused in verdict.report
        assert bool(refused) == bool(verdict.report)
        if not refused:
            assert verdict.fields["thresholds"] == measured

    run(told())
