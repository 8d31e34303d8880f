"""Who gets which part."""

from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import FILES, SPEC, Stage, run
from treadle.kernel.state import Slot
from treadle.protocol.items import Json

TEXTS = {"AC-1": "adds two", "AC-2": "adds three"}
TWO: dict[str, Json] = {**SPEC, "acceptanceCriteria": [{"id": id_, "text": text} for id_, text in TEXTS.items()]}


def child(id_: str, *criteria: str, **more: Json) -> dict[str, Json]:
    listed: list[Json] = [{"id": one, "text": TEXTS.get(one, "x")} for one in criteria]
    return {
        **SPEC,
        "id": id_,
        "acceptanceCriteria": listed,
        "targetPath": f"{SPEC['targetPath']}/{id_}",
        "testPath": f"{SPEC['testPath']}/{id_}",
        **more,
    }


def planned(*criteria: str) -> list[Json]:
    return [{"criterionId": one, "plannedTestName": f"test_{one}", "approach": "x"} for one in criteria]


@pytest.mark.parametrize(
    ("fields", "code", "data"),
    [
        ({"testPlan": planned("AC-1", "AC-2")}, "", ""),
        ({"testPlan": planned("AC-1"), "childSpecs": [child("b", "AC-2")]}, "", ""),
        ({"testPlan": [{"criterionId": one, "plannedTestName": "test_it"} for one in ("AC-1", "AC-2")]}, "", ""),
        ({"testPlan": planned("AC-1")}, "plan.uncovered", "AC-2"),
        ({"testPlan": planned("AC-1", "AC-2", "AC-3")}, "plan.unknown_criterion", "'test_AC-3' stands for 'AC-3'"),
    ],
)
def test_every_criterion_has_a_place(tmp_path: Path, fields: dict[str, Any], code: str, data: str) -> None:
    report, codes = run(claimed(tmp_path, fields, "plan_covers_criteria"))
    assert codes == ([code] if code else [])
    assert data in report


@pytest.mark.parametrize(
    ("children", "more", "code", "data"),
    [
        ([child("a", "AC-1"), child("b", "AC-2")], {}, "", ""),
        ([child("a", "AC-1"), child("b", "AC-1")], {}, "children.shared_criterion", "AC-1 belongs to 'a' and to 'b'"),
        ([child("a")], {}, "children.no_criterion", "'a'"),
        (
            [child("a", "AC-1"), child("a", "AC-2", targetPath="src/calc/x", testPath="tests/calc/x")],
            {},
            "children.same_name",
            "'a'",
        ),
        (
            [child("a", "AC-1"), child("b", "AC-2", targetPath="src/calc/a/b")],
            {},
            "children.shared_path",
            "src/calc/a/b",
        ),
        ([child("a", "AC-1"), child("b", "AC-2", testPath="src/calc/a")], {}, "children.shared_path", "src/calc/a"),
        ([child("a", "AC-1")], {"interfaceFile": "src/calc/a/api.py"}, "children.holds_interface", "src/calc/a/api.py"),
        ([child("a", acceptanceCriteria=[{"id": "AC-1", "text": " adds\n  two "}])], {}, "", ""),
        ([child("a", "AC-1", "AC-3")], {}, "", ""),
        (
            [child("a", acceptanceCriteria=[{"id": "AC-1", "text": "adds anything"}])],
            {},
            "children.reworded",
            'AC-1 of the child \'a\' says "adds anything", but here it is "adds two"',
        ),
        ([child("a", "AC-1", targetPath="src/other")], {}, "children.path_outside", "targetPath src/other of 'a'"),
        ([child("a", "AC-1", testPath="src/calcs")], {}, "children.path_outside", "testPath src/calcs of 'a'"),
        ([], {"interfaceFile": "src/calc/api.py"}, "interface.not_written", "src/calc/api.py"),
        (
            [child("a", "AC-1")],
            {"interfaces": [{"path": "src/none.py", "exports": []}]},
            "interface.not_written",
            "src/none.py",
        ),
        ([child("a", "AC-1")], {"interfaces": [{"path": "src/calc/__init__.py", "exports": []}]}, "", ""),
        (
            [child("a", "AC-1")],
            {"interfaces": [{"path": "src/calc/add.py", "exports": []}]},
            "interface.unfinished",
            "src/calc/add.py:1: add ",
        ),
    ],
)
def test_children_share_neither_files_nor_criteria(
    tmp_path: Path, children: list[Json], more: dict[str, Any], code: str, data: str
) -> None:
    report, codes = run(claimed(tmp_path, {"childSpecs": children, **more}, "children_partition"))
    assert codes == [] if not code else code in codes
    assert data in report


async def claimed(tmp_path: Path, fields: dict[str, Json], check: str) -> tuple[str, list[str]]:
    """The report of a check and the codes of its findings."""
    stage = await Stage(tmp_path, given=TWO).start()
    verdict = await stage.claim("scaffold", "InitWork", {}, fields, check)
    return verdict.report, stage.codes(verdict, check)


ABSTRACT = "class Shape:\n    def area(self):\n        raise NotImplementedError\n"


GO_SHAPE = 'package calc\n\ntype Shape struct{}\n\nfunc (s Shape) Area() int {\n\tpanic("not implemented")\n}\n'
JS_SHAPE = 'export class Shape {\n  area() { throw new Error("not implemented"); }\n}\n'


@pytest.mark.parametrize(
    ("path", "before", "added", "lines"),
    [
        ("src/calc/shape.go", GO_SHAPE, '\nfunc Sum(a int) int {\n\tpanic("not implemented")\n}\n', [9]),
        ("src/calc/shape.go", GO_SHAPE, "\nfunc Sum(a int) int {\n\treturn a\n}\n", []),
        ("src/calc/shape.js", JS_SHAPE, "export const sum = (a) => { throw new Error('not implemented'); };\n", [4]),
        ("src/calc/shape.ts", JS_SHAPE, "export function sum(a: number): number { return a; }\n", []),
    ],
)
def test_an_interface_file_in_go_or_javascript_has_no_new_body_to_write(
    tmp_path: Path, path: str, before: str, added: str, lines: list[int]
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, path: before}, given=TWO).start()
        fields: dict[str, Json] = {"interfaceFile": path}
        done = await stage.claim("scaffold", "InitWork", {path: before + added}, fields, "children_partition")
        found = [place for place, code in stage.found(done, "children_partition") if code == "interface.unfinished"]
        assert found == [f"{path}:{line}" for line in lines]

    run(story())


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (f"{ABSTRACT}\n\nSIDES = 3\n", []),
        (f"{ABSTRACT}\n    def name(self):\n        raise NotImplementedError\n", ["src/calc/shape.py:5"]),
        (f"{ABSTRACT}\n\ndef area():\n    raise NotImplementedError\n", ["src/calc/shape.py:6"]),
    ],
)
def test_an_interface_file_may_have_an_older_abstract_method(tmp_path: Path, written: str, found: list[str]) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, "src/calc/shape.py": ABSTRACT}, given=TWO).start()
        fields: dict[str, Json] = {"interfaceFile": "src/calc/shape.py"}
        done = await stage.claim("scaffold", "InitWork", {"src/calc/shape.py": written}, fields, "children_partition")
        unfinished = [
            place for place, code in stage.found(done, "children_partition") if code == "interface.unfinished"
        ]
        assert unfinished == found

    run(story())


def test_a_target_of_one_file_needs_its_interface_elsewhere(tmp_path: Path) -> None:
    shape = "src/calc/shape.py"

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, shape: "SIDES = 3\n"}, given={**TWO, "targetPath": shape}).start()
        written = {shape: "def area():\n    raise NotImplementedError\n", "tests/calc/shape.pyi": "def area(): ...\n"}
        for number, path, codes in ((1, shape, ["interface.unfinished"]), (2, "tests/calc/shape.pyi", [])):
            fields: dict[str, Json] = {"interfaceFile": path}
            done = await stage.claim("scaffold", "InitWork", written, fields, "children_partition", n=f"{number}.1")
            found = [
                one for one in stage.evidence(done, "children_partition")["findings"] if "interface" in one["code"]
            ]
            assert [one["code"] for one in found] == codes
            assert all(".pyi" in one["expected"] for one in found)

    run(story())


def test_a_new_plan_without_children_keeps_those_there_are(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, given=TWO).start()
        fields: dict[str, Json] = {"testPlan": planned("AC-1"), "childSpecs": [child("b", "AC-2")]}
        await stage.claim("scaffold", "InitWork", {}, fields, "checkpoint")
        stage.add("root/b", "node", child("b", "AC-2"))
        again = await stage.claim(
            "scaffold", "InitWork", {}, {"testPlan": planned("AC-1")}, "plan_covers_criteria", n="2.1"
        )
        assert again.report == ""

    run(story())


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ({}, []),
        ({"outcome": "Merged", "slots": {"merge.MergeComplete": Slot("", {}, 1)}}, []),
        ({"outcome": "Aborted"}, ["plan.uncovered"]),
    ],
)
def test_an_aborted_child_covers_no_criterion(tmp_path: Path, more: dict[str, Any], codes: list[str]) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, given=TWO).start()
        stage.add("root/b", "node", child("b", "AC-2"), **more)
        fields: dict[str, Json] = {"testPlan": planned("AC-1")}
        verdict = await stage.claim("scaffold", "InitWork", {}, fields, "plan_covers_criteria")
        assert stage.codes(verdict, "plan_covers_criteria") == codes
        assert ("AC-2" in verdict.report) == bool(codes)

    run(story())


@pytest.mark.parametrize(
    ("path", "named", "outcome", "is_kept"),
    [
        ("src/calc/b/sum.py", ["b"], "Merged", False),
        ("tests/calc/b/test_sum.py", None, "Merged", False),
        ("src/calc/a.py", ["b"], "Merged", True),
        ("src/calc/b/sum.py", ["c"], "Merged", True),
        ("src/calc/b/sum.py", ["b"], "", True),
    ],
)
def test_a_new_plan_leaves_merged_work_alone(
    tmp_path: Path, path: str, named: list[str] | None, outcome: str, *, is_kept: bool
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, given=TWO).start()
        slots = {"merge.MergeComplete": Slot("", {}, 1)}
        stage.add("root/b", "node", child("b", "AC-2"), outcome=outcome, slots=slots)
        fields: dict[str, Json] = {} if named is None else {"childSpecs": [child(one, "AC-2") for one in named]}
        verdict = await stage.claim("scaffold", "InitWork", {path: "X = 1\n"}, fields, "children_partition")
        found = stage.found(verdict, "children_partition")
        assert found == ([] if is_kept else [(path, "children.merged_work")])
        assert ("'b'" in verdict.report) != is_kept

    run(story())


def task(id_: str, *files: str) -> Json:
    return {"task_id": id_, "story": "US-1", "instruction": "x", "files": list(files)}


@pytest.mark.parametrize(
    ("fields", "code", "data"),
    [
        ({"backend": [task("a", "src/a/**")], "frontend": [task("b", "src/b/**")]}, "", ""),
        (
            {"backend": [task("a", "src/**")], "frontend": [task("b", "src/b/*.ts")]},
            "tasks.shared_file",
            "'a' and 'b' both own src/** and src/b/*.ts",
        ),
        ({"backend": [task("a", "../x")]}, "tasks.bad_path", "'a' owns '../x'"),
        ({"backend": [task("a", "x")], "test": [task("a", "y")]}, "tasks.same_name", "'a'"),
    ],
)
def test_tasks_own_different_files(tmp_path: Path, fields: dict[str, Any], code: str, data: str) -> None:
    async def story() -> None:
        story_: dict[str, Json] = {"id": "US-1", "title": "t", "description": "d"}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=story_).start()
        verdict = await stage.claim("breakdown", "Breakdown", {}, {**fields, "more": False}, "readonly disjoint_writes")
        assert stage.codes(verdict, "disjoint_writes") == ([code] if code else [])
        assert data in verdict.report
        if not code:
            assert verdict.fields["owners"] == ["src/a/**: a", "src/b/**: b"]

    run(story())
