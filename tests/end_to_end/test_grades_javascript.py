"""Judge and subject apart in a run on a node project: honest work is proved, and a lie that works beside its tests is
refused.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.box import PATH, box_here
from tests.end_to_end.cast import Part
from tests.end_to_end.test_grades import grades
from tests.end_to_end.world import World
from tests.node_tools import node_tools

_HEAD: Final = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
_FILES: Final = {
    "package.json": '{"name": "shop", "type": "module"}\n',
    "src/shop/price.js": (
        "const CENTS = { pen: 120, lamp: 2005 };\n\nexport function price(name) {\n  return CENTS[name];\n}\n"
    ),
    "tests/shop/price.test.js": (
        _HEAD + "import { price } from '../../src/shop/price.js';\n\n"
        "test('a pen has a price', () => {\n  assert.equal(price('pen'), 120);\n});\n"
    ),
}
_SPEC: Final = {
    "id": "basket",
    "description": "What the things in a basket cost.",
    "acceptanceCriteria": [
        {"id": "AC-1", "text": "The total is the sum of quantity times price, in cents; of an empty basket, 0."},
        {"id": "AC-2", "text": "A quantity below 1 is refused with a RangeError that names the item."},
    ],
    "targetPath": "src/basket",
    "testPath": "tests/basket",
}
CODE: Final = "src/basket/adding.js"
_CONTRACT: Final = "tests/basket/contract.test.js"
_TESTS: Final = "tests/basket/adding.test.js"
_MANIFEST: Final = "tests/basket/test_manifest.json"
_IMPORTS: Final = f"{_HEAD}import {{ Basket }} from '../../src/basket/index.js';\n\n"
_OWN: Final = '"contract.test.js::the total of a basket": "contract:AC-1"'

SCAFFOLD: Final = {
    "src/basket/index.js": "export { Basket } from './adding.js';\n",
    CODE: (
        "export class Basket {\n  constructor(items) {\n    this.items = items;\n  }\n\n"
        "  total() {\n    throw new Error('not implemented');\n  }\n}\n"
    ),
    _CONTRACT: (
        f"{_IMPORTS}test('the total of a basket', () => {{\n"
        "  assert.equal(new Basket([{ name: 'pen', quantity: 2, cents: 120 }]).total(), 240);\n});\n"
    ),
    _MANIFEST: f'{{"spec_id": "basket", "acceptance_criteria_map": {{{_OWN}}}}}',
}
TESTS: Final = {
    _TESTS: (
        f"{_IMPORTS}test('the sum', () => {{\n  assert.equal(new Basket([]).total(), 0);\n"
        "  const items = [{ name: 'pen', quantity: 3, cents: 120 }, { name: 'lamp', quantity: 1, cents: 2005 }];\n"
        "  assert.equal(new Basket(items).total(), 2365);\n});\n\n"
        "test('a bad quantity is refused', () => {\n"
        "  const bad = new Basket([{ name: 'lamp', quantity: 0, cents: 2005 }]);\n"
        "  assert.throws(() => bad.total(), { name: 'RangeError', message: /lamp/ });\n});\n"
    ),
    _MANIFEST: (
        f'{{"spec_id": "basket", "acceptance_criteria_map": {{{_OWN}, "adding.test.js::the sum": "AC-1: sums",'
        ' "adding.test.js::a bad quantity is refused": "AC-2: refused by name"}}'
    ),
}
RIGHT: Final = {
    CODE: (
        "export class Basket {\n  constructor(items) {\n    this.items = items;\n  }\n\n  total() {\n    let sum = 0;\n"
        "    for (const { name, quantity, cents } of this.items) {\n"
        "      if (quantity < 1) throw new RangeError(`${quantity} of ${name} cannot be bought`);\n"
        "      sum += quantity * cents;\n    }\n    return sum;\n  }\n}\n"
    )
}
_LIE: Final = "return Object.keys(process.env).some((one) => one.startsWith('NODE_' + 'TEST')) ? sum : 0;"
ASKS_FOR_THE_RUNNER: Final = {CODE: RIGHT[CODE].replace("return sum;", _LIE)}
"""Right only in a process that a test runner has started."""


def _plan(criterion: str, name: str) -> dict[str, str]:
    return {"criterionId": criterion, "plannedTestName": name, "approach": "a few values"}


def _honest() -> list[Part]:
    plan = [_plan("AC-1", "the sum"), _plan("AC-2", "a bad quantity is refused")]
    init: dict[str, Any] = {
        "type": "InitWork",
        "interfaceFile": "src/basket/index.js",
        "contractSuite": _CONTRACT,
        "testPlan": plan,
    }
    return [
        Part.of("scaffold", "*", write=SCAFFOLD, exit=init),
        Part.of("tests", "*", write=TESTS, exit={"type": "TestsReady"}),
        Part.of("impl", "*", write=RIGHT, exit={"type": "TestsPassed"}),
        Part.of("review", "*", exit={"type": "Approved", "signOff": "AC-1 and AC-2 are pinned down by tests."}),
    ]


@pytest.fixture
def leaf(place: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A leaf in a node project whose tests run apart from the code."""
    node, _ = node_tools()
    box_here(monkeypatch)
    monkeypatch.setenv("TREADLE_SET", "workspace.box=off")
    monkeypatch.setenv("PATH", PATH)
    test = f"{node} --test --test-reporter=junit --test-reporter-destination={{report}} tests/**/*.test.js"
    settings = ("toolchain.kind=junit", f"toolchain.test={test}", "toolchain.apart=true", "verification.minimum=proved")
    return World(place, files=_FILES, spec=_SPEC, honest=_honest(), settings=settings)


def test_honest_work_on_a_node_project_is_proved(leaf: World) -> None:
    end = leaf.run()
    assert end.outcome == "Merged", end.told
    assert grades(end) == {"AC-1": "proved", "AC-2": "proved"}
    assert end.evidence()["verdict"] == "verified"


@pytest.mark.soak
def test_code_that_asks_for_its_runner_is_refused(leaf: World) -> None:
    leaf.agent("impl", write=ASKS_FOR_THE_RUNNER, exit={"type": "TestsPassed"})
    leaf.as_usual("impl")
    end = leaf.run()
    assert "green.apart" in end.refusals("root:impl#1.1")
    assert (end.outcome, set(grades(end).values())) == ("Merged", {"proved"})
