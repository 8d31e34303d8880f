"""A project of the waterfall on real git with real tests, spoken to by `treadle say`; its executors follow a script."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from tests.end_to_end.waterfall import FILES, MEMORY, OPENAPI, SDD, VERIFIED, Story, says
from tests.end_to_end.world import PYPROJECT
from tests.git.place import git, write

OVERLAY: Final = """
extends: waterfall
graphs:
  story:
    start: next
    steps:
      +next:
        title: The next story
        ask: human
        choices: {continue: begin with it, abort: leave it out}
        routes: {continue: bdd, abort: "@end:Aborted"}
"""
"""A person says when the next story begins."""
RULES: Final = """
steps:
  bdd: {next_on_pass: review}
  review: {next_on_pass: sdd-delta}
  sdd-delta: {needs: ["bdd.pass_bdd?", "impl.failing_measured?", "breakdown.failing?"]}
  contract: {next_on_pass: scaffold}
"""
"""The scenarios are reviewed before anything is designed."""
SETTINGS: Final = f'[toolchain]\nkind = "pytest"\ntest = ["{sys.executable}", "-m", "pytest"]\n'

COUPON: Final = Story(
    id="US-005",
    module="coupons",
    function="discounted(cents: int, percent: int) -> int",
    body="return cents - cents * percent // 100",
    text="A coupon lowers the price by its percentage.",
    proof=("discounted(200, 10) == 180", "discounted(99, 0) == 99", "discounted(50, 100) == 0"),
)
CHECKOUT: Final = Story(
    id="US-006",
    module="checkout",
    function="gives_up(seconds: int) -> bool",
    body="return seconds > 30",
    text="The checkout waits for the gateway, but not for ever.",
    proof=("gives_up(31)", "not gives_up(30)"),
    blocked_by=("US-005",),
    on=(COUPON,),
)
HISTORY: Final = Story(
    id="US-007",
    module="orders",
    function="latest(orders: list[int]) -> int",
    body="return orders[-1]",
    text="The latest order is the last one.",
    proof=("latest([1, 2]) == 2",),
    blocked_by=("US-006",),
    on=(COUPON, CHECKOUT),
)
ASKED: Final = {"question": "How long may the payment gateway take?", "suggestion": "20 seconds"}
_UNCLEAR: Final = f"{CHECKOUT.text} [NEEDS CLARIFICATION: how long may the payment gateway take?]"


def set_up(root: Path, *stories: Story) -> None:
    """The repository, its backlog and its executors."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    spec = {"project": root.name, "stories": [story.given for story in stories]}
    files = {
        ".gitignore": "__pycache__/\n.ai/*\n!.ai/step-rules.yaml\n",
        "pyproject.toml": PYPROJECT,
        "treadle.toml": SETTINGS,
        ".treadle/overlays/waterfall.yaml": OVERLAY,
        ".ai/step-rules.yaml": RULES,
        "backlog.yaml": json.dumps(spec),
        "script.yaml": json.dumps({"agents": [rule for story in stories for rule in _rules(story)]}),
        **FILES,
    }
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Start")


def _rules(story: Story) -> list[dict[str, Any]]:
    turns: dict[str, list[dict[str, Any]]] = {
        "bdd": [_specified(story)],
        "sdd-delta": [{"write": {story.delta_file: story.delta()}, "exit": says("pass", "One function more.")}],
        "contract": [{"write": {OPENAPI: story.openapi()}, "exit": says("pass", "One path more.")}],
        "scaffold": [{"write": story.scaffold() | _answered(story), "exit": says("pass", f"{story.name} is tested.")}],
        "impl": [{"write": {story.file: story.code()}, "exit": says("pass", f"{story.name} is there.")}],
        "verify": [{"write": {SDD: story.sdd()}, "exit": VERIFIED}],
        "update-memory": [{"write": {MEMORY: story.memory()}, "exit": says("pass", "Remembered.")}],
    }
    if story == COUPON:  # two attempts that the tests refuse
        wrong = [story.code("return cents"), story.code("return cents - percent")]
        turns["impl"] = [{"write": {story.file: it}, "exit": says("pass", "Done.")} for it in wrong] + turns["impl"]
    usage = {"tokens_in": 3000, "tokens_out": 900}
    return [
        {"step": step, "instance": story.at, "turns": [{**turn, "usage": usage} for turn in its]}
        for step, its in turns.items()
    ]


def _specified(story: Story) -> dict[str, Any]:
    asked = [ASKED] if story == CHECKOUT else []
    text = story.bdd(_UNCLEAR) if asked else story.bdd()
    return {"write": {story.bdd_file: text}, "exit": says("pass", "One scenario.", clarifications=asked, risks=[])}


def _answered(story: Story) -> dict[str, str]:
    """What the scenarios say once a person has answered."""
    return {story.bdd_file: story.bdd(f"{story.text} That is 30 seconds.")} if story == CHECKOUT else {}


def by_hand(lane: Path, story: Story) -> list[str]:
    """A person writes the scenarios; the words that hand them in."""
    write(lane, {story.bdd_file: story.bdd()})
    fields = {"summary": "One scenario.", "clarifications": [], "risks": []}
    given = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in fields.items()]
    return ["--exit", "pass", *(word for pair in given for word in ("--field", pair))]
