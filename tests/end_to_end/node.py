"""What a node of V3 and of the fractal has in common in stories: one function in a package of its own."""

from typing import Any, Final

import msgspec

MANIFEST: Final = "test_manifest.json"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node works, and how its files read."""

    id: str
    at: str = "root"
    """The instance."""
    package: str
    function: str
    """Name and signature."""
    contract: str
    """An expression that is true of it."""

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
    def imported(self) -> str:
        return f"from {self.package} import {self.name}"

    @property
    def criteria(self) -> list[dict[str, str]]:
        """Its own, and all below it."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        return f"The function {self.name} in the package {self.package}."

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "description": self.description,
            "acceptanceCriteria": self.criteria,
            "targetPath": self.target,
            "testPath": self.tests,
        }

    def source(self, body: str, text: str, uses: str = "") -> str:
        """The module with a body, and with the imports that this needs."""
        top = f"{uses}\n\n\n" if uses else ""
        return f'{top}def {self.function}:\n    """{text}"""\n    {body}\n'

    def skeleton(self) -> dict[str, str]:
        """The interface, and the module as it is before anybody has implemented it."""
        exported = f'from {self.package}.the_{self.name} import {self.name}\n\n__all__ = ["{self.name}"]\n'
        return {self.interface: exported, self.module: self.unfinished()}

    def unfinished(self) -> str:
        """The module before anybody has implemented it."""
        raise NotImplementedError

    def suite(self, name: str, *proof: str) -> str:
        """A test file with one test."""
        return f"{self.imported}\n\n\n{proving(name, *proof)}"

    def listing(self, tests: dict[str, str], **more: Any) -> dict[str, str]:
        """A manifest that says which test stands for what."""
        value = {"spec_id": self.id, "acceptance_criteria_map": tests, **more}
        return {f"{self.tests}/{MANIFEST}": msgspec.json.encode(value).decode()}

    def plan(self, type_: str, **more: Any) -> dict[str, Any]:
        """An exit of its planner."""
        return {"type": type_, "interfaceFile": self.interface, "contractSuite": self.contract_file, **more}


def proving(name: str, *proof: str) -> str:
    """A test by its name and the expressions that it holds to be true."""
    lines = "\n".join(f"    assert {one}" for one in proof)
    return f"def test_{name}():\n{lines}\n"


def planned(criterion: str, name: str) -> dict[str, str]:
    """A test of a plan."""
    return {"criterionId": criterion, "plannedTestName": f"test_{name}", "approach": "a few values"}


def skeletons(nodes: "tuple[Node, ...]") -> dict[str, str]:
    return {path: text for node in nodes for path, text in node.skeleton().items()}
