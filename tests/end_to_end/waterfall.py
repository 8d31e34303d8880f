"""Honest agents of the waterfall: stories of a small shop, each specified, tested, built, verified and remembered."""

import json
from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Part

STORY: Final = [
    "bdd pass_bdd",
    "sdd-delta pass",
    "contract pass",
    "review approve",
    "scaffold pass_red",
    "impl pass_green",
    "verify pass_verified",
    "archive Archived",
    "update-memory pass",
    "merge MergeComplete",
]
"""How a story goes when nothing goes wrong."""
MEMORY: Final = "PROJECT_MEMORY.md"
SDD: Final = "docs/sdd.md"
OPENAPI: Final = "docs/api/openapi.yaml"
NFR: Final = "docs/nfr.md"
_MEMORY: Final = (
    "<!-- commit:0 | branch:main | dirty:false -->\n# Memory\n## NOW\nThe shop opens.\n\n## NEXT\nEverything.\n\n"
    "## DONE\nNothing.\n\n## TESTS\nNone.\n\n## LOG\nSet up.\n"
)
_SDD: Final = "# Design\nFunctions, and no state.\n"
_OPENAPI: Final = (
    "openapi: 3.0.0\ninfo: {title: shop, version: '1'}\npaths:\n  /health:\n    get:\n      responses:\n"
    "        '200': {description: it lives}\n"
)
_NFR: Final = (
    "# Thresholds\n| ID | Description | Metric | Threshold | Scope | Tool | Priority |\n|---|---|---|---|---|---|---|\n"
)
_DRAFT: Final = "\nThis is draft {visit}.\n"
"""Whoever is sent back writes something else."""
FILES: Final = {
    "PROJECT_CONTEXT.md": "# Shop\nNames things and says what they cost, for people behind a counter.\n",
    MEMORY: _MEMORY,
    SDD: _SDD,
    "docs/constitution.md": "# Constitution\n1. Functions SHALL be pure.\n",
    OPENAPI: _OPENAPI,
    NFR: _NFR,
    "src/shop/__init__.py": "",
}
"""A project that has its documents."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A story that is about one function in a module of its own."""

    id: str
    module: str
    function: str
    """Name and signature."""
    body: str
    text: str
    """Its criterion, AC-1."""
    proof: tuple[str, ...]
    uses: str = ""
    size: str = "S"
    tasks: tuple[str, ...] = ("The function",)
    blocked_by: tuple[str, ...] = ()
    on: tuple["Story", ...] = ()
    """The stories that are merged when this one begins."""

    @property
    def at(self) -> str:
        return f"root/{self.id}"

    @property
    def name(self) -> str:
        return self.function.partition("(")[0]

    @property
    def file(self) -> str:
        return f"src/shop/{self.module}.py"

    @property
    def test_file(self) -> str:
        return f"tests/test_{self.module}.py"

    @property
    def manifest_file(self) -> str:
        return f"tests/{self.id}/test_manifest.json"

    @property
    def bdd_file(self) -> str:
        return f"docs/bdd/{self.id}.md"

    @property
    def delta_file(self) -> str:
        return f"docs/deltas/{self.id}.md"

    @property
    def scenario(self) -> str:
        return f"The function {self.name}"

    @property
    def given(self) -> dict[str, Any]:
        """The story as it stands in a backlog."""
        return {
            "id": self.id,
            "title": f"About {self.module}",
            "description": f"As a clerk I want {self.name}, so that nobody has to reckon.",
            "acceptance_criteria": [{"id": "AC-1", "text": self.text}],
            "non_goals": ["Other currencies."],
            **({"blocked_by": list(self.blocked_by)} if self.blocked_by else {}),
        }

    def bdd(self, then: str = "", tags: str = "", more: str = "") -> str:
        """The scenarios."""
        tasks = "\n".join(f"- [ ] {task}" for task in self.tasks)
        return (
            f"# {self.id}: About {self.module} [{self.size}]\n\nFeature: {self.module}\n\n"
            f"@unit @AC-1{tags}\nScenario: {self.scenario}\n  Given a clerk\n  When {self.name} is asked\n"
            f"  Then it MUST answer: {then or self.text}\n{more}\n## Tasks\n{tasks}\n\n"
            "## Non-Goals\n- Other currencies.\n"
        )

    def delta(self) -> str:
        return (
            f"# Delta of {self.id}\n## ADDED\n- {self.module}: `{self.function}`, offered at `/{self.module}`\n\n"
            "## MODIFIED\nNone\n\n## REMOVED\nNone\n"
        )

    @property
    def path(self) -> str:
        return f"  /{self.module}:\n    get:\n      responses:\n        '200': {{description: {self.name}}}\n"

    @property
    def section(self) -> str:
        return f"\n## {self.module}\n`{self.function}`, offered at `/{self.module}`: {self.text}\n"

    @property
    def entry(self) -> str:
        return f"{self.id} is done: {self.name}.\n"

    def openapi(self) -> str:
        return "".join([_OPENAPI, *(one.path for one in (*self.on, self))])

    def sdd(self) -> str:
        return "".join([_SDD, *(one.section for one in (*self.on, self))])

    def memory(self) -> str:
        return "".join([_MEMORY, *(one.entry for one in (*self.on, self))])

    def documents(self) -> dict[str, str]:
        """The documents that it shares with others."""
        return {OPENAPI: self.openapi(), SDD: self.sdd(), MEMORY: self.memory()}

    def code(self, body: str = "") -> str:
        return f'{self.uses}def {self.function}:\n    """{self.text}"""\n    {body or self.body}\n'

    def tests(self, *proof: str, more: str = "") -> str:
        """The tests; that there is nothing to import yet is a failure of each."""
        lines = "\n".join(f"    assert {one}" for one in proof or self.proof)
        missing = f'        pytest.fail("{self.name} is missing")\n'
        return (
            f"# {self.bdd_file}: @unit @AC-1\nimport pytest\n\n"
            f"try:\n    from shop.{self.module} import {self.name}\nexcept ImportError:\n\n"
            f"    def {self.name}(*_):\n{missing}\n\ndef test_{self.name}():\n{lines}\n{more}"
        )

    def manifest(self, **more: str) -> str:
        listed = {f"test_{self.name}": "AC-1", **more}
        return json.dumps({"spec_id": self.id, "acceptance_criteria_map": listed}, indent=1) + "\n"

    def scaffold(self) -> dict[str, str]:
        """What the author of its tests writes."""
        return {self.test_file: self.tests(), self.manifest_file: self.manifest()}

    def parts(self) -> list[Part]:
        """The honest executors of all steps, also when the story is started again."""
        at = f"{self.at}*"
        return [
            Part.of("bdd", at, write={self.bdd_file: self.bdd() + _DRAFT}, exit=SPECIFIED),
            Part.of(
                "sdd-delta", at, write={self.delta_file: self.delta() + _DRAFT}, exit=says("pass", "One function more.")
            ),
            Part.of("contract", at, write={OPENAPI: self.openapi()}, exit=says("pass", "One path more.")),
            Part.of("scaffold", at, write=self.scaffold(), exit=says("pass", f"{self.name} is tested.")),
            Part.of("impl", at, write={self.file: self.code()}, exit=says("pass", f"{self.name} is there.")),
            Part.of("verify", at, write={SDD: self.sdd()}, exit=VERIFIED),
            Part.of("update-memory", at, write={MEMORY: self.memory()}, exit=says("pass", "Remembered.")),
        ]


def says(exit_: str, summary: str = "As it was asked for.", **fields: Any) -> dict[str, Any]:
    return {"type": exit_, "summary": summary, **fields}


def failing(reason: str = "none", summary: str = "It cannot be done as it stands.") -> dict[str, Any]:
    return says("failing", summary, reason=reason)


SPECIFIED: Final = says("pass", "One scenario.", clarifications=[], risks=["The plural may be irregular."])
VERIFIED: Final = says(
    "pass",
    "Nothing is missing.",
    completeness="The scenario has its test.",
    correctness="No threshold applies.",
    coherence="The design has the function.",
)

LABEL: Final = Story(
    id="US-1",
    module="labels",
    function="label(count: int, noun: str) -> str",
    body='return f"{count} {noun}" + ("s" if count != 1 else "")',
    text="Things are named by their number and, unless it is one, their plural.",
    proof=("label(3, 'pen') == '3 pens'", "label(1, 'cup') == '1 cup'"),
)
PRICE: Final = Story(
    id="US-2",
    module="prices",
    function="price(count: int, cents: int) -> int",
    body="return count * cents",
    text="Things cost their number times the price of one.",
    proof=("price(3, 120) == 360", "price(1, 5) == 5"),
)


def backlog(*stories: Story, **more: Any) -> dict[str, Any]:
    """A world with these stories, for `World(folder, **backlog(LABEL))`."""
    told = stories or (LABEL,)
    return {
        "protocol": "waterfall",
        "files": FILES,
        "spec": {"project": "shop", "stories": [story.given for story in told], **more},
        "honest": [part for story in told for part in story.parts()],
    }
