"""Honest agents of the fractal: leaves that are built one test at a time, and trees that are glued together."""

from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Part

MANIFEST: Final = "test_manifest.json"


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A criterion, the one test for it, and the body that makes this test and those before it pass."""

    criterion: str
    text: str
    name: str
    """Of the test."""
    proof: tuple[str, ...]
    body: str


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A node without children: one function in a package of its own."""

    id: str
    package: str
    function: str
    """Name and signature."""
    contract: str
    """An expression that is true of it."""
    examples: tuple[Example, ...]
    at: str = "root"

    @property
    def name(self) -> str:
        return self.function.partition("(")[0]

    @property
    def target(self) -> str:
        return f"src/{self.package.replace('.', '/')}"

    @property
    def tests(self) -> str:
        return f"tests/{self.package.replace('.', '/')}"

    @property
    def interface(self) -> str:
        return f"{self.target}/__init__.py"

    @property
    def module(self) -> str:
        """The file that the implementer fills."""
        return f"{self.target}/the_{self.name}.py"

    @property
    def contract_file(self) -> str:
        return f"{self.tests}/test_{self.id}_contract.py"

    @property
    def criteria(self) -> list[dict[str, str]]:
        return [{"id": it.criterion, "text": it.text} for it in self.examples]

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "description": f"The function {self.name} in the package {self.package}.",
            "acceptanceCriteria": self.criteria,
            "targetPath": self.target,
            "testPath": self.tests,
        }

    def code(self, body: str) -> str:
        """The module with a body."""
        return f'def {self.function}:\n    """{self.examples[0].text}"""\n    {body}\n'

    def skeleton(self) -> dict[str, str]:
        exported = f'from {self.package}.the_{self.name} import {self.name}\n\n__all__ = ["{self.name}"]\n'
        return {self.interface: exported, self.module: self.code("raise NotImplementedError")}

    def test_file(self, number: int) -> str:
        return f"{self.tests}/test_{self.examples[number].name}.py"

    def test(self, number: int) -> str:
        one = self.examples[number]
        lines = "\n".join(f"    assert {proof}" for proof in one.proof)
        return f"from {self.package} import {self.name}\n\n\ndef test_{one.name}():\n{lines}\n"

    def manifest(self, upto: int, **more: str) -> dict[str, str]:
        """The manifest with the first few tests, and with others."""
        listed = {f"test_{self.id}_contract.py::test_contract": f"contract:{self.examples[0].criterion}"}
        listed |= {f"test_{it.name}.py::test_{it.name}": f"{it.criterion}: {it.text}" for it in self.examples[:upto]}
        value = {
            "spec_id": self.id,
            "target_file": self.module,
            "test_suite": self.tests,
            "acceptance_criteria_map": listed | more,
            "complexity_constraints": {},
        }
        return {f"{self.tests}/{MANIFEST}": msgspec.json.encode(value).decode()}

    def contract_suite(self) -> str:
        return f"from {self.package} import {self.name}\n\n\ndef test_contract():\n    assert {self.contract}\n"

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes; the skeleton of a child is written by the parent."""
        own = self.skeleton() if self.at == "root" else {}
        return own | {self.contract_file: self.contract_suite()} | self.manifest(0)

    def challenge(self, number: int) -> dict[str, str]:
        """What its test author writes the nth time."""
        return {self.test_file(number): self.test(number)} | self.manifest(number + 1)

    def init_leaf(self, **more: Any) -> dict[str, Any]:
        plan = [
            {"criterionId": it.criterion, "plannedTestName": f"test_{it.name}", "approach": "a few values"}
            for it in self.examples
        ]
        named = {"interfaceFile": self.interface, "contractSuite": self.contract_file}
        return {"type": "InitLeaf", **named, "testPlan": plan, **more}

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


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A node with children, and a function of its own that ties theirs together."""

    id: str
    package: str
    function: str
    uses: str
    """The imports of the body."""
    body: str
    contract: str
    children: tuple["Leaf | Tree", ...]
    at: str = "root"

    @property
    def name(self) -> str:
        return self.function.partition("(")[0]

    @property
    def target(self) -> str:
        return f"src/{self.package.replace('.', '/')}"

    @property
    def tests(self) -> str:
        return f"tests/{self.package.replace('.', '/')}"

    @property
    def interface(self) -> str:
        return f"{self.target}/__init__.py"

    @property
    def module(self) -> str:
        return f"{self.target}/the_{self.name}.py"

    @property
    def contract_file(self) -> str:
        return f"{self.tests}/test_{self.id}_contract.py"

    @property
    def criteria(self) -> list[dict[str, str]]:
        return [criterion for child in self.children for criterion in child.criteria]

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "description": f"The function {self.name} in the package {self.package}, out of its parts.",
            "acceptanceCriteria": self.criteria,
            "targetPath": self.target,
            "testPath": self.tests,
        }

    def code(self, body: str = "") -> str:
        """The module with a body; with its own one, if none is given."""
        uses = "" if body == "raise NotImplementedError" else f"{self.uses}\n\n\n"
        return f'{uses}def {self.function}:\n    """The parts as one."""\n    {body or self.body}\n'

    def skeleton(self) -> dict[str, str]:
        exported = f'from {self.package}.the_{self.name} import {self.name}\n\n__all__ = ["{self.name}"]\n'
        return {self.interface: exported, self.module: self.code("raise NotImplementedError")}

    def contract_suite(self) -> str:
        return f"from {self.package} import {self.name}\n\n\ndef test_{self.id}():\n    assert {self.contract}\n"

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes: the skeletons of all children are part of it."""
        own = self.skeleton() if self.at == "root" else {}
        below = {path: text for child in self.children for path, text in child.skeleton().items()}
        listed = {f"test_{self.id}_contract.py::test_{self.id}": f"contract:{self.criteria[0]['id']}"}
        manifest = msgspec.json.encode({"spec_id": self.id, "acceptance_criteria_map": listed}).decode()
        return own | below | {self.contract_file: self.contract_suite(), f"{self.tests}/{MANIFEST}": manifest}

    def spawn_tree(self, **more: Any) -> dict[str, Any]:
        named = {"interfaceFile": self.interface, "contractSuite": self.contract_file, "interfaces": []}
        return {"type": "SpawnTree", **named, "childSpecs": [child.spec for child in self.children], **more}

    def parts(self) -> list[Part]:
        """The honest agents of the node and of all below it."""
        own = [
            Part.of("planner", self.at, write=self.scaffolding(), exit=self.spawn_tree()),
            Part.of("glue", self.at, write={self.module: self.code()}, exit={"type": "GlueComplete"}),
            Part.of("reviewer", self.at, exit=APPROVED),
        ]
        return own + [part for child in self.children for part in child.parts()]


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
