"""Honest agents of the fractal: leaves that are built one test at a time, and trees that are glued together."""

from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Part
from tests.end_to_end.node import Node, planned, skeletons


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A criterion, the one test for it, and the body that makes this test and those before it pass."""

    criterion: str
    text: str
    name: str
    """Of the test."""
    proof: tuple[str, ...]
    body: str


class Leaf(Node, frozen=True, kw_only=True):
    """A node without children, which is built one test at a time."""

    examples: tuple[Example, ...]

    @property
    def criteria(self) -> list[dict[str, str]]:
        return [{"id": it.criterion, "text": it.text} for it in self.examples]

    def code(self, body: str) -> str:
        """The module with a body."""
        return self.source(body, self.examples[0].text)

    def unfinished(self) -> str:
        return self.code(UNFINISHED)

    def test_file(self, number: int) -> str:
        return f"{self.tests}/test_{self.examples[number].name}.py"

    def test(self, number: int) -> str:
        return self.suite(self.examples[number].name, *self.examples[number].proof)

    def manifest(self, upto: int, **more: str) -> dict[str, str]:
        """The manifest with the first few tests, and with others."""
        listed = {f"test_{self.id}_contract.py::test_contract": f"contract:{self.examples[0].criterion}"}
        listed |= {f"test_{it.name}.py::test_{it.name}": f"{it.criterion}: {it.text}" for it in self.examples[:upto]}
        return self.listing(listed | more, target_file=self.module, test_suite=self.tests, complexity_constraints={})

    def contract_suite(self) -> str:
        return self.suite("contract", self.contract)

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes; the skeleton of a child is written by the parent."""
        own = self.skeleton() if self.at == "root" else {}
        return own | {self.contract_file: self.contract_suite()} | self.manifest(0)

    def challenge(self, number: int) -> dict[str, str]:
        """What its test author writes the nth time."""
        return {self.test_file(number): self.test(number)} | self.manifest(number + 1)

    def init_leaf(self, **more: Any) -> dict[str, Any]:
        return self.plan("InitLeaf", testPlan=[planned(it.criterion, it.name) for it in self.examples]) | more

    def parts(self) -> list[Part]:
        """The honest agents, as often as they are needed when nothing goes wrong."""
        at = self.at
        own = [Part.of("planner", at, write=self.scaffolding(), exit=self.init_leaf())]
        for number, one in enumerate(self.examples):
            exit_ = {"type": "EmitChallenge", "intent": one.text}
            own.append(Part.of("test_author", at, write=self.challenge(number), exit=exit_))
            own.append(Part.of("implementer", at, write={self.module: self.code(one.body)}, exit=PASSED))
        return [
            *own,
            Part.of("test_author", at, exit=CONCLUDED),
            Part.of("reviewer", at, exit=APPROVED),
            Part.of("critique", at, exit={"type": "Noted", "reason": "It is as the spec says."}),
        ]


class Tree(Node, frozen=True, kw_only=True):
    """A node with children, and a function of its own that ties theirs together."""

    uses: str
    """The imports of the body."""
    body: str
    children: tuple["Leaf | Tree", ...]

    @property
    def criteria(self) -> list[dict[str, str]]:
        return [criterion for child in self.children for criterion in child.criteria]

    @property
    def description(self) -> str:
        return f"The function {self.name} in the package {self.package}, out of its parts."

    def code(self, body: str = "") -> str:
        """The module with a body; with its own one, if none is given."""
        return self.source(body or self.body, "The parts as one.", self.uses)

    def unfinished(self) -> str:
        return self.source(UNFINISHED, "The parts as one.")

    def contract_suite(self) -> str:
        return self.suite(self.id, self.contract)

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes: the skeletons of all children are part of it."""
        own = self.skeleton() if self.at == "root" else {}
        listed = {f"test_{self.id}_contract.py::test_{self.id}": f"contract:{self.criteria[0]['id']}"}
        suite = {self.contract_file: self.contract_suite()}
        return own | skeletons(self.children) | suite | self.listing(listed)

    def spawn_tree(self, **more: Any) -> dict[str, Any]:
        return self.plan("SpawnTree", interfaces=[], childSpecs=[child.spec for child in self.children]) | more

    def parts(self) -> list[Part]:
        """The honest agents of the node and of all below it."""
        own = [
            Part.of("planner", self.at, write=self.scaffolding(), exit=self.spawn_tree()),
            Part.of("glue", self.at, write={self.module: self.code()}, exit={"type": "GlueComplete"}),
            Part.of("reviewer", self.at, exit=APPROVED),
        ]
        return own + [part for child in self.children for part in child.parts()]


UNFINISHED: Final = "raise NotImplementedError"
PASSED: Final = {"type": "TestPassed"}
CONCLUDED: Final = {"type": "ConcludeSuite", "summary": "A test for each criterion."}
APPROVED: Final = {"type": "Approve", "signOff": "The criteria are met."}

MANY: Final = Example(
    criterion="AC-1",
    text="Several things are named by their number and their plural.",
    name="many",
    proof=("label(3, 'pen') == '3 pens'", "label(2, 'cup') == '2 cups'"),
    body='return f"{count} {noun}s"',
)
ONE: Final = Example(
    criterion="AC-2",
    text="One thing is named without the plural.",
    name="one",
    proof=("label(1, 'pen') == '1 pen'", "label(1, 'cup') == '1 cup'"),
    body='return f"{count} {noun}" + ("s" if count != 1 else "")',
)
NONE: Final = Example(
    criterion="AC-3",
    text="Nothing at all is told by a word, not by a number.",
    name="none",
    proof=("label(0, 'pen') == 'no pens'", "label(0, 'cup') == 'no cups'"),
    body='return f"{count or \'no\'} {noun}" + ("s" if count != 1 else "")',
)
MONEY: Final = Example(
    criterion="AC-4",
    text="An amount of cents is written in whole units and two digits.",
    name="amounts",
    proof=("money(120) == '1.20'", "money(2405) == '24.05'"),
    body='return f"{cents // 100}.{cents % 100:02}"',
)

_LABEL: Final = "label(count: int, noun: str) -> str"
LABELS: Final = Leaf(
    id="labels",
    package="shop.labels",
    function=_LABEL,
    contract="label(5, 'hat') == '5 hats'",
    examples=(MANY, ONE, NONE),
)
"""Three criteria."""
LABEL: Final = Leaf(
    id="labels", package="shop.labels", function=_LABEL, contract="label(5, 'hat') == '5 hats'", examples=(MANY,)
)
"""One criterion."""
OFFER: Final = Tree(
    id="shop",
    package="shop",
    function="offer(count: int, noun: str, cents: int) -> str",
    uses="from shop.labels import label\nfrom shop.money import money",
    body='return f"{label(count, noun)} for {money(cents)}"',
    contract="offer(3, 'pen', 360) == '3 pens for 3.60'",
    children=(
        msgspec.structs.replace(LABEL, at="root/labels"),
        Leaf(
            id="money",
            at="root/money",
            package="shop.money",
            function="money(cents: int) -> str",
            contract="money(305) == '3.05'",
            examples=(MONEY,),
        ),
    ),
)
"""Two leaves."""


def world_of(node: Leaf | Tree) -> dict[str, Any]:
    """A world with one node, for `World(folder, **world_of(LABELS))`."""
    return {"protocol": "fractal", "files": {}, "spec": node.spec, "honest": node.parts()}
