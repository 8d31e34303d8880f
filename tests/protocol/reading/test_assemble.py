"""Whatever stands in the files, loading ends in a protocol or in findings."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.loading import MINIMAL, STEP
from treadle.errors import ProtocolError
from treadle.protocol.emit import Plain, emit
from treadle.protocol.findings import Finding
from treadle.protocol.load import starting_folder
from treadle.protocol.reading.assemble import Changes, Files, Sources, assemble
from treadle.protocol.reading.fragments import Library
from treadle.protocol.reading.source import read

START = starting_folder("start")
TREE: dict[str, Any] = read(START["protocol.yaml"], "p").plain()
FRAGMENT: dict[str, Any] = {
    "fragment": "part",
    "params": ["x"],
    "include": [],
    "types": {"T": {"id": "text"}},
    "graph": {"steps": {"$x": {"ask": "human", "routes": {"a": "@back"}}}, "ends": ["Lost"]},
}
OVERLAY: dict[str, Any] = {
    "extends": "start@1",
    "+pools": {"p": 1},
    "graphs": {"main": {"steps": {"fix": {"attempts": 2, "timeout": None}, "+more": {"ask": "human"}}}},
}
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**7)
    | st.floats(0, 9)
    | st.text(max_size=8)
    | st.sampled_from(["@back", "@self", "$x", "fix", "stuck"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["to", "steps", "do", "include", "role"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def paths(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [at, *(path for key, value in inner for path in paths(value, (*at, key)))]


def planted(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = planted(tree[path[0]], path[1:], value)
    return copy


def odd(tree: dict[str, Any]) -> st.SearchStrategy[dict[str, Plain]]:
    places = [path for path in paths(tree) if path]
    return st.builds(planted, st.just(tree), st.sampled_from(places), ODD)


def loads_or_says_why(files: dict[str, str], sources: Sources, changes: Changes) -> None:
    findings: tuple[object, ...] | None = None
    try:
        assemble(Files(files), sources, changes)
    except ProtocolError as error:
        findings = error.findings
    assert findings != ()
    for finding in findings or ():
        assert isinstance(finding, Finding)
        assert finding.place.file
        assert finding.place.line


ODDLY = settings(max_examples=60)


@ODDLY
@given(odd(TREE))
def test_an_odd_protocol(tree: dict[str, Plain]) -> None:
    loads_or_says_why({**START, "protocol.yaml": emit(tree)}, Sources(), Changes())


@ODDLY
@given(odd(FRAGMENT), ODD)
def test_an_odd_fragment(fragment: dict[str, Plain], argument: Plain) -> None:
    library = Library(("part",), lambda name: read(emit(fragment), f"{name}.yaml"))
    include = "    include: " + emit({"include": [{"part": {"x": argument}}]}).split(":", 1)[1]
    text = MINIMAL.replace("    steps:\n", f"{include}    steps:\n") + STEP
    loads_or_says_why({"protocol.yaml": text}, Sources(fragments=library), Changes())


@ODDLY
@given(odd(OVERLAY))
def test_an_odd_overlay(overlay: dict[str, Plain]) -> None:
    loads_or_says_why(START, Sources(), Changes(overlays=(read(emit(overlay), "o.yaml"),)))


def test_files_alone_know_no_fragments_and_no_bases() -> None:
    with pytest.raises(ProtocolError, match=r"unknown fragment 'fold' \(known: none\)"):
        assemble(Files({"protocol.yaml": MINIMAL + STEP + "include: [fold]\n"}))
    with pytest.raises(ProtocolError, match="there is no protocol to extend"):
        assemble(Files({"protocol.yaml": "extends: v3\n"}))
    with pytest.raises(ProtocolError, match=r"protocol.yaml: there is no such file \(a protocol is a folder with"):
        assemble(Files({}))
