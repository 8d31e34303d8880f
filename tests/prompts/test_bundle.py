"""The bundle: what is in it, under which names, and that it is there whole or not at all."""

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.prompts.stage import TOOLCHAIN, scene
from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.ports import Work
from treadle.prompts.agent_prompt import example_answer
from treadle.prompts.bundle import contents, environment, input_names, write
from treadle.protocol.load import load

V3 = load("v3")


def bundle(graph: str = "node", step: str = "scaffold", **options: Any) -> dict[str, bytes]:
    there = scene(V3, graph, step)
    assert isinstance(there.command, RunAgent)
    return contents(V3, there.state, there.command, there.payloads, TOOLCHAIN, **options)


def test_a_bundle_has_its_prompt_its_schema_and_its_inputs() -> None:
    files = bundle(handoff="what was before", files={"mcp.json": b"{}", "exits.json": b"[]"})
    inputs = sorted(name for name in files if name.startswith("inputs/"))
    assert sorted(set(files) - set(inputs)) == [
        "context.json",
        "exits.json",
        "handoff.md",
        "mcp.json",
        "payloads.json",
        "prompt.md",
        "schema.json",
    ]
    assert "inputs/up.scaffold.InitWork.json" in inputs
    assert {"inputs/in.json", "inputs/gate_report.json", "inputs/human_note.json"} <= set(inputs)
    assert files["handoff.md"] == b"what was before"
    assert b"## How to answer" in files["prompt.md"]


def test_the_prompt_of_a_person_names_the_command_that_hands_in() -> None:
    assert b"`treadle done r1 --exit InitWork" in bundle(by_hand=True)["prompt.md"]
    assert b"treadle done" not in bundle()["prompt.md"]


def test_the_context_names_everything_that_the_contract_promises() -> None:
    context = json.loads(bundle()["context.json"])
    assert {key: context[key] for key in ("run", "instance", "graph", "step", "role", "mode")} == {
        "run": "r1",
        "instance": "root/n1",
        "graph": "node",
        "step": "scaffold",
        "role": "planner",
        "mode": "Scaffold",
    }
    assert (context["attempt"], context["max_attempts"], context["parameters"]) == (2, 5, {})
    assert context["spec"]["targetPath"] == "src/targetPath"
    assert context["permissions"]["writes"] == [
        "src/targetPath",
        "src/targetPath/**",
        "src/testPath",
        "src/testPath/**",
    ]
    assert "modify" in context["permissions"]["may"]


def test_the_schema_takes_the_examples_of_the_prompt() -> None:
    document = json.loads(bundle()["schema.json"])
    for exit_ in V3.graphs["node"].steps["scaffold"].exits:
        jsonschema.validate(json.loads(example_answer(V3, exit_)), document)


def test_a_slot_of_which_all_values_are_wanted_is_a_list() -> None:
    files = bundle(step="impl")
    assert len(json.loads(files["inputs/impl.RequestRetry.json"])) == 2
    assert isinstance(json.loads(files["inputs/tests.TestsReady.json"]), dict)


@example(slots=["..0"])
@given(st.lists(st.text(max_size=150), unique=True, max_size=8))
def test_any_slot_has_a_safe_name_of_its_own(slots: list[str]) -> None:
    names = input_names(slots)
    assert len({name.lower() for name in names}) == len(slots)
    for name in names:
        assert name.isascii()
        assert name.endswith(".json")
        assert "/" not in name
        assert "\\" not in name
        assert "\0" not in name
        assert not name.startswith("..")
        assert len(name) <= 140


def test_slots_that_differ_only_in_case_get_different_files() -> None:
    first, second = input_names(["plan.Done", "Plan.done"])
    assert first == "plan.Done.json"
    assert first.lower() != second.lower()


def test_the_environment_is_that_of_the_contract(tmp_path: Path) -> None:
    work = Work(
        run="r1",
        act="root:impl#1.2",
        retry=0,
        step="impl",
        role="impl",
        mode="",
        attempt=2,
        lane=tmp_path / "lane",
        home=tmp_path,
        prompt="",
        token="secret",
    )
    assert environment(work) == {
        "TREADLE_BUNDLE": str(tmp_path / "bundle"),
        "TREADLE_RUN": "r1",
        "TREADLE_ACT": "root:impl#1.2",
        "TREADLE_ROLE": "impl",
        "TREADLE_MODE": "",
        "TREADLE_STEP": "impl",
        "TREADLE_ATTEMPT": "2",
        "TREADLE_TOKEN": "secret",
        "TREADLE_OUT": str(tmp_path / "out"),
    }


def written(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_bundle_is_written_once(tmp_path: Path) -> None:
    home = tmp_path / "runs" / "r1"
    files = bundle()
    folder = asyncio.run(write(home, files))
    assert folder == home / "bundle"
    assert written(folder) == files
    before = folder.stat().st_ino
    asyncio.run(write(home, files))
    assert folder.stat().st_ino == before
    assert names(home) == ["bundle"]


def test_a_later_bundle_replaces_the_whole_earlier_one(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path, {"prompt.md": b"old", "inputs/a.json": b"1"}))
    folder = asyncio.run(write(tmp_path, {"prompt.md": b"new"}))
    assert written(folder) == {"prompt.md": b"new"}
    assert names(tmp_path) == ["bundle"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "inputs/../../x", ""])
def test_a_file_outside_of_the_bundle_is_refused(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(ValueError, match="bundle"):
        asyncio.run(write(home, {name: b"x"}))
    assert names(home) == []
    assert names(tmp_path) == ["home"]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "keep").write_text("mine")
    home = tmp_path / "home"
    home.mkdir()
    (home / "bundle").symlink_to(elsewhere)
    folder = asyncio.run(write(home, {"prompt.md": b"x"}))
    assert not folder.is_symlink()
    assert written(folder) == {"prompt.md": b"x"}
    assert written(elsewhere) == {"keep": b"mine"}


def test_surroundings_that_fail_are_a_port_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PortError) as error:
        asyncio.run(write(tmp_path / "file", {"prompt.md": b"x"}))
    assert (error.value.retryable, error.value.code) == (True, "file.unwritable")
