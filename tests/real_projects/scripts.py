"""Specs and scripts of agents that add a feature to a package, by protocol; see docs/scripted-agents.md.

`proves` names the criteria for which the agents write tests; honest agents do so for all of them. Manifests are
extended where there are some, as agents do: what others have written in them stays.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from tests.end_to_end.waterfall import FILES, MEMORY, OPENAPI, SDD, SPECIFIED, VERIFIED, says
from tests.real_projects.features import Addition

Rules = list[dict[str, Any]]
_EXTEND: Final = str(Path(__file__).with_name("extend_manifest.py"))
STORY: Final = "US-1"
WATERFALL_MANIFEST: Final = f"tests/{STORY}/test_manifest.json"
DOCUMENTS: Final = {name: text for name, text in FILES.items() if not name.startswith("src/")}
"""What the waterfall wants to find in a project."""


def extend(addition: Addition, *criteria: str, file: str = "", spec_id: str = "") -> list[str]:
    """The command that adds tests to the manifest, for a `run` of a turn."""
    entries = json.dumps(addition.listed(*criteria))
    return [sys.executable, _EXTEND, file or addition.manifest_file, spec_id or addition.feature.id, entries]


def listing(addition: Addition, entries: dict[str, str]) -> list[str]:
    """The command that writes a manifest which has nothing else."""
    value = {"spec_id": addition.feature.id, "acceptance_criteria_map": entries}
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    return [sys.executable, "-c", code, addition.manifest_file, json.dumps(value)]


def turn(step: str, exit_: dict[str, Any], **does: Any) -> dict[str, Any]:
    """A rule whose agent does the same at every attempt."""
    return {"step": step, "turns": [{**does, "exit": exit_}]}


def v3(addition: Addition, proves: tuple[str, ...] = (), spec_id: str = "") -> Rules:
    """Planner, test author, implementer and reviewer of one leaf."""
    tested = proves or addition.ids
    tests = {addition.test_file: addition.tests(*tested)}
    return [
        turn(
            "scaffold",
            leaf("InitWork", addition),
            write=addition.scaffold(),
            run=[extend(addition, spec_id=spec_id)],
        ),
        turn("tests", {"type": "TestsReady"}, write=tests, run=[extend(addition, *tested, spec_id=spec_id)]),
        turn("impl", {"type": "TestsPassed"}, write={addition.module: addition.code()}),
        turn("review", {"type": "Approved", "signOff": "The criteria are met."}),
    ]


def fractal(addition: Addition, proves: tuple[str, ...] = (), spec_id: str = "") -> Rules:
    """A leaf whose author writes one test; only the criterion of that is proved, whatever the spec says."""
    tested = (proves or addition.ids)[:1]
    tests = {addition.test_file: addition.tests(*tested)}
    return [
        turn(
            "planner",
            leaf("InitLeaf", addition),
            write=addition.scaffold(),
            run=[extend(addition, spec_id=spec_id)],
        ),
        {
            "visit": "1",
            **turn(
                "test_author",
                {"type": "EmitChallenge", "intent": addition.feature.criteria[0].text},
                write=tests,
                run=[extend(addition, *tested, spec_id=spec_id)],
            ),
        },
        turn("test_author", {"type": "ConcludeSuite", "summary": "A test for each criterion."}),
        turn("implementer", {"type": "TestPassed"}, write={addition.module: addition.code()}),
        turn("reviewer", {"type": "Approve", "signOff": "The criteria are met."}),
    ]


def leaf(type_: str, addition: Addition) -> dict[str, Any]:
    """The exit of a planner that keeps all criteria to itself."""
    return {
        "type": type_,
        "interfaceFile": addition.interface,
        "contractSuite": addition.contract_file,
        "testPlan": addition.plan(),
    }


def waterfall_spec(addition: Addition) -> dict[str, Any]:
    story = {
        "id": STORY,
        "title": addition.feature.name,
        "description": f"As a caller I want {addition.feature.name}. {addition.feature.description}",
        "acceptance_criteria": [{"id": it.id, "text": it.text} for it in addition.feature.criteria],
        "non_goals": ["Other languages."],
    }
    return {"project": addition.package.name, "stories": [story]}


def waterfall(addition: Addition, proves: tuple[str, ...] = (), spec_id: str = "") -> Rules:
    """One story; its tests prove what is named."""
    feature, tested = addition.feature, proves or addition.ids
    scenarios = "\n".join(
        f"@unit @{it.id}\nScenario: {it.text}\n  Given a caller\n  When {feature.name} is called\n"
        f"  Then it MUST hold: {it.text}\n"
        for it in feature.criteria
    )
    bdd = (
        f"# {STORY}: {feature.name} [S]\n\nFeature: {feature.name}\n\n{scenarios}\n"
        "## Tasks\n- [ ] The function\n\n## Non-Goals\n- Other languages.\n"
    )
    added = f"- `{feature.name}`, offered at `/{feature.name}`"
    delta = f"# Delta of {STORY}\n## ADDED\n{added}\n\n## MODIFIED\nNone\n\n## REMOVED\nNone\n"
    path = f"  /{feature.name}:\n    get:\n      responses:\n        '200': {{description: {feature.name}}}\n"
    marks = " ".join(f"@{it}" for it in tested)
    comment = "#" if addition.package.language == "python" else "//"
    tests = f"{comment} docs/bdd/{STORY}.md: @unit {marks}\n{addition.stubbed_tests(*tested)}"
    listed = {name: what for name, what in addition.listed(*tested).items() if not what.startswith("contract")}
    manifest = [sys.executable, _EXTEND, WATERFALL_MANIFEST, spec_id or STORY, json.dumps(listed)]
    return [
        turn("bdd", SPECIFIED, write={f"docs/bdd/{STORY}.md": bdd}),
        turn("sdd-delta", says("pass"), write={f"docs/deltas/{STORY}.md": delta}),
        turn("contract", says("pass"), append={OPENAPI: path}),
        turn("scaffold", says("pass"), write={**addition.stubs(), addition.test_file: tests}, run=[manifest]),
        turn("impl", says("pass"), write=addition.built()),
        turn("verify", VERIFIED, append={SDD: f"\n## {feature.name}\n{feature.description}\n"}),
        turn("update-memory", says("pass"), append={MEMORY: f"{STORY} is done: {feature.name}.\n"}),
    ]


def brief(addition: Addition) -> dict[str, Any]:
    """What dptr and riper are given."""
    feature, package = addition.feature, addition.package
    module = {
        "name": feature.name,
        "description": feature.description,
        "criteria": [{"id": it.id, "text": it.text} for it in feature.criteria],
        "paths": [addition.module, addition.test_file],
    }
    return {
        "id": feature.id,
        "title": f"{feature.name} for {package.name}",
        "description": feature.description,
        "modules": [module],
    }


def plan(addition: Addition, *criteria: str) -> str:
    """A plan with one cycle, which is about some of the criteria."""
    feature = addition.feature
    return (
        f"# The plan\n\nBatch₁: (parallel 1)\n"
        f"□ TDD₁: {feature.description.rstrip('.')} ({addition.called}) → ℜ→ℜᴳ→ℜᶠ"
        f" [files: {addition.module}, {addition.test_file}]\n"
        f"  interface: {addition.declared}\n  criteria: {', '.join(criteria)}\n  module: {feature.name}\n\n"
        "Execution checklist:\n□ the function has tests\n"
    )


def red_complete(addition: Addition, tested: tuple[str, ...]) -> dict[str, Any]:
    """The answer of QA: which test stands for which criterion."""
    covers = [{"criterion": it, "tests": [addition.full_name(addition.test_file, it)]} for it in tested]
    return {"type": "RC", "covers": covers}


def design(addition: Addition) -> str:
    return f"# {addition.feature.name}\n{addition.feature.description}\n\n```\n{addition.declared}\n```\n"


def dptr(addition: Addition, proves: tuple[str, ...] = ()) -> Rules:
    """One module, one cycle; the plan has the criteria that are named."""
    tested, name = proves or addition.ids, addition.feature.name
    patterns = {"patterns": "# Patterns\nFunctions, and no state.", "tech": "# Technology\nAs it is.", "modules": []}
    own = turn("critic", {"type": "PA", "message": "I would execute it."}) | {"graph": "plan"}
    plan_file = f"memory-bank/modules/{name}/tdd_plan.md"
    return [
        turn("architecture", {"type": "Architecture", "message": "Functions.", **patterns}),
        turn("audit", {"type": "ACCEPT", "message": "It can be built."}),
        turn("design", {"type": "Designed", "message": "One function.", "design": design(addition)}),
        own,
        turn("critic", {"type": "ACCEPT", "message": "It can be built."}),
        turn("spec", {"type": "PC", "message": "One cycle."}, write={plan_file: plan(addition, *tested)}),
        turn("phase0", {"type": "P0C"}, write={addition.module: addition.skeleton()}),
        turn("red", red_complete(addition, tested), write={addition.test_file: addition.inner_tests(*tested)}),
        turn("green", {"type": "GC"}, write={addition.module: addition.code()}),
        turn("refactor_tests", {"type": "RTC", "message": "Nothing to improve."}),
        turn("refactor_impl", {"type": "RIC", "message": "Nothing to improve."}),
        turn("review_tests", {"type": "APPROVED"}),
        turn("review_impl", {"type": "APPROVED"}),
        turn("review", {"type": "Reviewed", "validation": "VC", "quality": "QP", "report": "# Review\nAll is well."}),
    ]


def riper(addition: Addition, proves: tuple[str, ...] = ()) -> Rules:
    """One module, one cycle; the plan has the criteria that are named."""
    tested = proves or addition.ids
    designed = {
        "type": "Designed",
        "message": "One function.",
        "architecture_design": "# Architecture\nFunctions, and no state.\n",
        "module_specifications": design(addition),
        "tech_stack": "# Technology\nAs it is.\n",
        "modules": [],
    }
    validated = {"type": "Validated", "verdict": "Passed", "report": "# Validation\nEvery criterion is met.\n"}
    return [
        turn("O1P", designed),
        turn("O2A", {"type": "ACCEPT", "message": "I found nothing against it."}),
        turn("audit", {"type": "ACCEPT", "message": "It can be built."}),
        turn("O3P", {"type": "PC", "message": "One cycle.", "tdd_plan": plan(addition, *tested)}),
        turn("O4C", {"type": "PA", "message": "I would execute it."}),
        turn("red", red_complete(addition, tested), write={addition.test_file: addition.inner_tests(*tested)}),
        turn("green", {"type": "GC"}, write={addition.module: addition.code()}),
        turn("test", {"type": "RTC", "message": "Nothing to improve."}),
        turn("impl", {"type": "RIC", "message": "Nothing to improve."}),
        turn("qa_cross_review", {"type": "RFC", "message": "The code does what the design says."}),
        turn("de_cross_review", {"type": "RFC", "message": "The tests state the design."}),
        turn("O6V", validated),
    ]
