"""Honest agents for a leaf and for trees, so that a story only says what is different."""

from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from tests.cheats.cases import HERE
from tests.end_to_end.cast import Part


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a tree: one function in a package of its own, one criterion, and the nodes below it."""

    id: str
    at: str
    """The instance."""
    package: str
    function: str
    """Name and signature."""
    body: str
    uses: str = ""
    """The imports of the body."""
    criterion: str
    """Its id."""
    text: str
    contract: str
    """An expression that is true of it."""
    proof: tuple[str, ...]
    """More of them."""
    children: tuple["Node", ...] = ()

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
    def module(self) -> str:
        """The file that the implementer fills."""
        return f"{self.target}/the_{self.name}.py"

    @property
    def test_file(self) -> str:
        return f"{self.tests}/test_{self.id}.py"

    @property
    def contract_file(self) -> str:
        return f"{self.tests}/test_{self.id}_contract.py"

    @property
    def criteria(self) -> list[dict[str, str]]:
        """Its own, and all below it."""
        below = [criterion for child in self.children for criterion in child.criteria]
        return [{"id": self.criterion, "text": self.text}, *below]

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "description": f"The package {self.package}: {self.text}",
            "acceptanceCriteria": self.criteria,
            "targetPath": self.target,
            "testPath": self.tests,
        }

    def code(self, body: str = "", uses: str = "") -> str:
        """The module with a body; with its own one, if none is given."""
        top = f"{uses or self.uses}\n\n\n" if uses or self.uses else ""
        return f'{top}def {self.function}:\n    """{self.text}"""\n    {body or self.body}\n'

    def skeleton(self) -> dict[str, str]:
        imports = f'from {self.package}.the_{self.name} import {self.name}\n\n__all__ = ["{self.name}"]\n'
        # A body that answers wrongly is not tried with other wrong ones, which would be most of a story's time.
        wrong = f'def {self.function}:\n    """{self.text}"""\n    return None\n'
        return {f"{self.target}/__init__.py": imports, self.module: wrong}

    def manifest(self, *tests: tuple[str, str]) -> dict[str, str]:
        """The manifest of the contract suite, and of more tests with their criteria."""
        own = {f"test_{self.id}_contract.py::test_{it.name}_contract": f"contract:{it.criterion}" for it in self._meant}
        listed = {"spec_id": self.id, "acceptance_criteria_map": own | dict(tests)}
        return {f"{self.tests}/test_manifest.json": msgspec.json.encode(listed).decode()}

    @property
    def _meant(self) -> tuple["Node", ...]:
        return (self, *self.children)

    def contract_suite(self) -> str:
        imports = "\n".join(sorted(f"from {it.package} import {it.name}" for it in self._meant))
        tests = [f"\n\ndef test_{it.name}_contract():\n    assert {it.contract}\n" for it in self._meant]
        return f"{imports}\n{''.join(tests)}"

    def test_suite(self, *proof: str) -> str:
        lines = "\n".join(f"    assert {one}" for one in proof or self.proof)
        return f"from {self.package} import {self.name}\n\n\ndef test_{self.name}():\n{lines}\n"

    def init_work(self, **more: Any) -> dict[str, Any]:
        """The exit of its planner."""
        own = {"criterionId": self.criterion, "plannedTestName": f"test_{self.name}", "approach": "a few values"}
        work = {
            "type": "InitWork",
            "interfaceFile": f"{self.target}/__init__.py",
            "contractSuite": self.contract_file,
            "testPlan": [own],
        }
        specs = {"childSpecs": [child.spec for child in self.children]} if self.children else {}
        return work | specs | more

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes; the skeleton of a child is written by the parent."""
        own = self.skeleton() if self.at == "root" else {}
        below = {path: text for child in self.children for path, text in child.skeleton().items()}
        return own | below | {self.contract_file: self.contract_suite()} | self.manifest()

    def testing(self, *proof: str) -> dict[str, str]:
        """What its test author writes."""
        listed = self.manifest((f"test_{self.id}.py::test_{self.name}", self.criterion))
        return {self.test_file: self.test_suite(*proof)} | listed

    def parts(self) -> list[Part]:
        """The honest agents of the node and of all below it."""
        accepted = {
            "type": "ChildAccepted",
            "child": "{inputs[signals][0][author]}",
            "reason": "Its criteria are met.",
            "provides": [f"{child.package}.{child.name}" for child in self.children],
        }
        own = [
            Part.of("scaffold", self.at, write=self.scaffolding(), exit=self.init_work()),
            Part.of("tests", self.at, write=self.testing(), exit={"type": "TestsReady"}),
            Part.of("impl", self.at, write={self.module: self.code()}, exit={"type": "TestsPassed"}),
            Part.of("review", self.at, exit=APPROVED),
            *([Part.of("judge", self.at, exit=accepted)] if self.children else []),
        ]
        return own + [part for child in self.children for part in child.parts()]


APPROVED: Final = {"type": "Approved", "signOff": "The criteria are met."}

COST: Final = Node(
    id="orders",
    at="root/orders",
    package="shop.orders",
    function="cost(cents: int, pieces: int) -> int",
    body="return cents * pieces * (9 if pieces >= 10 else 10) // 10",
    criterion="AC-3",
    text="Pieces cost their number times the price of one; from ten on, a tenth less.",
    contract="cost(120, 2) == 240",
    proof=("cost(100, 9) == 900", "cost(100, 10) == 900", "cost(100, 0) == 0"),
)
TAX: Final = Node(
    id="taxes",
    at="root/prices/taxes",
    package="shop.prices.taxes",
    function="taxed(cents: int) -> int",
    body="return cents * 6 // 5",
    criterion="AC-2",
    text="The tax is a fifth.",
    contract="taxed(100) == 120",
    proof=("taxed(0) == 0", "taxed(1000) == 1200"),
)
PRICE: Final = Node(
    id="prices",
    at="root/prices",
    package="shop.prices",
    function="price(name: str) -> int",
    body="return {'pen': 120, 'lamp': 2400}[name]",
    criterion="AC-1",
    text="A pen costs 120, a lamp 2400.",
    contract="price('pen') == 120",
    proof=("price('lamp') == 2400", "price('pen') == 120"),
)
TAXED_PRICE: Final = msgspec.structs.replace(
    PRICE,
    uses="from shop.prices.taxes import taxed",
    body="return taxed({'pen': 100, 'lamp': 2000}[name])",
    text="A pen costs 100 and a lamp 2000, and the tax comes on top.",
    children=(TAX,),
)
TREE: Final = Node(
    id="shop",
    at="root",
    package="shop",
    function="bill(name: str, pieces: int) -> str",
    uses="from shop.orders import cost\nfrom shop.prices import price",
    body='return f"{name}: {cost(price(name), pieces)}"',
    criterion="AC-4",
    text="A bill names the thing and what the pieces cost.",
    contract="bill('pen', 2) == 'pen: 240'",
    proof=("bill('lamp', 1) == 'lamp: 2400'", "bill('pen', 0) == 'pen: 0'"),
    children=(PRICE, COST),
)
"""A root with two children that need nothing of each other."""
DEEP: Final = msgspec.structs.replace(TREE, children=(TAXED_PRICE, COST))
"""Three levels: the prices have a child of their own."""


def played(world: str) -> dict[str, Any]:
    """A world of the cheat suite with its honest agents, for `World(…, **played("leaf"))`.

    In `leaf` there is one node. In `siblings`, two children work at once, and the merge of `prices` breaks what
    `orders` has built on it.
    """
    folder, yaml = HERE / "worlds" / world, YAML(typ="safe")
    files = yaml.load(folder / "files.yaml")
    rules = yaml.load(folder / "agents.yaml")["agents"]
    parts = [Part.of(rule["step"], rule.get("instance", "*"), **turn) for rule in rules for turn in rule["turns"]]
    return {"files": files, "spec": files["spec.yaml"], "honest": parts}


def tree(node: Node = TREE) -> dict[str, Any]:
    """A world with a tree, for `World(…, **tree())`."""
    return {"files": {}, "spec": node.spec, "honest": node.parts()}
