"""Commands that move a run which nobody drives, and what they say when that cannot be."""

from pathlib import Path

import pytest

from tests.cli.chores import FAN, Chores
from tests.cli.treadle import status, treadle


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    return found


def start(chores: Chores, *arguments: str) -> None:
    assert treadle("run", "chores.yaml", "-p", "fan", "--agent", "scripted:did.yaml", *arguments).code == 3
    assert (chores.root / ".treadle/local/store.db").exists()


def test_of_several_questions_the_named_one_is_answered(chores: Chores) -> None:
    start(chores)
    either = treadle("answer", "all", "accept")
    assert (either.code, either.error) == (2, "answer.ambiguous")
    assert "root/floor:confirm accept|retry|abort`" in either.err
    assert treadle("answer", "all", "root/floor:confirm", "accept").code == 0
    other = treadle("answer", "all", "root/dishes:confirm#1.1", "accept")
    assert (other.code, status("all")["outcome"]) == (0, "Finished")


def test_a_question_is_named_by_its_step_even_if_it_was_entered_from_another(chores: Chores) -> None:
    chores.add("fan", FAN.replace("retry: work", 'retry: "@back"'))
    start(chores)
    assert "root/floor:confirm@work accept" in treadle("status").out
    assert treadle("answer", "all", "confirm", "accept").error == "answer.ambiguous"
    assert treadle("answer", "all", "root/floor:confirm", "accept").code == 0
    other = treadle("answer", "all", "confirm", "accept")
    assert (other.code, status("all")["outcome"]) == (0, "Finished")


WRONG = [
    ("answer all", "answer.missing", ["root/dishes:confirm accept|retry|abort", "root/floor:confirm"]),
    ("answer al accept", "run.unknown", ["'al'", "'all'"]),
    ("answer all root/flor:confirm accept", "answer.no_question", ["'root/flor:confirm'"]),
    ("answer all root/floor:confirm acept", "answer.unknown", ["'accept'", "accept, retry, abort"]),
    ("skip all root/floor:confirm", "answer.unknown", ["'skip'", "root/floor:confirm#1.1"]),
    ("retry all", "answer.ambiguous", ["root/floor:confirm", "root/dishes:confirm"]),
    ("go all wrok", "go.unknown", ["'wrok'", "/again"]),
    ("go all /again", "go.ambiguous", ["/again at root/floor, /again at root/dishes"]),
    ("go all /again --at root/flor", "run.no_instance", ["'root/flor'", "'root/floor'"]),
    ("pause all --at rot", "run.no_instance", ["'rot'", "'root'"]),
    ("send all Critique", "signal.unknown", ["'Critique'", "StatusQuery"]),
    ("send all StatusQuery --at root/flor", "run.no_instance", ["'root/flor'", "'root/floor'"]),
    ("done all --exit Did", "work.none", ["all"]),
]


def test_a_refused_command_leaves_the_questions_open(chores: Chores) -> None:
    start(chores)
    for command, code, named in WRONG:
        result = treadle(*command.split())
        assert (result.code, result.out, result.error) == (2, "", code), command
        assert [text for text in named if text not in result.err] == [], command
    assert "root/floor:confirm accept" in treadle("answer", "all", "accept").err, "the questions are still open"


def test_without_any_run_each_command_says_how_to_start_one(chores: Chores) -> None:
    for command in (
        "answer x y",
        "go x",
        "retry x",
        "skip x",
        "send x y",
        "pause x",
        "abort x",
        "done x",
        "resume",
        "resume x",
    ):
        result = treadle(*command.split())
        assert (result.code, result.error) == (2, "run.none"), command
        assert [text for text in (str(chores.root), "`treadle run SPEC`") if text not in result.err] == []


def test_a_command_of_the_protocol_leads_to_its_step(chores: Chores) -> None:
    start(chores)
    result = treadle("go", "all", "/again", "--at", "root/floor")
    assert result.code == 0
    assert [text for text in ("(root/floor:work#2.1)", "`treadle resume all`") if text not in result.out] == []
    assert [question["id"] for question in status("all")["questions"]] == ["root/dishes:confirm#1.1"]


def test_a_part_of_a_run_is_aborted_or_paused_alone(chores: Chores) -> None:
    start(chores)
    paused, aborted = treadle("pause", "all", "--at", "root/dishes"), treadle("abort", "all", "--at", "root/floor")
    assert (paused.code, "root/dishes is paused" in paused.out) == (0, True)
    assert (aborted.code, [ask["instance"] for ask in status("all")["questions"]]) == (0, ["root/dishes"])
    resumed = treadle("resume")
    assert (resumed.code, "root/dishes is paused" in resumed.out) == (3, True), "only `resume RUN` takes a pause back"
    assert "paused" not in treadle("resume", "all").out
    treadle("answer", "all", "accept")
    assert status("all")["outcome"] == "Failed"


def test_resume_takes_up_all_runs_without_a_driver(chores: Chores) -> None:
    start(chores, "--level", "1")
    start(chores, "--level", "1")
    treadle("go", "all", "work", "--at", "root/floor")
    treadle("go", "all-2", "work", "--at", "root/floor")
    result = treadle("resume", "--json")
    assert result.code == 3
    assert [(one["run"], len(one["questions"]), len(one["starts"])) for one in result.json()] == [
        ("all", 1, 1),
        ("all-2", 1, 1),
    ]


def test_an_error_that_stops_every_run_is_printed_once(chores: Chores) -> None:
    start(chores, "--level", "1")
    start(chores, "--level", "1")
    (chores.root / ".git").rename(chores.root / "gone")
    result = treadle("resume")
    assert (result.code, result.error, result.err.count(str(chores.root))) == (2, "git.no_repository", 1)


def test_a_run_that_has_ended_stays_as_it_is(chores: Chores) -> None:
    start(chores)
    treadle("abort", "all")
    assert status("all")["outcome"] == "Aborted"
    for command in (
        "answer all accept",
        "go all",
        "send all StatusQuery",
        "pause all",
        "abort all",
        "done all --exit Did",
        "resume all",
    ):
        result = treadle(*command.split())
        assert (result.code, result.error, "Aborted" in result.err) == (2, "run.ended", True), command


def test_a_choice_that_needs_a_note_is_refused_without_one(chores: Chores) -> None:
    path = chores.root / ".treadle/protocols/ask/protocol.yaml"
    path.write_text(
        path.read_text().replace("        choices: {accept", "        notes: [retry]\n        choices: {accept")
    )
    begun = treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml")
    assert "answer sweep-1 retry --note …" in begun.out
    assert "answer sweep-1 retry --note …" in treadle("status").out
    for note in ([], ["--note", "  "]):
        refused = treadle("retry", "sweep-1", *note)
        assert (refused.code, refused.out, refused.error) == (2, "", "answer.no_note")
        assert "root:confirm retry --note TEXT`" in refused.err
    choices = treadle("status", "sweep-1", "--json").json()["questions"][0]["choices"]
    assert [one["needs_note"] for one in choices] == [False, True, False]
    assert treadle("answer", "sweep-1", "retry", "--note", "the corners, too").code == 0


def test_a_status_query_is_answered_at_once(chores: Chores) -> None:
    start(chores)
    result = treadle("send", "all", "StatusQuery", "--at", "root/floor")
    assert result.code == 0
    sent, answer = result.out.splitlines()[:2]
    assert [text for text in ("StatusQuery", "root/floor") if text not in sent] == []
    assert [text for text in ("root/floor: confirm", "accept, retry, abort") if text not in answer] == []
