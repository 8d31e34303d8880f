"""A tree of numbers to be grown by agents: what each node is given, and what its planner, testers and coders write.

A leaf's `value()` is a number; that of every other node is the sum of its children's. Nothing but the standard library
is used, so that a program that starts often can read it.
"""

import json
from typing import Any, NamedTuple

Shape = tuple[int, ...]
"""How many children a node has, level by level."""
Files = dict[str, str]


class Node(NamedTuple):
    """A place in the tree: the way to it from the root."""

    way: tuple[int, ...]
    shape: Shape

    @property
    def id(self) -> str:
        return "-".join(("n", *map(str, self.way)))

    @property
    def name(self) -> str:
        return self.id.replace("-", "_")

    @property
    def children(self) -> list["Node"]:
        count = self.shape[len(self.way)] if len(self.way) < len(self.shape) else 0
        return [Node((*self.way, n), self.shape) for n in range(count)]

    @property
    def value(self) -> int:
        return sum(one.value for one in self.children) or 1 + self.way[-1]

    @property
    def package(self) -> str:
        return ".".join(("tree", *(f"c{n}" for n in self.way)))

    @property
    def source(self) -> str:
        return f"src/{self.package.replace('.', '/')}"

    @property
    def tests(self) -> str:
        return f"tests/{self.package.replace('.', '/')}"

    @property
    def contract(self) -> str:
        return f"{self.tests}/test_contract_{self.name}.py"


def node_of(id_: str, shape: Shape) -> Node:
    return Node(tuple(int(part) for part in id_.split("-")[1:]), shape)


def spec(node: Node, *, parts: bool = False) -> dict[str, Any]:
    """What a node is given: its own criterion, or (`parts`) those of the leaves below it, which children answer for."""
    return {
        "id": node.id,
        "description": f"The value of {node.id}.",
        "acceptanceCriteria": [_criterion(one) for one in (_leaves(node) if parts else [node])],
        "targetPath": node.source,
        "testPath": node.tests,
    }


def plan(node: Node, *, parts: bool = False) -> dict[str, Any]:
    """The fields of a plan that every protocol of trees asks for."""
    planned = {"criterionId": f"AC-{node.id}", "plannedTestName": f"test_{node.name}", "approach": "asks for its value"}
    below = {"childSpecs": [spec(one, parts=parts) for one in node.children]} if node.children else {}
    tests = {} if parts and node.children else {"testPlan": [planned]}
    return {"interfaceFile": f"{node.source}/api.py", "contractSuite": node.contract} | tests | below


def scaffold(node: Node, *, parts: bool = False) -> Files:
    """The interface, code that is to be written, and the contract suite."""
    family = (node, *node.children)
    imports = "\n".join(f"from {one.package}.core import value as {one.name}" for one in family)
    tests = [f"def test_contract_{one.name}():\n    assert {one.name}() == {one.value}\n" for one in family]
    stub = 'def value() -> int:\n    """The value of {}."""\n    raise NotImplementedError\n'
    return {f"{one.source}/core.py": stub.format(one.id) for one in family} | {
        f"{node.source}/api.py": f'"""What {node.id} offers: `value() -> int` in core.py."""\n',
        node.contract: "\n\n".join([f"{imports}\n", *tests]),
        f"{node.tests}/test_manifest.json": _manifest(node, {}, parts=parts),
    }


def tests(node: Node) -> Files:
    """The one test of a node."""
    test = f"from {node.package}.core import value\n\n\ndef test_{node.name}():\n    assert value() == {node.value}\n"
    manifest = _manifest(node, {f"test_{node.name}": f"AC-{node.id}"})
    return {f"{node.tests}/test_{node.name}.py": test, f"{node.tests}/test_manifest.json": manifest}


def code(node: Node) -> Files:
    """What makes its test pass, once the children are there."""
    imports = "".join(f"from {one.package}.core import value as {one.name}\n" for one in node.children)
    value = " + ".join(f"{one.name}()" for one in node.children) or str(node.value)
    head = f"{imports}\n\n" if imports else ""
    text = f'{head}def value() -> int:\n    """The value of {node.id}."""\n    return {value}\n'
    return {f"{node.source}/core.py": text}


def _leaves(node: Node) -> list[Node]:
    return [leaf for one in node.children for leaf in _leaves(one)] or [node]


def _criterion(node: Node) -> dict[str, str]:
    return {"id": f"AC-{node.id}", "text": f"The value of {node.id} is {node.value}."}


def _manifest(node: Node, listed: dict[str, str], *, parts: bool = False) -> str:
    named = {one: _leaves(one)[0] if parts else one for one in (node, *node.children)}
    contract = {
        f"{node.contract}::test_contract_{one.name}": f"contract:AC-{criterion.id}" for one, criterion in named.items()
    }
    return json.dumps({"spec_id": node.id, "acceptance_criteria_map": contract | listed}, indent=1)
