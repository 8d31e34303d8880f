"""Honest agents of V3 for a leaf and for trees, so that a story only says what is different."""

from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from tests.cheats.cases import HERE
from tests.end_to_end.cast import Part
from tests.end_to_end.node import Node, planned, proving, skeletons


class Module(Node, frozen=True, kw_only=True):
    """A node of V3: one criterion of its own, and the nodes below it."""

    body: str
    uses: str = ""
    """The imports of the body."""
    criterion: str
    """Its id."""
    text: str
    proof: tuple[str, ...]
    """More expressions that are true of it."""
    children: tuple["Module", ...] = ()

    @property
    def test_file(self) -> str:
        return f"{self.tests}/test_{self.id}.py"

    @property
    def criteria(self) -> list[dict[str, str]]:
        below = [criterion for child in self.children for criterion in child.criteria]
        return [{"id": self.criterion, "text": self.text}, *below]

    @property
    def description(self) -> str:
        return f"The package {self.package}: {self.text}"

    def code(self, body: str = "", uses: str = "") -> str:
        """The module with a body; with its own one, if none is given."""
        return self.source(body or self.body, self.text, uses or self.uses)

    def unfinished(self) -> str:
        # A body that answers wrongly is not tried with other wrong ones, which would be most of a story's time.
        return self.source("return None", self.text)

    def manifest(self, *tests: tuple[str, str]) -> dict[str, str]:
        """The manifest of the contract suite, and of more tests with their criteria."""
        own = {f"test_{self.id}_contract.py::test_{it.name}_contract": f"contract:{it.criterion}" for it in self._meant}
        return self.listing(own | dict(tests))

    @property
    def _meant(self) -> tuple["Module", ...]:
        return (self, *self.children)

    def contract_suite(self) -> str:
        imports = "\n".join(sorted(it.imported for it in self._meant))
        return "\n\n".join([f"{imports}\n", *(proving(f"{it.name}_contract", it.contract) for it in self._meant)])

    def init_work(self, **more: Any) -> dict[str, Any]:
        """The exit of its planner."""
        specs = {"childSpecs": [child.spec for child in self.children]} if self.children else {}
        return self.plan("InitWork", testPlan=[planned(self.criterion, self.name)]) | specs | more

    def scaffolding(self) -> dict[str, str]:
        """What its planner writes; the skeleton of a child is written by the parent."""
        own = self.skeleton() if self.at == "root" else {}
        return own | skeletons(self.children) | {self.contract_file: self.contract_suite()} | self.manifest()

    def testing(self, *proof: str) -> dict[str, str]:
        """What its test author writes."""
        listed = self.manifest((f"test_{self.id}.py::test_{self.name}", self.criterion))
        return {self.test_file: self.suite(self.name, *(proof or self.proof))} | listed

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

COST: Final = Module(
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
TAX: Final = Module(
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
PRICE: Final = Module(
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
TREE: Final = Module(
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


def tree(node: Module = TREE) -> dict[str, Any]:
    """A world with a tree, for `World(…, **tree())`."""
    return {"files": {}, "spec": node.spec, "honest": node.parts()}
