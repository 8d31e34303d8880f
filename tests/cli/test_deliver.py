"""Where a result is, who is asked about it, and how it is taken over."""

import json
from collections.abc import Callable

import pytest

from tests.cli.chores import until
from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_a_good_end_says_where_the_result_is_and_how_it_is_taken_over(kept: Kept) -> None:
    result = run("--merge", "ask")
    assert result.code == 0
    said = (
        "sweep-1 has ended with Finished\n"
        "the result is on the branch treadle/sweep-1/result\n"
        "  treadle deliver sweep-1  moves main forward to it\n"
        "  git merge --squash treadle/sweep-1/result  takes it over by hand;"
    )
    assert said in result.out
    assert said.partition("\n")[2] in treadle("status").out
    assert not (kept.root / "swept").exists(), "nobody has agreed yet"
    taken = treadle("deliver", "sweep-1")
    assert (taken.code, taken.out.startswith("main has the result of sweep-1, ")) == (0, True)
    assert (kept.root / "swept/floor.txt").read_text() == "clean\n"
    assert kept.git("log", "-1", "--format=%s") == "SWEEP-1: work", "what it is about, not an activity's id"
    assert "Treadle-Activity: root:work#1.1" in kept.git("log", "-1", "--format=%b")
    assert treadle("deliver", "sweep-1").out == taken.out
    assert "main has the result, " in treadle("status").out


def test_programs_are_told_where_the_result_is() -> None:
    told = run("--json").json()
    assert (told["schema"], told["code"], told["outcome"]) == (1, 0, "Finished")
    assert {key: told["result"][key] for key in ("branch", "into", "taken", "merge", "why")} == {
        "branch": "treadle/sweep-1/result", "into": "main", "taken": False, "merge": "branch", "why": "",
    }  # fmt: skip
    assert treadle("status", "sweep-1", "--json").json()["result"] == told["result"]


def dirty(kept: Kept) -> None:
    (kept.root / "swept").mkdir()
    (kept.root / "swept/floor.txt").write_text("mine\n")
    kept.git("add", "swept")


def ahead(kept: Kept) -> None:
    kept.git("commit", "-q", "--allow-empty", "-m", "third")


def elsewhere(kept: Kept) -> None:
    kept.git("checkout", "-q", "-b", "other")


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (
            dirty,
            "in files that the result changes: swept/floor.txt; mend that, then `treadle deliver sweep-1`",
        ),
        (
            ahead,
            "`treadle deliver sweep-1 --rebase`",
        ),
        (elsewhere, "main was not moved: you are not on main any more; mend that, then `treadle deliver sweep-1`"),
    ],
)
def test_what_stands_in_the_way_is_told_and_changes_nothing(
    kept: Kept, happens: Callable[[Kept], None], why: str
) -> None:
    run()
    happens(kept)
    before = kept.git("rev-parse", "main", "HEAD")
    result = treadle("deliver", "sweep-1")
    assert (result.code, result.out) == (2, "")
    assert why in result.err
    assert kept.git("rev-parse", "main", "HEAD") == before


def test_changes_in_files_that_the_result_leaves_alone_are_in_nobodys_way(kept: Kept) -> None:
    run()
    (kept.root / "chore.yaml").write_text("id: OTHER\n")
    assert treadle("deliver", "sweep-1").code == 0
    assert (kept.root / "chore.yaml").read_text() == "id: OTHER\n"
    assert (kept.root / "swept/floor.txt").read_text() == "clean\n"


def test_a_head_that_was_detached_has_no_branch_to_move(kept: Kept) -> None:
    kept.git("checkout", "-q", "--detach")
    result = run()
    assert "treadle deliver" not in result.out
    assert "the result is on the branch treadle/sweep-1/result\n" in result.out
    said = treadle("deliver", "sweep-1").err
    assert "your head was detached" in said
    assert "`git branch NAME treadle/sweep-1/result`" in said
    assert "mend that" not in said


def test_only_a_good_end_has_something_to_take_over() -> None:
    run("--level", "0")
    assert "sweep-1 has not ended" in treadle("deliver", "sweep-1").err
    treadle("abort", "sweep-1")
    assert "sweep-1 has ended with Aborted" in treadle("deliver", "sweep-1").err
    treadle("run", "chore.yaml", "-p", "decide", "--agent", "scripted:did.yaml")
    assert "sweep-1-2 has changed nothing" in treadle("deliver", "sweep-1-2").err


@pytest.mark.parametrize(("answer", "moved"), [(b"y\n", True), (b"n\n", False)])
def test_a_person_at_a_terminal_is_asked(kept: Kept, answer: bytes, moved: bool) -> None:
    words = ("run", "chore.yaml", "-p", "kept", "--agent", "scripted:sweeper.yaml", "--merge", "ask")
    assert "Move main forward to the result of sweep-1?" in kept.on_terminal(*words, typed=answer)
    assert (kept.root / "swept").exists() is moved


@pytest.mark.parametrize("word", ["auto", "never"])
def test_the_words_of_the_option_are_those_of_the_setting(word: str) -> None:
    by_option, by_setting = run("--merge", word), run("--set", f"git.merge={word}", "--name", "other")
    assert (by_option.code, by_setting.code) == (0, 0)
    assert treadle("status", "other", "--json").json()["result"]["merge"] == word
    unmoved = "main was not moved: the protocol itself merges nothing into it\n"
    assert (unmoved in by_option.out) is (word == "auto")


def test_a_served_run_says_that_it_is_driven_and_where_its_result_is(kept: Kept) -> None:
    run("--level", "1")
    treadle("go", "sweep-1")
    with kept.background("serve") as serving:
        until(lambda: treadle("runs", "--json").json()["runs"][0]["outcome"], "the run has ended")
        assert serving.stderr is not None
        lines = [serving.stderr.readline() for _ in range(3)]
    assert lines == [
        "treadle: sweep-1 is taken up where it was\n",
        "treadle: sweep-1 has ended with Finished\n",
        "treadle: sweep-1 the result is on the branch treadle/sweep-1/result\n",
    ]


def test_refused_work_is_not_called_accepted(kept: Kept) -> None:
    turn = {"write": {"elsewhere.txt": "dust\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "sloppy.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    assert run(agent="scripted:sloppy.yaml").code == 3
    ended = treadle("abort", "sweep-1")
    assert "sweep-1" in ended.out
    assert "what was accepted" not in ended.out + treadle("status").out


def sweep(kept: Kept, name: str) -> None:
    """A run that leaves a file of its own."""
    turn = {"write": {f"swept/{name}.txt": "clean\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "sweeper.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    assert run("--name", name).code == 0


def test_only_what_is_not_delivered_yet_can_be_meant(kept: Kept) -> None:
    sweep(kept, "first")
    assert treadle("deliver").out.startswith("main has the result of first, ")
    assert treadle("deliver").out.startswith("main has the result of first, "), "the only one there is"
    sweep(kept, "second")
    assert treadle("deliver").out.startswith("main has the result of second, ")
    nothing = treadle("deliver")
    assert (nothing.code, nothing.error, "second, first" in nothing.err) == (2, "deliver.nothing", True)
    sweep(kept, "third")
    sweep(kept, "fourth")
    either = treadle("deliver")
    assert (either.error, "fourth, third" in either.err) == ("run.ambiguous", True)
    kept.git("merge", "-q", "--squash", "treadle/third/result")
    kept.git("commit", "-q", "-m", "by hand")
    assert "main has the result, " in treadle("status", "third").out
    assert "`treadle deliver fourth --rebase`" in treadle("deliver").err, "nothing is left of third"
    assert treadle("deliver", "--rebase").out.startswith("main has the result of fourth, ")


def test_alone_it_mentions_a_result_that_nobody_has_taken_over(kept: Kept) -> None:
    assert "Not taken over" not in treadle().out
    sweep(kept, "first")
    said = treadle().out
    assert "Not taken over yet: the result of the run first." in said
    assert "  treadle deliver first " in said
    kept.git("checkout", "-q", "-b", "other")
    assert "treadle deliver first " in treadle().out
    kept.git("checkout", "-q", "main")
    assert treadle("deliver").code == 0
    assert "deliver" not in treadle().out
    kept.git("checkout", "-q", "other")
    assert "deliver" not in treadle().out, "main has it"
    kept.git("checkout", "-q", "main")
    sweep(kept, "second")
    assert "treadle deliver second " in treadle().out
    kept.git("merge", "-q", "--squash", "treadle/second/result")
    kept.git("commit", "-q", "-m", "by hand")
    assert "deliver" not in treadle().out


def test_what_goes_on_is_shown_before_what_has_ended_later() -> None:
    def below() -> str:
        return treadle("status").out.rpartition("\n\n")[2]

    assert run("--level", "1", "--name", "first").code == 3
    assert run("--level", "1", "--name", "second").code == 3
    hints = [line.partition("  ")[0] for line in below().splitlines()]
    assert hints == ["treadle status second", "treadle status first"], "of several, each is named with its command"
    assert treadle("abort", "second").code == 0
    assert below().startswith("first "), "it waits for a person"
    assert treadle("status", "second").out.startswith("second ")
    assert treadle("abort", "first").code == 0
    assert below().startswith("second ")
