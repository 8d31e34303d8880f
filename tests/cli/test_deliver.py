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
        "the result is on the branch treadle/sweep-1/root/int\n"
        "  treadle deliver sweep-1  moves main forward to it\n"
        "  git merge --squash treadle/sweep-1/root/int  takes it over by hand;"
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
        "branch": "treadle/sweep-1/root/int", "into": "main", "taken": False, "merge": "branch", "why": "",
    }  # fmt: skip
    assert treadle("status", "--json").json()["result"] == told["result"]


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
            "main was not moved: main has moved since; `git merge --squash treadle/sweep-1/root/int` takes it over",
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
    assert "the result is on the branch treadle/sweep-1/root/int\n" in result.out
    said = treadle("deliver", "sweep-1").err
    assert "your head was detached" in said
    assert "`git branch NAME treadle/sweep-1/root/int`" in said
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
        "treadle: sweep-1 the result is on the branch treadle/sweep-1/root/int\n",
    ]


def test_refused_work_is_not_called_accepted(kept: Kept) -> None:
    turn = {"write": {"elsewhere.txt": "dust\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "sloppy.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    assert run(agent="scripted:sloppy.yaml").code == 3
    ended = treadle("abort", "sweep-1")
    assert "sweep-1" in ended.out
    assert "what was accepted" not in ended.out + treadle("status").out
