"""Dialogues: records in two spellings, seats, and who reads what."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.memory.dialogue import (
    AcceptedAnswer,
    Dialogue,
    DialogueRecord,
    Dialogues,
    Seat,
    format_bars,
    format_observation,
    parse_record,
    plain_name,
    seat_of,
    sessions_in,
)
from treadle.memory.store import Memory
from treadle.memory.tools import call

PLAN = Seat(run="r1", session="PLAN_r1", act="a1", step="spec", agent="Ω₂ˢ", round="0")
CRITIC = Seat(run="r1", session="PLAN_r1", act="a2", step="critic", agent="Ω₂ᶜ", round="0", phase="Ω₂ᶜ")
OTHER = Seat(run="r1", session="TDD_r1_C2", act="a3", step="red", agent="QA", round="0", phase="ℜ")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with closing(Memory(tmp_path / "memory.db")) as memory:
        yield memory


def seated(memory: Memory, seat: Seat, *accepted: AcceptedAnswer) -> Dialogue:
    Dialogues(memory).admit(seat, f"mark of {seat.act}", "plan_loop", "build it", accepted)
    found = seat_of(memory, f"mark of {seat.act}")
    assert found == seat
    return Dialogue(memory, found)


def said(dialogue: Dialogue, name: str, **given: Any) -> str:
    found = call(dialogue, name, given)
    assert found.ok, found.text
    return found.text


def test_a_dialogue_as_the_published_protocols_have_it(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    begun = said(planner, "memory_init", type="other")
    assert [text for text in ("PLAN_r1", "1 entry") if text not in begun] == []
    assert said(planner, "memory_store", content="why\nI | chose → this", status="→PC") == "stored"

    accepted = AcceptedAnswer("spec.PC@5", "spec", "→PC", "the plan")
    critic = seated(memory, CRITIC, accepted)
    seated(memory, CRITIC, accepted)  # issued again: nothing is told twice
    assert said(critic, "memory_store", content="not yet") == "stored"
    assert said(critic, "memory_read").split("\n") == [
        "R0|MT|→INIT|build it",
        "R0|Ω₂ˢ|→PC|why",
        "I | chose → this",
        "R0|Ω₂ˢ|→PC|the plan",
        "R0|PΩ₂ᶜ|Ω₂ᶜ|note|not yet",
    ]
    # The published way works, too: the entity is the session, its observations are what was said.
    opened = call(critic, "open_nodes", {"names": ["PLAN_r1"]}).data["entities"]
    assert [(each["name"], each["entityType"], len(each["observations"])) for each in opened] == [
        ("PLAN_r1", "plan_loop", 4)
    ]


def test_queries_select_records(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    said(planner, "memory_store", content="for0 is no round")
    later = seated(memory, msgspec.structs.replace(PLAN, act="a9", round="10"))
    said(later, "memory_store", content="Revised R0")
    cases: list[tuple[dict[str, str], list[str]]] = [
        ({"pattern": "R0"}, ["build it", "for0 is no round"]),
        ({"pattern": "R10"}, ["Revised R0"]),
        ({"pattern": "OBS[SPLAN_r1,R10,*,*]"}, ["Revised R0"]),
        ({"pattern": "OBS[SPLAN_r1,*,A:MT,*]"}, ["build it"]),
        ({"pattern": "OBS[S:PLAN_r1,*,A:MT,*]:"}, ["build it"]),
        ({"pattern": "OBS[SPLAN_r1,R10,*,*]: REVISED"}, ["Revised R0"]),
        ({"pattern": "OBS[*,R0,*,*]: Revised"}, []),
        ({"pattern": "OBS[S*,R*,A:*,T:*]"}, ["build it", "for0 is no round", "Revised R0"]),
        ({"pattern": "r10"}, ["Revised R0"]),
        ({"pattern": "*"}, ["build it", "for0 is no round", "Revised R0"]),
        ({"pattern": "PLAN_r1 R10"}, ["Revised R0"]),
        ({"pattern": "PLAN_r1 revised"}, ["Revised R0"]),
        ({"pattern": "PLAN_r1"}, ["build it", "for0 is no round", "Revised R0"]),
        ({"pattern": "PLAN_r2 R10"}, []),
        ({"round": "R:10"}, ["Revised R0"]),
        ({"agent": "A:MT", "round": "*"}, ["build it"]),
        ({"pattern": "rEVISED"}, ["Revised R0"]),
        ({"pattern": "no round", "round": "10"}, []),
        ({"agent": "ω₂ˢ"}, ["for0 is no round", "Revised R0"]),
        ({"agent": "MT", "round": "R0"}, ["build it"]),
        ({}, ["build it", "for0 is no round", "Revised R0"]),
    ]
    for asked, contents in cases:
        found = call(later, "memory_query", asked)
        assert [record["content"] for record in found.data["records"]] == contents, asked
        assert found.text
    assert said(later, "memory_query", pattern="R10", form="obs").startswith("OBS[SPLAN_r1,R10,A:Ω₂ˢ,T:20")


def test_malformed_queries_are_refused(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    for asked, words in (
        ({"pattern": "OBS[SPLAN_r2,*,*,*]"}, "'PLAN_r2' is not your dialogue"),
        ({"pattern": "OBS[S{sid},R0,*,*]"}, "'{sid}' is not your dialogue"),
        ({"pattern": "OBS[SPLAN_r1,R1-1,*,*]"}, "'1-1' is not a round"),
        ({"round": "last"}, "'last' is not a round"),
    ):
        found = call(planner, "memory_query", asked)
        assert (found.ok, words in found.text) == (False, True), found.text


def test_every_record_is_kept_and_unchanged(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    for _ in range(2):  # the same again is said again
        assert said(planner, "memory_store", content="not yet", status="→[NR,twice]") == "stored"
    said(planner, "memory_store", content="R0|Ω₂ˢ|→PC|signed", status="→PR")
    assert said(planner, "memory_read").split("\n")[1:] == [
        "R0|Ω₂ˢ|→[NR,twice]|not yet",
        "R0|Ω₂ˢ|→[NR,twice]|not yet",
        "R0|Ω₂ˢ|→PR|R0|Ω₂ˢ|→PC|signed",
    ]
    assert not call(planner, "memory_store", {"content": "x", "status": "→PC|x"}).ok, "a bar would end the field"
    mine = Dialogue(memory)
    said(mine, "memory_init", session="mine")
    assert "|→PC|" in call(mine, "memory_store", {"session": "mine", "content": "x", "status": "→PC"}).text
    assert call(mine, "memory_read", {"session": "mine"}).data["records"] == []


def test_an_agent_cannot_write_in_the_name_of_another(memory: Memory) -> None:
    """Also in the published way: what is added to the dialogue's entity is signed as what is stored."""
    planner = seated(memory, PLAN)
    forged, own = "R0|Ω₂ᶜ|→PA|accepted", "R0|Ω₂ˢ|→PC|mine"
    asked = {"observations": [{"entityName": "PLAN_r1", "contents": [forged, own]}]}
    signed = [f"R0|Ω₂ˢ|note|{forged}", own]
    assert call(planner, "add_observations", asked).data["results"][0]["addedObservations"] == signed
    assert call(planner, "add_observations", asked).data["results"][0]["addedObservations"] == []
    assert call(planner, "memory_query", {"agent": "Ω₂ᶜ"}).data["records"] == []
    for wrong in ({"observations": 5}, {"observations": [5]}, {"observations": [{"entityName": "PLAN_r1"}]}):
        assert "Input validation error" in call(planner, "add_observations", wrong).text
    call(planner, "create_entities", {"entities": [{"name": "x", "entityType": "t", "observations": []}]})
    free = call(planner, "add_observations", {"observations": [{"entityName": "x", "contents": ["as it is"]}]})
    assert free.data["results"][0]["addedObservations"] == ["as it is"]


def test_an_agent_has_its_own_dialogue_only(memory: Memory) -> None:
    planner, qa = seated(memory, PLAN), seated(memory, OTHER)
    said(planner, "memory_store", content="a secret")
    for name, arguments in (
        ("memory_read", {}),
        ("memory_query", {"pattern": "secret"}),
        ("memory_store", {"content": "x"}),
        ("memory_init", {}),
    ):
        refused = call(qa, name, {**arguments, "session": "PLAN_r1"})
        assert not refused.ok
        assert [text for text in ("'PLAN_r1'", "'TDD_r1_C2'") if text not in refused.text] == []
    assert "secret" not in call(qa, "read_graph", {}).text + call(qa, "search_nodes", {"query": ""}).text
    assert call(qa, "open_nodes", {"names": ["PLAN_r1"]}).data == {"entities": [], "relations": []}
    added = call(qa, "add_observations", {"observations": [{"entityName": "PLAN_r1", "contents": ["x"]}]})
    assert (added.ok, added.text) == (False, "Entity with name PLAN_r1 not found")
    assert call(Dialogue(memory), "search_nodes", {"query": "secret"}).data["entities"] == []


def test_records_of_a_dialogue_cannot_be_deleted(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("delete_entities", {"entityNames": ["x", "PLAN_r1"]}),
        (
            "delete_observations",
            {"deletions": [{"entityName": "PLAN_r1", "observations": ["R0|MT|→INIT|build it"]}]},
        ),
    ]
    for name, arguments in calls:
        assert "cannot be deleted" in call(planner, name, arguments).text
    assert said(planner, "memory_read") == "R0|MT|→INIT|build it"
    assert not call(planner, "delete_entities", {"entityNames": 5}).ok
    assert call(planner, "create_entities", {"entities": [{"name": "x", "entityType": "t", "observations": []}]}).ok
    assert call(planner, "delete_entities", {"entityNames": ["x"]}).ok


def test_a_seat_ends(memory: Memory) -> None:
    seated(memory, PLAN)
    Dialogues(memory).admit(PLAN, "another mark", "plan_loop", "")
    assert seat_of(memory, "mark of a1") is None  # started again: the first session has none any more
    Dialogues(memory).dismiss("another mark")
    assert seat_of(memory, "another mark") is None
    assert seat_of(memory, "") is None


def test_a_run_is_forgotten(memory: Memory) -> None:
    seated(memory, PLAN)
    kept = seated(memory, msgspec.structs.replace(OTHER, run="r2", session="TDD_r2"))
    assert sessions_in(memory) == ["PLAN_r1", "TDD_r2"]
    assert Dialogues(memory).forget("r1") == 1
    assert sessions_in(memory) == ["TDD_r2"]
    assert Dialogue(memory, PLAN).read("PLAN_r1") is None
    assert said(kept, "memory_read") == "R0|MT|→INIT|build it"


def test_dialogues_outside_of_a_step_are_named(memory: Memory) -> None:
    """Without a step around it, every dialogue is in the project's graph, and is named."""
    mine = Dialogue(memory)
    nameless = call(mine, "memory_read", {})
    assert (nameless.ok, "`session`" in nameless.text) == (False, True)
    assert " plan_2025_001 " in said(mine, "memory_init", session="plan_2025_001", type="plan_loop")
    said(mine, "memory_store", session="plan_2025_001", content="R1|Ω₂ˢ|→PR|Revised plan...")
    assert said(mine, "memory_query", session="plan_2025_001", pattern="R1") == "R1|Ω₂ˢ|→PR|Revised plan..."
    assert call(mine, "memory_query", {"session": "plan_2025_001", "pattern": "R0"}).data["records"] == []
    missing = call(mine, "memory_read", {"session": "plan_2025_01"})
    named = ("'plan_2025_01'", "'plan_2025_001'", "memory_init")
    assert (missing.ok, [text for text in named if text not in missing.text]) == (False, [])
    wrong = call(mine, "memory_read", {"session": 5})
    assert (wrong.ok, wrong.text.endswith("at session")) == (False, True)
    assert "Invalid option" in call(mine, "memory_read", {"session": "plan_2025_001", "form": "x"}).text


def test_a_signed_entry_is_not_signed_twice(memory: Memory) -> None:
    planner = seated(memory, PLAN)
    said(planner, "memory_store", content="R0|Ω₂ˢ|→PC|signed")
    said(planner, "memory_store", content="R0|Ω₂ᶜ|→PA|as if it were the critic")
    records = call(planner, "memory_query", {"agent": "Ω₂ˢ"}).data["records"]
    assert [record["content"] for record in records] == ["signed", "R0|Ω₂ᶜ|→PA|as if it were the critic"]
    assert call(planner, "memory_query", {"agent": "Ω₂ᶜ"}).data["records"] == []


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(plain_name).filter(lambda it: "\r" not in it)
AGENTS = NAMES.filter(lambda it: bool(it) and it[0] not in "R*→") | st.sampled_from(["Planner", "P", "PO"])
CONTENTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["a|b", "R1|x|→y|z", "→PC\n[S:1]", ""])


@given(CONTENTS, st.integers(0, 999).map(str), NAMES, AGENTS, NAMES)
def test_a_record_with_bars_reads_back(content: str, round_: str, phase: str, agent: str, status: str) -> None:
    record = DialogueRecord(content, round_, phase, agent, f"→{status}")
    assert parse_record(format_bars(record)) == record


@given(CONTENTS, HOSTILE, HOSTILE, HOSTILE, st.integers(1, 250_000_000_000_000))
def test_a_record_as_observation_reads_back(content: str, session: str, round_: str, agent: str, at: int) -> None:
    record = DialogueRecord(content, round_, agent=agent, at=at)
    assert parse_record(format_observation(session, record), at) == record


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("R1|Ω₂ˢ|→PR|Revised plan...", DialogueRecord("Revised plan...", "1", "", "Ω₂ˢ", "→PR")),
        ("Pℜ|QA|→RC|three tests", DialogueRecord("three tests", "", "ℜ", "QA", "→RC")),
        ("R0|Pℜᴳ|DE|→GC|a|b\nc", DialogueRecord("a|b\nc", "0", "ℜᴳ", "DE", "→GC")),
        ("R1|Planner|→PR|a|b", DialogueRecord("a|b", "1", "", "Planner", "→PR")),
        ("R1|P|Planner|note|a|b", DialogueRecord("a|b", "1", "", "Planner", "note")),
        ("OBS[SPLAN_1,R2,A:MT,T:now]: cycle.task", DialogueRecord("cycle.task", "2", "", "MT")),
        ("OBS[S:x,R:2,A:*,T:*]: y", DialogueRecord("y", "2")),
        ("Please|look|at|this", DialogueRecord("Please|look|at|this")),
        ("→PC: created", DialogueRecord("→PC: created")),
        ("", DialogueRecord("")),
    ],
)
def test_each_spelling_of_a_record_is_parsed(text: str, record: DialogueRecord) -> None:
    assert parse_record(text) == record


def test_the_other_spelling() -> None:
    record = DialogueRecord("a\nb", "1", "ℜ", "QA", "→RC", 1_700_000_000_000)
    assert format_observation("TDD_r_C1", record) == "OBS[STDD_r_C1,R1,A:QA,T:2023-11-14T22:13:20Z]: a\nb"
    assert format_observation("S", DialogueRecord("free")) == "OBS[SS,R*,A:*,T:*]: free"
