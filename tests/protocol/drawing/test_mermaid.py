import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.node_tools import check_mermaid
from tests.protocol.sample import SAMPLE, rows
from treadle.protocol.drawing.picture import mermaid, text
from treadle.protocol.model import Exit, Graph, Protocol, Role, Step

HOSTILE = [
    "quote \" and ' end",
    "semi; colon: double::colon",
    "line\nbreak } end",
    "<script>alert(1)</script>",
    "#35; %% comment { [*] --> x }",
    "back\\slash `tick` &amp;",
    "state end note class",
]


def hostile(name: str) -> Protocol:
    """A protocol whose every free text is hostile; its names are such as the loader accepts."""
    step = Step(kind="agent", role=name, symbol=name, exits=("A",), routes={"A": rows("@end:Done"), name: rows("end")})
    ask = Step(kind="ask", asks="human", title=name, routes={name: rows("state")})
    graph = Graph(start="state", ends={"Done": ()}, input=("x", name), steps={"state": step, "end": ask})
    return Protocol(
        name="p",
        version="1",
        root="note",
        title=name,
        exits={"A": Exit()},
        roles={name: Role()},
        graphs={"note": graph},
    )


def test_a_composite_state_per_graph_with_its_edges() -> None:
    found = mermaid(SAMPLE).splitlines()
    assert found[0] == "stateDiagram-v2"
    assert '  state "stories" as stories__ {' in found
    assert '  state "node (Spec)" as node__ {' in found
    for edge in (
        "[*] --> node__plan",
        "node__tests --> node__impl : TestsReady",
        "node__merge --> [*] : MergeComplete<br/>✉ ContextShift → siblings<br/>✉ ChildMerged → parent<br/>⇒ Merged",
        "node_1__signal_rebase --> node_1__rebase",
        "node_1__rebase --> node_1__resume : RebaseClean",
        "node__plan --> node__group_children : InitWork<br/>spawns",
        "node__group_children --> node__impl : all good",
        "node__any --> node__stuck : !*",
    ):
        assert f"    {edge}" in found


def test_symbols_survive_and_names_become_identifiers() -> None:
    found = mermaid(SAMPLE)
    assert 'state "Ω₁ᴰ plan<br/>planner" as node__plan' in found
    assert 'state "sdd-delta<br/>planner<br/>waits for go" as stories__sdd_delta' in found


def test_a_single_graph_can_be_drawn() -> None:
    assert "node__" not in mermaid(SAMPLE, "stories")


def test_names_that_differ_only_in_signs_stay_apart() -> None:
    steps = {
        name: Step(kind="agent", role="r", exits=("A",), routes={"A": rows("@end:Done")})
        for name in ("a-b", "a_b", "a.b")
    }
    graph = Graph(start="a-b", ends={"Done": ()}, steps=steps)
    found = mermaid(Protocol(name="p", version="1", root="g", graphs={"g": graph}))
    assert re.findall(r'" as (g__a\w+)', found) == ["g__a_b", "g__a_b_2", "g__a_b_3"]


def test_live_positions_are_highlighted_also_in_a_cloned_gate() -> None:
    found = mermaid(SAMPLE, live=[("node", "stuck@impl"), ("node", "tests")])
    assert "  class node__stuck live" in found
    assert "  class node__tests live" in found
    assert "  class node__stuck ask" in mermaid(SAMPLE)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_contains_no_mermaid_syntax(name: str) -> None:
    shown = re.sub(r"#\d+;", "", text(name))
    assert not set(shown) & set('"#;:<>&%{}[]\\`\n')


def test_the_real_mermaid_accepts_it(tmp_path: Path) -> None:
    files = []
    for number, protocol in enumerate([SAMPLE, *map(hostile, HOSTILE)]):
        files.append(tmp_path / f"{number}.mmd")
        files[-1].write_text(mermaid(protocol, live=[(protocol.root, "state")]))
    result = check_mermaid(*files)
    assert result.returncode == 0, result.stderr


def test_a_graph_without_an_edge_is_accepted_too(tmp_path: Path) -> None:
    graph = Graph(start="a", ends={}, steps={"a": Step(kind="agent", role="r")})
    file = tmp_path / "bare.mmd"
    file.write_text(mermaid(replace(SAMPLE, graphs={"g": graph})))
    result = check_mermaid(file)
    assert result.returncode == 0, result.stderr
