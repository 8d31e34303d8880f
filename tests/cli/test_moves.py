"""Commands that move a run which nobody drives, and what they say when that cannot be."""

from pathlib import Path

import pytest

from tests.cli.chores import FAN, Chores
from tests.cli.treadle import treadle


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    return found


def start(chores: Chores, *arguments: str) -> None:
    assert treadle("run", "chores.yaml", "-p", "fan", "--agent", "scripted:did.yaml", *arguments).code == 3
    assert (chores.root / ".treadle/local/store.db").exists()


def test_of_several_questions_the_one_that_is_meant_is_answered(chores: Chores) -> None:
    start(chores)
    either = treadle("answer", "all", "accept")
    assert either.code == 2
    assert "`treadle answer all root/floor:confirm accept|retry|abort`" in either.err
    assert treadle("answer", "all", "root/floor:confirm", "accept").code == 0
    other = treadle("answer", "all", "root/dishes:confirm#1.1", "accept")
    assert (other.code, other.out.splitlines()[-1]) == (0, "all has ended with Finished")


def test_a_question_is_named_by_its_step_wherever_that_was_entered_from(chores: Chores) -> None:
    chores.add("fan", FAN.replace("retry: work", 'retry: "@back"'))
    start(chores)
    assert "root/floor:confirm@work accept" in treadle("status").out
    assert "several open questions" in treadle("answer", "all", "confirm", "accept").err
    assert treadle("answer", "all", "root/floor:confirm", "accept").code == 0
    other = treadle("answer", "all", "confirm", "accept")
    assert (other.code, other.out.splitlines()[-1]) == (0, "all has ended with Finished")


WRONG = [
    (
        ["answer", "all"],
        "say which answer: `treadle answer all root/dishes:confirm accept|retry|abort`; `treadle answer",
    ),
    (["answer", "al", "accept"], "there is no run 'al'; did you mean 'all'?"),
    (["answer", "all", "root/flor:confirm", "accept"], "all has no open question 'root/flor:confirm'"),
    (["answer", "all", "root/floor:confirm", "acept"], "did you mean 'accept'? there are accept, retry, abort"),
    (["skip", "all", "root/floor:confirm"], "'skip' is no answer to root/floor:confirm#1.1 of all"),
    (["retry", "all"], "all has several open questions"),
    (["go", "all", "wrok"], "no step 'wrok' of all waits for a go; there are /again"),
    (["go", "all", "/again"], "several steps of all could go: /again at root/floor, /again at root/dishes"),
    (["go", "all", "/again", "--at", "root/flor"], "did you mean 'root/floor'?"),
    (["pause", "all", "--at", "rot"], "all has no instance 'rot' at work; did you mean 'root'?"),
    (["send", "all", "Critique"], "root of all takes no signal 'Critique' from outside; there are StatusQuery"),
    (["send", "all", "StatusQuery", "--at", "root/flor"], "did you mean 'root/floor'?"),
    (["done", "all", "--exit", "Did"], "nothing of all is in a person's hands"),
]


def test_what_cannot_be_is_told_and_changes_nothing(chores: Chores) -> None:
    start(chores)
    for arguments, said in WRONG:
        result = treadle(*arguments)
        assert (result.code, result.out) == (2, ""), arguments
        assert said in result.err
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
        assert (result.code, f"{chores.root} has no runs yet; `treadle run SPEC` starts one" in result.err) == (2, True)


def test_a_command_of_the_protocol_leads_to_its_step(chores: Chores) -> None:
    start(chores)
    result = treadle("go", "all", "/again", "--at", "root/floor")
    assert result.code == 0
    assert "an agent is next (root/floor:work#2.1); `treadle resume all` starts it" in result.out
    assert "root/dishes cannot go on without a decision" in result.out


def test_a_part_of_a_run_is_aborted_or_paused_alone(chores: Chores) -> None:
    start(chores)
    paused, aborted = treadle("pause", "all", "--at", "root/dishes"), treadle("abort", "all", "--at", "root/floor")
    assert paused.out.startswith("root/dishes of all is to pause\n")
    assert "root/dishes is paused" in paused.out
    assert aborted.out.startswith("root/floor of all is to be aborted\n")
    assert "root/floor cannot go on" not in aborted.out
    resumed = treadle("resume")
    assert (resumed.code, "root/dishes is paused" in resumed.out) == (3, True), "only `resume RUN` takes a pause back"
    assert "paused" not in treadle("resume", "all").out
    assert "all has ended with Failed" in treadle("answer", "all", "accept").out


def test_all_runs_that_nobody_drives_are_resumed_together(chores: Chores) -> None:
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


def test_what_stops_every_run_is_said_once(chores: Chores) -> None:
    start(chores, "--level", "1")
    start(chores, "--level", "1")
    (chores.root / ".git").rename(chores.root / "gone")
    result = treadle("resume")
    assert (result.code, result.err.count("is not a git repository")) == (2, 1)


def test_a_run_that_has_ended_stays_as_it_is(chores: Chores) -> None:
    start(chores)
    assert "all has ended with Aborted" in treadle("abort", "all").out
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
        assert (result.code, "all has ended with Aborted" in result.err) == (2, True), command


def test_a_choice_whose_note_is_the_answer_is_refused_without_one(chores: Chores) -> None:
    path = chores.root / ".treadle/protocols/ask/protocol.yaml"
    path.write_text(
        path.read_text().replace("        choices: {accept", "        notes: [retry]\n        choices: {accept")
    )
    begun = treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml")
    assert "  treadle answer sweep-1 retry --note …  once more\n" in begun.out
    assert "  treadle answer sweep-1 retry --note …  once more\n" in treadle("status").out
    for note in ([], ["--note", "  "]):
        refused = treadle("retry", "sweep-1", *note)
        assert (refused.code, refused.out) == (2, "")
        assert "`treadle answer sweep-1 root:confirm retry --note TEXT`" in refused.err
    choices = treadle("status", "sweep-1", "--json").json()["questions"][0]["choices"]
    assert [one["needs_note"] for one in choices] == [False, True, False]
    assert treadle("answer", "sweep-1", "retry", "--note", "the corners, too").code == 0


def test_whoever_asks_how_an_instance_stands_is_told_at_once(chores: Chores) -> None:
    start(chores)
    result = treadle("send", "all", "StatusQuery", "--at", "root/floor")
    assert result.code == 0
    assert result.out.splitlines()[:2] == [
        "StatusQuery is sent to root/floor",
        "root/floor: confirm · asks a person: accept, retry, abort",
    ]
