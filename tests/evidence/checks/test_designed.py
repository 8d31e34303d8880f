"""Plans against their designs."""

from pathlib import Path

import pytest

from tests.evidence.checks.test_plan import DESIGN, MODULE, PLACE
from tests.evidence.stage import Stage, run
from tests.evidence.test_plan import PLAN

CHECKS = "checkpoint plan_as_designed"


@pytest.mark.parametrize(
    ("planned", "instead", "said"),
    [
        ("", "", ()),
        (
            "def parse(text: str) -> Amount",
            "def parse(text: str, sign: bool) -> Amount",
            ("[design.other_signature]", "TDD1 plans parse ", "def parse(text: str, sign: bool) -> Amount"),
        ),
        ("def load(path: Path)", "def load(path: str)", ("[design.other_signature]", "TDD3 plans load ")),
        (
            "def format_date(self, day: date)",
            "def format_date(self)",
            ("[design.other_signature]", "TDD2 plans Dates.format_date "),
        ),
        ("def load(path: Path)", "def read(path: Path)", ("[design.unknown_signature]", "TDD3 plans read,")),
    ],
)
def test_every_signature_is_the_designs(tmp_path: Path, planned: str, instead: str, said: tuple[str, ...]) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", files=DESIGN, graph="plan", given=MODULE).start()
        claimed = await stage.claim("spec", "PC", {PLACE: PLAN.replace(planned, instead)}, checks=CHECKS)
        assert [text for text in said if text not in claimed.report] == []
        assert bool(said) == bool(claimed.report)

    run(story())


def test_a_language_without_a_parser_is_compared_as_text(tmp_path: Path) -> None:
    async def story() -> None:
        design = dict.fromkeys(DESIGN, "```\nfn parse(text: &str) -> Amount\n```\n")
        stage = await Stage(tmp_path, "dptr", files=design, graph="plan", given=MODULE).start()
        head = "Batch1: (parallel 1)\n□ TDD1: Parse (parse) [files: src/a.rs]\n"
        plan = f"{head}  interface: fn parse(text: &str)  -> Amount\n"
        assert (await stage.claim("spec", "PC", {PLACE: plan}, checks=CHECKS)).report == ""
        other = await stage.claim("spec", "PC", {PLACE: plan.replace("&str", "String")}, checks=CHECKS, n="2.1")
        assert "[design.unknown_signature]" in other.report
        assert [text for text in ("TDD1", "fn parse(text: String)  -> Amount") if text not in other.report] == []

    run(story())


def test_a_plan_without_a_design_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", graph="plan", given=MODULE).start()
        claimed = await stage.claim("spec", "PC", {PLACE: PLAN}, checks=CHECKS)
        assert "[design.missing]" in claimed.report

    run(story())
