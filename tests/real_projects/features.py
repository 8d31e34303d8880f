"""Small functions that scripted agents add to real packages, test-first, in three languages.

A feature has an interface file, which belongs to the planner, and an implementation file, which belongs to the
implementer. Its examples are arguments and results, texts and whole numbers only, which every language writes alike.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tools.real_projects.packages import Language, Package

Example = tuple[tuple[str | int, ...], str]
"""Arguments and the result."""


class Criterion(msgspec.Struct, frozen=True):
    """One acceptance criterion, and what its test calls."""

    id: str
    text: str
    examples: tuple[Example, ...]


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """A function to be added to a package."""

    id: str
    """Of the spec."""
    name: str
    """Of the function."""
    parameters: tuple[tuple[str, str], ...]
    """Names and types, as Python calls them."""
    description: str
    criteria: tuple[Criterion, ...]
    contract: Example
    bodies: Mapping[Language, str]
    """The implementation in each language."""

    def in_(self, package: Package) -> "Addition":
        return {"python": PythonAddition, "javascript": JavaScriptAddition, "go": GoAddition}[package.language](
            self, package
        )


class Addition:
    """A feature as it is written into one package."""

    interface: str
    """The file that callers import."""
    module: str
    """The file with the implementation."""
    contract_file: str
    test_file: str

    def __init__(self, feature: Feature, package: Package) -> None:
        self.feature, self.package = feature, package

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "id": self.feature.id,
            "description": self.feature.description,
            "acceptanceCriteria": [{"id": it.id, "text": it.text} for it in self.feature.criteria],
            "targetPath": self.package.target,
            "testPath": self.package.tests,
        }

    @property
    def manifest_file(self) -> str:
        return f"{self.package.tests}/test_manifest.json"

    def interface_text(self) -> str:
        raise NotImplementedError

    def code(self, body: str = "") -> str:
        """The implementation; with its own body, if none is given."""
        raise NotImplementedError

    def skeleton(self) -> str:
        """The implementation before anybody has written it."""
        raise NotImplementedError

    @property
    def called(self) -> str:
        """The function of the implementation file, which plans of dptr and riper name."""
        return self.feature.name

    @property
    def declared(self) -> str:
        """The line that declares it."""
        raise NotImplementedError

    def passing_test(self, name: str) -> tuple[str, str, str]:
        """A test that passes whatever the package does: its file, its text, and its full name."""
        raise NotImplementedError

    def inner_tests(self, *criteria: str) -> str:
        """Tests that call the implementation file, where there is no interface file; they fail where it is missing."""
        raise NotImplementedError

    def test_name(self, criterion: str) -> str:
        """The test of a criterion, as its language names it."""
        raise NotImplementedError

    def suite(self, tests: Mapping[str, Sequence[Example]]) -> str:
        """A test file: name of a test → what it calls."""
        raise NotImplementedError

    def contract_suite(self) -> str:
        return self.suite({self.test_name("contract"): [self.feature.contract]})

    def tests(self, *criteria: str) -> str:
        """The test file of some criteria; of all, if none is named."""
        chosen = [it for it in self.feature.criteria if not criteria or it.id in criteria]
        return self.suite({self.test_name(it.id): it.examples for it in chosen})

    def scaffold(self) -> dict[str, str]:
        """Interface, skeleton and contract suite."""
        return {
            self.interface: self.interface_text(),
            self.module: self.skeleton(),
            self.contract_file: self.contract_suite(),
        }

    def stubs(self) -> dict[str, str]:
        """What an author of tests may add to the code in the waterfall: bodies that say that they are not written."""
        return {self.interface: self.interface_text(), self.module: self.skeleton()}

    def stubbed_tests(self, *criteria: str) -> str:
        """Tests that fail for the right reason where only the stubs are there."""
        return self.tests(*criteria)

    def built(self) -> dict[str, str]:
        """The code in place of the stubs."""
        return {self.module: self.code()}

    def listed(self, *criteria: str) -> dict[str, str]:
        """What a manifest says of the contract suite and of the tests of some criteria."""
        contract = {self.full_name(self.contract_file, "contract"): f"contract:{self.feature.criteria[0].id}"}
        return contract | {self.full_name(self.test_file, it): it for it in criteria}

    def manifest(self, *criteria: str, spec_id: str | None = None) -> dict[str, str]:
        """A manifest that has nothing else; without a spec id, if that is empty."""
        id_ = self.feature.id if spec_id is None else spec_id
        value = {**({"spec_id": id_} if id_ else {}), "acceptance_criteria_map": self.listed(*criteria)}
        return {self.manifest_file: json.dumps(value, indent=1) + "\n"}

    def full_name(self, file: str, criterion: str) -> str:
        """A test by its file and its name."""
        return f"{file}::{self.test_name(criterion)}"

    def plan(self) -> list[dict[str, str]]:
        return [
            {"criterionId": it.id, "plannedTestName": self.test_name(it.id), "approach": "a few values"}
            for it in self.feature.criteria
        ]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(it.id for it in self.feature.criteria)


class PythonAddition(Addition):
    """A public module that exports the function of a private one."""

    def __init__(self, feature: Feature, package: Package) -> None:
        super().__init__(feature, package)
        self.interface = f"{package.target}/{feature.name}.py"
        self.module = f"{package.target}/_{feature.name}.py"
        self.contract_file = f"{package.tests}/test_{feature.name}_contract.py"
        self.test_file = f"{package.tests}/test_{feature.name}.py"

    @property
    def imported(self) -> str:
        return self.package.target.removeprefix("src/").replace("/", ".")

    @property
    def signature(self) -> str:
        words = ", ".join(f"{name}: {type_}" for name, type_ in self.feature.parameters)
        return f"{self.feature.name}({words}) -> str"

    @property
    def declared(self) -> str:
        return f"def {self.signature}"

    def inner_tests(self, *criteria: str) -> str:
        name = self.feature.name
        missing = f'    def {name}(*_):\n        pytest.fail("{name} is missing")\n'
        imports = f"try:\n    from {self.imported}._{name} import {name}\nexcept ImportError:\n\n{missing}"
        return self.tests(*criteria).replace(self.imports, f"import pytest\n\n{imports}")

    def passing_test(self, name: str) -> tuple[str, str, str]:
        file = f"{self.package.tests}/test_{name}.py"
        text = f"import {self.imported}\n\n\ndef test_{name}():\n    assert {self.imported}.__name__\n"
        return file, text, f"{file}::test_{name}"

    @property
    def imports(self) -> str:
        return f"from {self.imported}.{self.feature.name} import {self.feature.name}\n"

    def interface_text(self) -> str:
        name = self.feature.name
        return (
            f'"""{self.feature.description}"""\n\nfrom {self.imported}._{name} import {name}\n\n__all__ = ["{name}"]\n'
        )

    def code(self, body: str = "") -> str:
        lines = "\n".join(f"    {line}" for line in (body or self.feature.bodies["python"]).splitlines())
        return f'def {self.signature}:\n    """{self.feature.description}"""\n{lines}\n'

    def skeleton(self) -> str:
        return self.code("raise NotImplementedError")

    def test_name(self, criterion: str) -> str:
        return f"test_{self.feature.name}_{criterion.lower().replace('-', '_')}"

    def suite(self, tests: Mapping[str, Sequence[Example]]) -> str:
        text = self.imports
        for name, examples in tests.items():
            text += f"\n\ndef {name}():\n"
            text += "".join(f"    assert {call(self.feature.name, it)} == {json.dumps(it[1])}\n" for it in examples)
        return text


class JavaScriptAddition(Addition):
    """A CommonJS module that exports the function of another one."""

    def __init__(self, feature: Feature, package: Package) -> None:
        super().__init__(feature, package)
        self.interface = f"{package.target}/{feature.name}.js"
        self.module = f"{package.target}/{feature.name}-of.js"
        self.contract_file = f"{package.tests}/{feature.name}-contract.test.js"
        self.test_file = f"{package.tests}/{feature.name}.test.js"

    @property
    def declared(self) -> str:
        return f"function {self.feature.name} ({', '.join(name for name, _ in self.feature.parameters)})"

    def passing_test(self, name: str) -> tuple[str, str, str]:
        file = f"{self.package.tests}/{name}.test.js"
        text = f"'use strict'\n\nconst {{ test }} = require('node:test')\n\ntest('{name}', () => {{ require('..') }})\n"
        return file, text, f"{file}::{name}"

    def inner_tests(self, *criteria: str) -> str:
        return self.tests(*criteria).replace(f"/{self.feature.name}')", f"/{self.feature.name}-of')")

    def stubs(self) -> dict[str, str]:
        """None: `'use strict'` and `module.exports` count as more than a stub."""
        return {}

    def stubbed_tests(self, *criteria: str) -> str:
        name = self.feature.name
        file = f"../{self.package.target}/{name}"
        required = f"const {{ {name} }} = require('{file}')\n"
        guarded = f"const there = require('node:fs').existsSync(`${{__dirname}}/{file}.js`)\n"
        guarded += f"const {name} = there ? require('{file}').{name} : () => {{}}\n"
        return self.tests(*criteria).replace(required, guarded)

    def built(self) -> dict[str, str]:
        return {self.interface: self.interface_text(), self.module: self.code()}

    def interface_text(self) -> str:
        name = self.feature.name
        return (
            f"'use strict'\n\n// {self.feature.description}\nconst {{ {name} }} = require('./{name}-of')\n\n"
            f"module.exports = {{ {name} }}\n"
        )

    def code(self, body: str = "") -> str:
        lines = "\n".join(f"  {line}" for line in (body or self.feature.bodies["javascript"]).splitlines())
        name = self.feature.name
        return f"'use strict'\n\n{self.declared} {{\n{lines}\n}}\n\nmodule.exports = {{ {name} }}\n"

    def skeleton(self) -> str:
        return self.code("throw new Error('not implemented')")

    def test_name(self, criterion: str) -> str:
        return f"{self.feature.name} {criterion}"

    def suite(self, tests: Mapping[str, Sequence[Example]]) -> str:
        up = "../" * len(self.package.tests.split("/"))
        text = (
            "'use strict'\n\nconst assert = require('node:assert/strict')\nconst { test } = require('node:test')\n"
            f"const {{ {self.feature.name} }} = require('{up}{self.package.target}/{self.feature.name}')\n"
        )
        for name, examples in tests.items():
            lines = [f"  assert.equal({call(self.feature.name, it)}, {json.dumps(it[1])})\n" for it in examples]
            text += f"\ntest({json.dumps(name)}, () => {{\n{''.join(lines)}}})\n"
        return text


class GoAddition(Addition):
    """An exported function in one file that calls another one in a second file; tests are a package of their own.

    A skeleton in Go returns the zero value: one that panics would end the tests of the whole package.
    """

    names_files = False
    """Whether its manifests name tests by their files: `x_test.go::TestX`."""

    def __init__(self, feature: Feature, package: Package) -> None:
        super().__init__(feature, package)
        self.interface = f"{feature.name}.go"
        self.module = f"{feature.name}_of.go"
        self.contract_file = f"{package.tests}/{feature.name}_contract_test.go"
        self.test_file = f"{package.tests}/{feature.name}_test.go"

    @property
    def exported(self) -> str:
        return self.feature.name.capitalize()

    @property
    def package_name(self) -> str:
        return self.package.registered.rpartition("/")[2]

    @property
    def signature(self) -> str:
        return ", ".join(f"{name} {'string' if type_ == 'str' else 'int'}" for name, type_ in self.feature.parameters)

    @property
    def called(self) -> str:
        return f"{self.feature.name}Of"

    def full_name(self, file: str, criterion: str) -> str:
        """A test by its package, as `go test` names it; by its file, if the feature's manifests say so."""
        if self.names_files:
            return f"{file.rpartition('/')[2]}::{self.test_name(criterion)}"
        return f"{self.package.registered}/{self.package.tests}::{self.test_name(criterion)}"

    @property
    def declared(self) -> str:
        return f"func {self.called}({self.signature}) string"

    def passing_test(self, name: str) -> tuple[str, str, str]:
        text = f'package tests\n\nimport "testing"\n\nfunc Test{name.capitalize()}(t *testing.T) {{}}\n'
        folder = f"{self.package.registered}/{self.package.tests}"
        return f"{self.package.tests}/{name}_test.go", text, f"{folder}::Test{name.capitalize()}"

    def inner_tests(self, *criteria: str) -> str:
        """Tests inside of the package, for what they call is not exported."""
        outer = self.tests(*criteria).replace("package tests", f"package {self.package_name}")
        outer = outer.replace(f'\n\n\t"{self.package.registered}"', "")
        return outer.replace(f"{self.package_name}.{self.exported}(", f"{self.called}(")

    def stubs(self) -> dict[str, str]:
        return {self.interface: self._exported(self.code('panic("not implemented")'))}

    def built(self) -> dict[str, str]:
        return {self.interface: self._exported(self.code())}

    def _exported(self, code: str) -> str:
        """The implementation as the exported function itself, for one that only calls another is no stub."""
        return code.replace(
            self.declared,
            f"// {self.exported}: {self.feature.description}\nfunc {self.exported}({self.signature}) string",
        )

    def interface_text(self) -> str:
        words = ", ".join(name for name, _ in self.feature.parameters)
        return (
            f"package {self.package_name}\n\n// {self.exported}: {self.feature.description}\n"
            f"func {self.exported}({self.signature}) string {{\n\treturn {self.feature.name}Of({words})\n}}\n"
        )

    def code(self, body: str = "") -> str:
        written = body or self.feature.bodies["go"]
        needed = [name for name in ("fmt", "strings") if f"{name}." in written]
        imports = "".join(f'import "{name}"\n\n' for name in needed)
        lines = "\n".join(f"\t{line}" if line else "" for line in written.splitlines())
        head = f"package {self.package_name}\n\n{imports}"
        return f"{head}{self.declared} {{\n{lines}\n}}\n"

    def skeleton(self) -> str:
        return self.code('return ""')

    def test_name(self, criterion: str) -> str:
        return f"Test{self.exported}{criterion.replace('-', '').capitalize()}"

    def suite(self, tests: Mapping[str, Sequence[Example]]) -> str:
        text = f'package tests\n\nimport (\n\t"testing"\n\n\t"{self.package.registered}"\n)\n'
        for name, examples in tests.items():
            text += f"\nfunc {name}(t *testing.T) {{\n"
            for it in examples:
                called = call(f"{self.package_name}.{self.exported}", it)
                text += f"\tif got := {called}; got != {json.dumps(it[1])} {{\n"
                text += '\t\tt.Errorf("got %q", got)\n\t}\n'
            text += "}\n"
        return text


def call(name: str, example: Example) -> str:
    return f"{name}({', '.join(map(json.dumps, example[0]))})"


SHARE: Final = Feature(
    id="share",
    name="share",
    parameters=(("part", "int"), ("whole", "int")),
    description="Writes a part of a whole in percent.",
    criteria=(
        Criterion("AC-1", "A quarter is written as 25%.", (((1, 4), "25%"), ((3, 4), "75%"))),
        Criterion("AC-2", "Percent are rounded to whole ones.", (((1, 3), "33%"), ((2, 3), "67%"))),
        Criterion("AC-3", "A part of nothing is written as n/a.", (((1, 0), "n/a"), ((0, 8), "0%"))),
    ),
    contract=((1, 2), "50%"),
    bodies={
        "python": 'if not whole:\n    return "n/a"\nreturn f"{(200 * part + whole) // (2 * whole)}%"',
        "javascript": ("if (!whole) {\n  return 'n/a'\n}\nreturn `${Math.floor((200 * part + whole) / (2 * whole))}%`"),
        "go": 'if whole == 0 {\n\treturn "n/a"\n}\nreturn fmt.Sprintf("%d%%", (200*part+whole)/(2*whole))',
    },
)
INITIALS: Final = Feature(
    id="initials",
    name="initials",
    parameters=(("name", "str"),),
    description="Writes the initials of a name.",
    criteria=(
        Criterion(
            "AC-1", "Each word gives its first letter.", ((("Ada Lovelace",), "AL"), (("Alan Mathison Turing",), "AMT"))
        ),
        Criterion("AC-2", "Initials are capitals.", ((("grace hopper",), "GH"), (("edsger W dijkstra",), "EWD"))),
        Criterion("AC-3", "Further blanks do not matter.", ((("  Kurt   Gödel ",), "KG"), (("Emmy ",), "E"))),
    ),
    contract=(("Donald Knuth",), "DK"),
    bodies={
        "python": 'return "".join(word[0].upper() for word in name.split())',
        "javascript": "return name.split(/\\s+/).filter(Boolean).map(word => word[0].toUpperCase()).join('')",
        "go": (
            'found := ""\nfor _, word := range strings.Fields(name) {\n'
            "\tfound += strings.ToUpper(word[:1])\n}\nreturn found"
        ),
    },
)
ROMAN: Final = Feature(
    id="roman",
    name="roman",
    parameters=(("number", "int"),),
    description="Writes a small number in Roman digits.",
    criteria=(
        Criterion("AC-1", "Digits are added up.", (((3,), "III"), ((7,), "VII"), ((12,), "XII"))),
        Criterion("AC-2", "Four and nine are written by subtraction.", (((4,), "IV"), ((9,), "IX"), ((14,), "XIV"))),
        Criterion("AC-3", "Zero is written as N.", (((0,), "N"), ((10,), "X"))),
    ),
    contract=((6,), "VI"),
    bodies={
        "python": (
            'found = "" if number else "N"\n'
            'for value, digits in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):\n'
            "    count, number = divmod(number, value)\n    found += digits * count\nreturn found"
        ),
        "javascript": (
            "let found = number ? '' : 'N'\n"
            "for (const [value, digits] of [[10, 'X'], [9, 'IX'], [5, 'V'], [4, 'IV'], [1, 'I']]) {\n"
            "  found += digits.repeat(Math.floor(number / value))\n  number %= value\n}\nreturn found"
        ),
        "go": (
            'if number == 0 {\n\treturn "N"\n}\nfound := ""\nvalues := []int{10, 9, 5, 4, 1}\n'
            'for at, digits := range []string{"X", "IX", "V", "IV", "I"} {\n'
            "\tfound += strings.Repeat(digits, number/values[at])\n\tnumber %= values[at]\n}\nreturn found"
        ),
    },
)
MIDDLE: Final = Feature(
    id="middle",
    name="middle",
    parameters=(("text", "str"), ("width", "int")),
    description="Shortens a text in its middle.",
    criteria=(
        Criterion("AC-1", "A text that fits stays.", ((("short", 9), "short"), (("exactly", 7), "exactly"))),
        Criterion(
            "AC-2", "A longer one loses its middle.", ((("abcdefghij", 7), "ab...ij"), (("abcdefghij", 8), "abc...ij"))
        ),
        Criterion(
            "AC-3", "No width is less than that of the dots.", ((("abcdefghij", 1), "..."), (("abcd", 2), "..."))
        ),
    ),
    contract=(("0123456789", 9), "012...789"),
    bodies={
        "python": (
            "if len(text) <= width:\n    return text\nleft = max(width - 3, 0)\nright = left // 2\n"
            'return text[: left - right] + "..." + text[len(text) - right :]'
        ),
        "javascript": (
            "if (text.length <= width) {\n  return text\n}\nconst left = Math.max(width - 3, 0)\n"
            "const right = Math.floor(left / 2)\n"
            "return text.slice(0, left - right) + '...' + text.slice(text.length - right)"
        ),
        "go": (
            "if len(text) <= width {\n\treturn text\n}\nleft := width - 3\nif left < 0 {\n\tleft = 0\n}\n"
            'right := left / 2\nreturn text[:left-right] + "..." + text[len(text)-right:]'
        ),
    },
)
FEATURES: Final = (SHARE, INITIALS, ROMAN, MIDDLE)
