"""One record, two spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.memory.record import Record, bars, obs, parse, plain

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(plain).filter(lambda it: "\r" not in it)
AGENTS = NAMES.filter(lambda it: bool(it) and it[0] not in "R*→") | st.sampled_from(["Planner", "P", "PO"])
CONTENTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["a|b", "R1|x|→y|z", "→PC\n[S:1]", ""])


@given(CONTENTS, st.integers(0, 999).map(str), NAMES, AGENTS, NAMES)
def test_what_is_written_with_bars_comes_back(content: str, round_: str, phase: str, agent: str, status: str) -> None:
    record = Record(content, round_, phase, agent, f"→{status}")
    assert parse(bars(record)) == record


@given(CONTENTS, HOSTILE, HOSTILE, HOSTILE, st.integers(1, 250_000_000_000_000))
def test_what_is_written_as_obs_comes_back(content: str, session: str, round_: str, agent: str, at: int) -> None:
    record = Record(content, round_, agent=agent, at=at)
    assert parse(obs(session, record), at) == record


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("R1|Ω₂ˢ|→PR|Revised plan...", Record("Revised plan...", "1", "", "Ω₂ˢ", "→PR")),
        ("Pℜ|QA|→RC|three tests", Record("three tests", "", "ℜ", "QA", "→RC")),
        ("R0|Pℜᴳ|DE|→GC|a|b\nc", Record("a|b\nc", "0", "ℜᴳ", "DE", "→GC")),
        ("R1|Planner|→PR|a|b", Record("a|b", "1", "", "Planner", "→PR")),
        ("R1|P|Planner|note|a|b", Record("a|b", "1", "", "Planner", "note")),
        ("OBS[SPLAN_1,R2,A:MT,T:now]: cycle.task", Record("cycle.task", "2", "", "MT")),
        ("OBS[S:x,R:2,A:*,T:*]: y", Record("y", "2")),
        ("Please|look|at|this", Record("Please|look|at|this")),
        ("→PC: created", Record("→PC: created")),
        ("", Record("")),
    ],
)
def test_spellings(text: str, record: Record) -> None:
    assert parse(text) == record


def test_the_other_spelling() -> None:
    record = Record("a\nb", "1", "ℜ", "QA", "→RC", 1_700_000_000_000)
    assert obs("TDD_r_C1", record) == "OBS[STDD_r_C1,R1,A:QA,T:2023-11-14T22:13:20Z]: a\nb"
    assert obs("S", Record("free")) == "OBS[SS,R*,A:*,T:*]: free"
