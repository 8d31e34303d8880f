"""Runs of RIPER and DPTR that a test plays, with what everybody said, and the documents that are made of them."""

from collections.abc import Iterable

from treadle.kernel.replay import encode_event
from treadle.protocol.items import Json, Routed
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.bank import VIEWS
from treadle.views.chronicle import Chronicle

RIPER, DPTR = load("riper"), load("dptr")
LABELS: dict[str, Json] = {
    "name": "labels",
    "description": "Names things.",
    "criteria": [{"id": "AC-1", "text": "A thing has a name."}],
}
BRIEF: dict[str, Json] = {"id": "shop", "title": "A shop", "description": "Sells things.", "modules": [LABELS]}
ONE: dict[str, Json] = {"id": "TDD1", "title": "Label", "module": "labels"}
TWO: dict[str, Json] = {"id": "TDD2", "title": "Price", "module": "prices"}


class Banked:
    """A run, and what lies behind its references."""

    def __init__(self, run: Scenario) -> None:
        self.run = run
        self.said: dict[str, Json] = {"ref:input": BRIEF, "ref:labels": LABELS}

    def get(self, ref: str) -> Json:
        return self.said.get(ref)

    def course(self) -> Chronicle:
        course = Chronicle(lambda _: self.run.protocol)
        for event in self.run.log:
            course.take(encode_event(event))
        return course

    def view(self, name: str) -> str:
        return VIEWS[name](self.run.protocol, self.course(), self.get)

    def section(self, name: str, number: int) -> str:
        """The body of a section."""
        after = self.view(name).partition(f"\n## R{number} ")[2]
        return after.partition("\n\n")[2].partition("\n## R")[0].strip()

    def state(self) -> dict[str, str]:
        """STATE, field by field."""
        lines = [line.removeprefix("- ").partition(": ") for line in self.section("context", 1).splitlines()]
        return {name: value for name, _, value in lines}

    def says(
        self, exit_: str, said: Json = None, at: str = "", fails: Iterable[str] = (), **fields: Routed
    ) -> "Banked":
        """An agent ends so, and has said something."""
        act = self.run.activity(at)
        self.run.says(exit_, act, fails, "", **fields)
        self.said[f"ref:{act}.{exit_}"] = said
        return self


def designed() -> Banked:
    """RIPER with a design that nobody has attacked yet."""
    found = Banked(Scenario(RIPER, {"modules": items("labels")}))
    found.run.signals("go", step="O1P")
    return found.says("Designed", {"message": "One module."}, modules=items())


def planned() -> Banked:
    """RIPER with an accepted design."""
    return designed().says("ACCEPT", {"message": "Fine."}).says("ACCEPT")


def executed() -> Banked:
    """RIPER in the first of two cycles."""
    found = planned().says("PC", {"message": "Two cycles."})
    return found.says("PA", {"message": "I would.", "cycles": [ONE, TWO]}, cycles=items("TDD1", "TDD2"))


def dptr_at_red() -> Banked:
    """DPTR with two cycles of one batch at once, in RED."""
    found = Banked(Scenario(DPTR, {"modules": items("labels")}))
    found.run.signals("go", step="architecture")
    found.says("Architecture", modules=items()).run.signals("go", step="audit")
    found.says("ACCEPT").run.signals("go", to="root/labels/design", step="design")
    found.says("Designed").run.signals("go", to="root/labels/design", step="critic")
    found.says("ACCEPT").says("Folded", at="take_design")
    found.says("PC")
    batch: Json = {"id": "Batch1", "parallel": 2, "cycles": [ONE, {**TWO, "module": "labels"}]}
    cycles = items("TDD1", "TDD2")
    found.says("PA", {"batches": [batch]}, batches=items("Batch1", cycles=cycles, parallel=2))
    found.says("Folded", at="take_plan")
    return found.says("P0C")
