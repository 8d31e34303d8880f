"""Stories of the fractal: what the checks before the review find, what the reviewer finds, and who mends it."""

from pathlib import Path
from typing import Final

import pytest

from tests.end_to_end.fractal import APPROVED, LABEL, MANY, PASSED, world_of
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

RIGHT: Final = {LABEL.module: LABEL.code(MANY.body)}
CHANGED: Final = {"type": "ChangesMade", "note": "It is mended."}
NARROW: Final = 'return f"{count} {noun}s" if count < 4 else "many"'
"""Right for the challenge, wrong for the contract."""
FORMAT: Final = """\
import pathlib, sys
bad = [path for path in pathlib.Path("src").rglob("*.py") if "  #" in path.read_text()]
sys.exit(f"badly formatted: {bad}" if bad else 0)
"""


def with_line(line: str) -> dict[str, str]:
    """The right code with something above its body."""
    return {LABEL.module: LABEL.code(f"{line}\n    {MANY.body}")}


@pytest.mark.parametrize(
    ("made", "key", "said"),
    [
        (with_line("# TODO: plurals of foreign words"), "Failed", "no_todo"),
        (with_line("count = count + 0  # odd"), "Failed", "badly formatted"),
        (
            {LABEL.module: LABEL.code('return f"{count} {noun}s" if count < 4 else "many"')},
            "Failed.green",
            "test_contract",
        ),
    ],
    ids=["todo", "format", "contract"],
)
def test_the_implementer_mends_code_that_fails_the_checks(
    place: Path, made: dict[str, str], key: str, said: str
) -> None:
    settings = ('toolchain.format=["python3", "format.py"]',)
    world = World(place, **{**world_of(LABEL), "files": {"format.py": FORMAT}}, settings=settings)
    world.agent("implementer", write=made, exit=PASSED)
    world.agent("fix", write=RIGHT, exit=CHANGED)
    end = world.run()

    assert end.steps()[4:8] == [f"lock {key}", "fix ChangesMade", "test_author ConcludeSuite", "lock Passed"]
    assert said in end.prompt("root:fix#1.1")
    assert end.outcome == "Merged"


def test_a_reviewer_asks_for_changes_then_for_tests_and_then_approves(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    critique = {"file": LABEL.module, "line": 3, "issue": "Plurals are not explained.", "requiredFix": "Say it."}
    world.agent("reviewer", exit={"type": "RequestChanges", "critiques": [critique]})
    world.agent("reviewer", exit={"type": "Reject", "reason": "Large numbers are open.", "missingCriteria": ["AC-1"]})
    reasons = [{"symbol": "shop.labels.the_label.label", "reason": "It is there now."}]
    world.agent("reviewer", exit={**APPROVED, "changeReasons": reasons})
    world.agent("fix", write=with_line("# an s will do here"), exit=CHANGED)
    world.agent("test_author", write=LABEL.challenge(0), exit={"type": "EmitChallenge", "intent": MANY.text})
    world.agent("test_author", exit={"type": "ConcludeSuite"})
    world.agent("test_author", exit={"type": "ConcludeSuite"})
    large = "from shop.labels import label\n\n\ndef test_large():\n    assert label(1000, 'pen') == '1000 pens'\n"
    listed = LABEL.manifest(1, **{"test_large.py::test_large": "AC-1: large numbers"})
    world.agent("test_author", write={f"{LABEL.tests}/test_large.py": large, **listed}, exit={"type": "ConcludeSuite"})
    end = world.run()

    assert end.steps()[3:] == [
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer RequestChanges",
        "fix ChangesMade",
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer Reject",
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer Approve",
        "merger MergeComplete",
    ]
    assert end.evidence()["verdict"] == "verified"
    assert end.standings() == {"AC-1": "verified by root"}
    assert "Plurals are not explained." in end.prompt("root:fix#1.1")
    assert "It is mended." in end.prompt("root:test_author#3.1")
    assert "Large numbers are open." in end.prompt("root:test_author#4.1")
    assert "It is there now." in [it["reason"] for it in end.payload("root:merger#1.1")["changes"]]
