"""Where a result is, who is asked about it, and how it is taken over."""

import json
from collections.abc import Callable

import pytest

from tests.cli.chores import ASKING, DECIDING, until
from tests.cli.kept import KEPT, Kept, run
from tests.cli.treadle import status, treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_a_good_end_prints_the_result_branch_and_the_commands_that_take_it_over(kept: Kept) -> None:
    result = run("--merge", "ask")
    assert result.code == 0
    commands = ("\n  treadle deliver sweep-1 ", "\n  git merge --squash treadle/sweep-1/result ")
    for said in (result.out, treadle("status").out):
        assert [text for text in commands if text not in said] == []
    found = status("sweep-1")
    assert (found["outcome"], found["result"]["branch"]) == ("Finished", "treadle/sweep-1/result")
    assert found["result"]["taken"] is False
    assert not (kept.root / "swept").exists(), "nobody has agreed yet"
    taken = treadle("deliver", "sweep-1")
    assert (taken.code, status("sweep-1")["result"]["taken"]) == (0, True)
    assert (kept.root / "swept/floor.txt").read_text() == "clean\n"
    assert kept.git("log", "-1", "--format=%s") == "SWEEP-1: work", "what it is about, not an activity's id"
    assert "Treadle-Activity: root:work#1.1" in kept.git("log", "-1", "--format=%b")
    assert treadle("deliver", "sweep-1").out == taken.out
    assert "main has the result, " in treadle("status").out


def test_json_names_the_result_branch() -> None:
    told = run("--json").json()
    assert (told["schema"], told["code"], told["outcome"]) == (1, 0, "Finished")
    assert {key: told["result"][key] for key in ("branch", "into", "taken", "merge", "why")} == {
        "branch": "treadle/sweep-1/result", "into": "main", "taken": False, "merge": "branch", "why": "",
    }  # fmt: skip
    assert status("sweep-1")["result"] == told["result"]


def dirty(kept: Kept) -> None:
    (kept.root / "swept").mkdir()
    (kept.root / "swept/floor.txt").write_text("mine\n")
    kept.git("add", "swept")


def ahead(kept: Kept) -> None:
    kept.git("commit", "-q", "--allow-empty", "-m", "third")


def elsewhere(kept: Kept) -> None:
    kept.git("checkout", "-q", "-b", "other")


@pytest.mark.parametrize(
    ("happens", "code", "named"),
    [
        (dirty, "deliver.dirty", ["swept/floor.txt", "`treadle deliver sweep-1`"]),
        (ahead, "deliver.moved", ["`treadle deliver sweep-1 --rebase`"]),
        (elsewhere, "deliver.elsewhere", ["main", "`treadle deliver sweep-1`"]),
    ],
)
def test_a_refused_delivery_moves_no_branch(
    kept: Kept, happens: Callable[[Kept], None], code: str, named: list[str]
) -> None:
    run()
    happens(kept)
    before = kept.git("rev-parse", "main", "HEAD")
    result = treadle("deliver", "sweep-1")
    assert (result.code, result.out, result.error) == (2, "", code)
    assert [text for text in named if text not in result.err] == []
    assert kept.git("rev-parse", "main", "HEAD") == before


def test_changes_in_files_outside_of_the_result_do_not_block_a_delivery(kept: Kept) -> None:
    run()
    (kept.root / "chore.yaml").write_text("id: OTHER\n")
    assert treadle("deliver", "sweep-1").code == 0
    assert (kept.root / "chore.yaml").read_text() == "id: OTHER\n"
    assert (kept.root / "swept/floor.txt").read_text() == "clean\n"


def test_a_head_that_was_detached_has_no_branch_to_move(kept: Kept) -> None:
    kept.git("checkout", "-q", "--detach")
    result = run()
    assert "treadle deliver" not in result.out
    assert "treadle/sweep-1/result\n" in result.out
    refused = treadle("deliver", "sweep-1")
    assert (refused.code, refused.error) == (2, "deliver.detached")
    assert "`git branch NAME treadle/sweep-1/result`" in refused.err
    assert "treadle deliver" not in refused.err


def test_only_a_good_end_has_a_result_to_deliver() -> None:
    run("--level", "0")
    assert treadle("deliver", "sweep-1").error == "run.open"
    treadle("abort", "sweep-1")
    aborted = treadle("deliver", "sweep-1")
    assert (aborted.error, "Aborted" in aborted.err) == ("deliver.bad_end", True)
    treadle("run", "chore.yaml", "-p", "decide", "--agent", "scripted:did.yaml")
    assert treadle("deliver", "sweep-1-2").error == "deliver.nothing"


@pytest.mark.parametrize(("answer", "moved"), [(b"y\n", True), (b"n\n", False)])
def test_a_person_at_a_terminal_is_asked(kept: Kept, answer: bytes, moved: bool) -> None:
    words = ("run", "chore.yaml", "-p", "kept", "--agent", "scripted:sweeper.yaml", "--merge", "ask")
    assert "sweep-1? [" in kept.on_terminal(*words, typed=answer)
    assert (kept.root / "swept").exists() is moved


@pytest.mark.parametrize("word", ["auto", "never"])
def test_merge_option_and_setting_take_the_same_words(word: str) -> None:
    by_option, by_setting = run("--merge", word), run("--set", f"git.merge={word}", "--name", "other")
    assert (by_option.code, by_setting.code) == (0, 0)
    assert status("other")["result"]["merge"] == word
    unmoved = "Treadle did not move main: the protocol itself merges nothing into it\n"
    assert (unmoved in by_option.out) is (word == "auto")


def test_serve_prints_which_run_it_drives_and_its_result_branch(kept: Kept) -> None:
    run("--level", "1")
    treadle("go", "sweep-1")
    with kept.background("serve") as serving:
        until(lambda: treadle("runs", "--json").json()["runs"][0]["outcome"], "the run has ended")
        assert serving.stderr is not None
        lines = [serving.stderr.readline() for _ in range(3)]
    assert [line.split()[:2] for line in lines] == [["treadle:", "sweep-1"]] * 3
    assert [line.split()[-1] for line in lines[1:]] == ["Finished", "treadle/sweep-1/result"]


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


def test_deliver_without_a_name_takes_the_only_result_that_is_not_delivered_yet(kept: Kept) -> None:
    sweep(kept, "first")
    assert " first," in treadle("deliver").out
    assert " first," in treadle("deliver").out, "the only one there is"
    sweep(kept, "second")
    assert " second," in treadle("deliver").out
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
    assert " fourth," in treadle("deliver", "--rebase").out
    assert [status(name)["result"]["taken"] for name in ("first", "second", "third", "fourth")] == [True] * 4


def test_alone_it_mentions_results_that_are_not_delivered(kept: Kept) -> None:
    assert "Not delivered" not in treadle().out
    sweep(kept, "first")
    said = treadle().out
    assert "Not delivered" in said
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


def test_an_unfinished_run_is_shown_before_a_later_ended_one() -> None:
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


def test_a_bad_end_leaves_no_result_branch_and_says_where_accepted_work_is(kept: Kept) -> None:
    kept.add("asks", KEPT.replace("protocol: kept", "protocol: asks").replace(DECIDING, ASKING))
    assert treadle("run", "chore.yaml", "-p", "asks", "--agent", "scripted:sweeper.yaml").code == 3
    ended = treadle("answer", "sweep-1", "abort", "--resume")
    assert "git merge --squash" not in ended.out + treadle("status").out
    assert kept.git("for-each-ref", "refs/heads/treadle") == ""
    result = status("sweep-1")["result"]
    assert (result["branch"], result["on_branch"], result["altered"]) == ("treadle/sweep-1/root/int", False, False)
    assert kept.git("rev-parse", result["branch"]) == result["commit"]
    assert kept.git("show", f"{result['branch']}:swept/floor.txt") == "clean"
    assert treadle("deliver", "sweep-1").error == "deliver.bad_end"
