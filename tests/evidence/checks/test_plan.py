"""Plans of cycles, from the lane or from the claim."""

from pathlib import Path

from tests.evidence.stage import Stage, run
from tests.evidence.test_plan import PLAN
from treadle.protocol.items import Json

MODULE: dict[str, Json] = {
    "name": "money",
    "description": "d",
    "criteria": [{"id": "AC1", "text": "x"}, {"id": "AC2", "text": "y"}],
}
PLACE = "memory-bank/modules/money/tdd_plan.md"
DESIGN = {
    "memory-bank/modules/money/design.md": """# money

```python
def parse(text: str) -> Amount
def normalise(amount: Amount) -> Amount

class Dates:
    def format_date(self, day: date) -> str: ...
```
- `def load(path: Path) -> Statement`
"""
}


def test_a_plan_in_the_lane_becomes_batches(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", files=DESIGN, graph="plan", given=MODULE).start()
        none = await stage.claim("spec", "PC", {}, checks="checkpoint plan_parses plan_sound")
        assert "there is no plan" in none.report
        assert none.report.endswith("Not looked at because of that: plan_sound")
        bad = await stage.claim("spec", "PC", {PLACE: PLAN.replace("AC1, AC2", "AC9")}, n="2.1")
        assert f"{PLACE}:4: TDD1 serves AC9, which is no criterion" in bad.report
        dead = await stage.claim("spec", "PC", {PLACE: f"[↗️σ₂:R1]\n{PLAN}"}, n="2.2")
        assert f"{PLACE}:1: [↗️σ₂:R1] leads to a document that is not there" in dead.report
        good = await stage.claim("spec", "PC", {PLACE: f"[↗️σ₁:R3]\n{PLAN}"}, n="3.1")
        assert good.report == ""
        accepted = await stage.claim("critic", "PA")
        assert accepted.report == ""
        batches = accepted.fields["batches"]
        assert isinstance(batches, list)
        first = batches[0]
        assert isinstance(first, dict)
        assert (first["id"], first["parallel"]) == ("Batch1", 2)
        cycles = first["cycles"]
        assert isinstance(cycles, list)
        assert cycles[0] == {
            "id": "TDD1",
            "title": "Parse amounts",
            "methods": ["parse", "normalise"],
            "interface": "def parse(text: str) -> Amount\ndef normalise(amount: Amount) -> Amount",
            "files": ["src/amount.py", "tests/test_amount.py"],
            "after": [],
            "criteria": ["AC1", "AC2"],
            "level": "unit",
            "module": "money",
            "design": "memory-bank/modules/money/design.md",
            "plan": PLACE,
        }

    run(story())


def test_a_plan_in_the_claim_is_read_and_kept(tmp_path: Path) -> None:
    async def story() -> None:
        brief: dict[str, Json] = {"id": "b", "title": "B", "description": "d", "modules": [MODULE]}
        stage = await Stage(tmp_path, "riper", graph="riper", given=brief).start()
        assert (await stage.claim("O3P", "PC", {}, {"tdd_plan": PLAN})).report == ""
        accepted = await stage.claim("O4C", "PA")
        assert accepted.report == ""
        cycles = accepted.fields["cycles"]
        assert isinstance(cycles, list)
        assert [one["id"] for one in cycles if isinstance(one, dict)] == ["TDD1", "TDD2", "TDD3"]

    run(story())
