"""Payloads by address, as an agent may fetch them from its bundle."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.prompts.stage import TOOLCHAIN, scene
from treadle.kernel.commands import RunAgent
from treadle.prompts.bundle import contents
from treadle.protocol.items import Json, canonical, content_ref
from treadle.protocol.load import load
from treadle.results.offered import Said
from treadle.results.payload_tool import PIECE, call, is_offered

LONG = "→é😀" * 40_000


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    values: dict[str, Json] = {"one": {"b": 1, "a": [None, "é"]}, "long": LONG}
    (tmp_path / "inputs").mkdir()
    for name, value in values.items():
        (tmp_path / "inputs" / f"{name}.json").write_text(json.dumps(value))
    (tmp_path / "inputs" / "some.json").write_text(json.dumps(["x", "y"]))
    places: list[dict[str, Any]] = [
        {"ref": content_ref(value), "input": name, "file": f"inputs/{name}.json", "at": None}
        for name, value in values.items()
    ]
    places += [
        {"ref": content_ref(value), "input": "some", "file": "inputs/some.json", "at": n}
        for n, value in enumerate(["x", "y"])
    ]
    places += [{"ref": "text:too late", "input": "gate_report", "file": "inputs/gate_report.json", "at": None}]
    (tmp_path / "payloads.json").write_text(json.dumps(places))
    return tmp_path


def test_a_payload_by_address_or_input(bundle: Path) -> None:
    ref = content_ref({"a": [None, "é"], "b": 1})
    for asked in (ref, "one"):
        found = call(bundle, {"ref": asked})
        assert found.data == {"ref": ref, "total": 22, "offset": 0, "text": '{"a":[null,"é"],"b":1}'}
        assert json.loads(found.text) == found.data
    assert call(bundle, {"ref": content_ref("y")}).data["text"] == '"y"'
    assert call(bundle, {"ref": "gate_report"}).data["text"] == "too late"
    assert [each["input"] for each in call(bundle, {}).data["payloads"]] == [
        "one",
        "long",
        "some",
        "some",
        "gate_report",
    ]


def test_a_long_payload_comes_in_pieces(bundle: Path) -> None:
    parts: list[str] = []
    while (at := sum(map(len, parts))) < len(LONG) + 2:
        found = call(bundle, {"ref": "long", "offset": at}).data
        parts.append(found["text"])
        assert found.get("next_offset", len(LONG) + 2) == sum(map(len, parts))
    assert len(parts) == 3
    assert max(map(len, parts)) == PIECE
    assert "".join(parts).encode() == canonical(LONG)
    assert call(bundle, {"ref": "long", "offset": 1, "limit": 2}).data["text"] == LONG[:2]
    assert call(bundle, {"ref": "long", "offset": 10**9}).data["text"] == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ref": "sha256:" + "0" * 64}, "is not among what this step was given"),
        ({"ref": "lomg"}, "did you mean 'long'?"),
        ({"ref": "some"}, "there are several of 'some': sha256:"),
        ({"ref": 5}, "`ref` is a text"),
        ({"offset": -1}, "`offset` a whole number"),
        ({"limit": True}, "`limit` one from 1"),
        ({"ref": "../../etc/passwd"}, "is not among"),
    ],
)
def test_refusals(bundle: Path, given: dict[str, Any], words: str) -> None:
    found = call(bundle, given)
    assert not found.ok
    assert words in found.text


def test_what_the_bundle_does_not_hold_any_more(bundle: Path, tmp_path: Path) -> None:
    (bundle / "inputs" / "one.json").write_text('{"b": 2}')
    (bundle / "inputs" / "long.json").unlink()
    (bundle / "inputs" / "long.json").symlink_to("/etc/passwd")
    (bundle / "inputs" / "some.json").write_text("[")
    for ref in ("one", "long", content_ref("x")):
        assert "is not what was put there" in call(bundle, {"ref": ref}).text
    (bundle / "payloads.json").write_text('{"not": "a list"}')
    assert call(bundle, {}) == Said('{\n  "payloads": []\n}', data={"payloads": []})
    assert is_offered(bundle)
    assert not is_offered(tmp_path / "elsewhere")


def test_everything_that_a_step_was_given_can_be_fetched(tmp_path: Path) -> None:
    protocol = load("v3")
    there = scene(protocol, "node", "impl")
    assert isinstance(there.command, RunAgent)
    for name, body in contents(protocol, there.state, there.command, there.payloads, TOOLCHAIN).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    refs = {ref for refs in there.command.inputs.values() for ref in refs if ref}
    assert {each["ref"] for each in call(tmp_path, {}).data["payloads"]} == refs
    for ref in refs:
        text = call(tmp_path, {"ref": ref}).data["text"]
        assert (
            text == ref.removeprefix("text:")
            if ref.startswith("text:")
            else json.loads(text) == there.payloads.get(ref)
        )
