"""What was said in a dialogue, as a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import Observation, parse_observation, parse_pattern, render_observation

TIMES = st.just(0) | st.integers(1, 250_000_000_000_000)
SAID = st.builds(Observation, HOSTILE, HOSTILE, HOSTILE, HOSTILE, TIMES)


@given(SAID)
def test_a_rendered_observation_reads_back(observation: Observation) -> None:
    assert parse_observation(render_observation(observation)) == observation


@given(HOSTILE | st.text(st.sampled_from('OBS[]SRAT:,*"\\ a')))
def test_any_text_parses_to_an_observation_or_none(text: str) -> None:
    assert isinstance(parse_observation(f"OBS[S{text}"), Observation | None)
    assert isinstance(parse_pattern(f"OBS[{text}"), Observation | None)


@pytest.mark.parametrize(
    ("text", "observation"),
    [
        ("OBS[SPLAN_1,R2,A:MT,T:now]: cycle.task", Observation("cycle.task", "PLAN_1", "2", "MT")),
        ("OBS[S:x,R:2,A:*,T:*]: y", Observation("y", "x", "2")),
        ("OBS[Sx,R2,A:QA,T:1970-01-01T00:00:01Z]:  two\nlines ", Observation(" two\nlines ", "x", "2", "QA", 1000)),
        ('OBS[S"a,]",R0,A:"*",T:*]: ]: b', Observation("]: b", "a,]", "0", "*")),
        ("OBS[Sx,R2]: y", None),
        ("OBS[Sx,R2,A:QA,T:*] y", None),
        ("OBS: y", None),
    ],
)
def test_a_line_parses_to_its_observation(text: str, observation: Observation | None) -> None:
    assert parse_observation(text) == observation


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("OBS[Sx,R2,*,*]", Observation(session="x", round="2")),
        ("OBS[S:x,*,A:QA,*]:", Observation(session="x", agent="QA")),
        ("OBS[*,*,*,*]", Observation()),
        ("OBS[S*,R1]", Observation(round="1")),
        ("OBS[Sx,R2,*,*]: y", Observation("y", "x", "2")),
        ("OBS[Sx,R2,*,*] y", None),
        ("R2", None),
        ("OBS[nobody]", None),
    ],
)
def test_a_query_parses_to_its_pattern(text: str, wanted: Observation | None) -> None:
    assert parse_pattern(text) == wanted
