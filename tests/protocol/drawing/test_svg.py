import subprocess
import sys
import xml.etree.ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.sample import SAMPLE, rows
from treadle.protocol.drawing.picture import mermaid
from treadle.protocol.drawing.svg import svg
from treadle.protocol.model import Budget, Graph, Handler, Protocol, Route, Step

NS = "{http://www.w3.org/2000/svg}"
TEXTS = st.text(min_size=1, max_size=40)


def named(text: str) -> Protocol:
    step = Step(kind="agent", role=text, symbol=text, exits=("A",), routes={text: rows("@end:Done"), "B": rows("ask")})
    ask = Step(kind="ask", asks="human", routes={text: rows("work")})
    graph = Graph(start="work", ends={"Done": ()}, input=("x", text), steps={"work": step, "ask": ask})
    return Protocol(name="p", version="1", root="g", title=text, graphs={"g": graph})


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter(f"{NS}text")]


def test_every_step_exit_signal_and_outcome_is_shown() -> None:
    shown = texts(svg(SAMPLE))
    steps = {"Ω₁ᴰ plan", "tests", "impl", "review", "merge", "rebase", "judge", "stuck", "sdd-delta", "each"}
    others = {"Merged", "Aborted", "Done", "Failed", "ContextShift", "ChildMerged", "children", "resume", "any step"}
    exits = {"TestsReady", "TestsPassed", "MoreTests", "↻ RequestRetry (max 5)", "↩ retry", "!*"}
    assert (steps | others | exits) - set(shown) == set()


def test_a_single_graph_can_be_drawn() -> None:
    assert "sdd-delta" not in texts(svg(SAMPLE, "node"))


@settings(max_examples=60)
@given(TEXTS)
def test_any_text_gives_well_formed_xml(text: str) -> None:
    ET.fromstring(svg(named(text)))


def test_hostile_text_stays_text() -> None:
    hostile = '</text><script>alert("1")</script>&<!--'
    drawing = svg(named(hostile))
    assert "<script" not in drawing
    assert not list(ET.fromstring(drawing).iter(f"{NS}script"))
    assert "script" in "".join(texts(drawing))


def test_the_same_protocol_gives_the_same_bytes_in_any_process() -> None:
    code = """
from tests.protocol.sample import SAMPLE
from treadle.protocol.drawing.svg import svg
print(svg(SAMPLE), end='')
"""
    drawn = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "src:."},
        ).stdout
        for seed in ("1", "2")
    ]
    assert drawn[0] == drawn[1] == svg(SAMPLE).encode()


def test_light_and_dark_mode_have_their_colours() -> None:
    light, _, dark = svg(SAMPLE).partition("@media (prefers-color-scheme:dark)")
    assert ".paper{fill:#ffffff}" in light
    assert ".paper{fill:#0d1117}" in dark


def test_an_unknown_target_is_drawn_and_does_not_break_the_drawing() -> None:
    step = Step(kind="agent", role="r", exits=("A",), routes={"A": rows("nowhere")})
    broken = Protocol(name="p", version="1", root="g", graphs={"g": Graph(start="b", ends={}, steps={"a": step})})
    assert {"nowhere", "unknown step", "a", "b"} <= set(texts(svg(broken)))


NAMES = ("a", "b", "c", "gate@a", "gate@b", "d")
TARGETS = st.sampled_from([*NAMES, "^a", "@resume", "@end:Done", "@end:Aborted", "nowhere", "@end:Other", "^gate@a"])
ROUTES = st.lists(st.builds(Route, to=TARGETS, charge=st.sampled_from(["", "x"]), over=TARGETS), min_size=1, max_size=3)
STEPS = st.builds(
    Step,
    kind=st.sampled_from(["agent", "effect", "check", "ask", "map"]),
    routes=st.dictionaries(
        st.sampled_from(["A", "B", "Stuck.X", "!crash", "!*", "!gate"]), ROUTES.map(tuple), max_size=4
    ),
)


@settings(max_examples=80)
@given(
    steps=st.lists(STEPS, min_size=6, max_size=6),
    handlers=st.dictionaries(st.sampled_from(["S", "T"]), st.builds(Handler, step=st.sampled_from(NAMES))),
    budget=st.builds(Budget, max=st.just(3), to=TARGETS),
)
def test_any_table_can_be_drawn(steps: list[Step], handlers: dict[str, Handler], budget: Budget) -> None:
    graph = Graph(
        start="a",
        ends={"Done": ()},
        steps=dict(zip(NAMES, steps, strict=True)),
        handlers=handlers,
        budgets={"x": budget},
    )
    protocol = Protocol(name="p", version="1", root="g", graphs={"g": graph})
    assert {"a", "b", "c", "gate", "d"} <= set(texts(svg(protocol)))
    assert mermaid(protocol).startswith("stateDiagram-v2")
