"""Plans of cycles, from the lane or from the claim."""

from pathlib import Path

from tests.evidence.stage import Stage, run
from tests.evidence.test_plan import PLAN
from treadle.kernel.state import Slot
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
        assert stage.codes(none, "plan_parses") == ["plan.missing"]
        assert stage.evidence(none, "plan_sound")["skipped"] is True
        bad = await stage.claim("spec", "PC", {PLACE: PLAN.replace("AC1, AC2", "AC9")}, n="2.1")
        assert (f"{PLACE}:4", "plan.unknown_criterion") in stage.found(bad, "plan_sound")
        assert [text for text in ("TDD1", "AC9") if text not in bad.report] == []
        dead = await stage.claim("spec", "PC", {PLACE: f"[↗️σ₂:R1]\n{PLAN}"}, n="2.2")
        assert f"{PLACE}:1: [↗️σ₂:R1] " in dead.report
        assert "[document.dead_reference]" in dead.report
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


def test_a_plan_names_every_criterion(tmp_path: Path) -> None:
    """Those of the brief, of its modules and of modules that the design has added; no item of its own checklist."""

    async def story() -> None:
        whole: list[Json] = [{"id": "AC3", "text": "z"}]
        brief: dict[str, Json] = {"id": "b", "title": "B", "description": "d", "modules": [MODULE], "criteria": whole}
        stage = await Stage(tmp_path, "riper", graph="riper", given=brief).start()
        more: Json = [{"name": "dates", "description": "d", "criteria": [{"id": "AC4", "text": "w"}]}]
        documents = {"architecture_design": "# A", "module_specifications": "# M", "tech_stack": "# T"}
        await stage.claim("O1P", "Designed", {}, {**documents, "modules": more}, checks="")
        short = await stage.claim("O3P", "PC", {}, {"tdd_plan": PLAN.replace("AC1, AC2", "AC1")})
        assert stage.codes(short, "plan_sound") == ["plan.uncovered"] * 3
        named = PLAN.replace("AC1, AC2", "AC1, AC2, AC3, AC4")
        assert (await stage.claim("O3P", "PC", {}, {"tdd_plan": named}, n="2.1")).report == ""
        assert (await stage.claim("O4C", "PA")).report == ""
        item = await stage.claim("O3P", "PR", {}, {"tdd_plan": named.replace("AC4", "AC4, C1")}, n="3.1")
        assert stage.codes(item, "plan_sound") == ["plan.unknown_criterion"]

    run(story())


def test_every_criterion_of_the_whole_belongs_to_a_module(tmp_path: Path) -> None:
    async def story() -> None:
        whole: list[Json] = [{"id": "AC1", "text": "x"}, {"id": "AC3", "text": "z"}]
        brief: dict[str, Json] = {"id": "b", "title": "B", "description": "d", "modules": [MODULE], "criteria": whole}
        stage = await Stage(tmp_path, "dptr", graph="dptr", given=brief).start()
        check = "modules_cover_criteria"
        none = await stage.claim("architecture", "Architecture", {}, {"modules": []}, checks=check)
        assert stage.codes(none, check) == ["plan.uncovered"]
        dates: dict[str, Json] = {"name": "dates", "description": "d", "criteria": [{"id": "AC3", "text": "z"}]}
        good = await stage.claim("architecture", "Architecture", {}, {"modules": [dates]}, checks=check, n="2.1")
        assert stage.codes(good, check) == []
        built = stage.add("root/dates", "module", dates)
        built.slots["fold.MergeComplete"] = Slot(stage.payloads.put({}), seq=2)
        repaired = await stage.claim("architecture", "Architecture", {}, {"modules": []}, checks=check, n="3.1")
        assert stage.codes(repaired, check) == [], "what is built stays"

    run(story())


def test_a_later_plan_may_leave_out_criteria_of_merged_cycles(tmp_path: Path) -> None:
    async def story() -> None:
        brief: dict[str, Json] = {"id": "b", "title": "B", "description": "d", "modules": [MODULE]}
        stage = await Stage(tmp_path, "riper", graph="riper", given=brief).start()
        cycle = stage.add("root/TDD9", "rcycle", {"id": "TDD9", "criteria": ["AC2"]})
        rest = {"tdd_plan": PLAN.replace("AC1, AC2", "AC1")}
        cycle.slots["fold.MergeRejected"] = Slot(stage.payloads.put({}), seq=1)
        assert stage.codes(await stage.claim("O3P", "PC", {}, dict(rest)), "plan_sound") == ["plan.uncovered"]
        cycle.slots["fold.MergeComplete"] = Slot(stage.payloads.put({}), seq=2)
        assert (await stage.claim("O3P", "PC", {}, dict(rest), n="2.1")).report == ""

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
