"""Which run, activity or question a command means."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kept import Kept
from tests.cli.treadle import treadle
from tests.recorded import add_run, record
from tests.refusals import refused
from treadle.cli.run_reader import find_run_to_deliver, find_run_to_move, pick
from treadle.protocol.load import load
from treadle.store.sqlite import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The runs of a project of which one, `ended`, has come to a good end."""
    monkeypatch.chdir(tmp_path)
    record(tmp_path, "ended", "fractal")
    store = Store(tmp_path / ".treadle" / "local" / "store.db")
    yield store
    store.close()


@pytest.mark.parametrize(
    ("words", "rest"),
    [((), []), ((None,), []), (("accept",), ["accept"]), (("going",), []), (("going", "a", "b"), ["a", "b"])],
)
def test_the_only_unfinished_run_is_chosen(store: Store, words: tuple[str | None, ...], rest: list[str]) -> None:
    add_run(store, "going", load("fractal"))
    assert find_run_to_move(*words, beside=2) == ("going", rest)


@pytest.mark.parametrize(
    ("words", "beside", "code", "named"),
    [
        ((), 2, "run.ambiguous", ["second, first"]),
        (("accept",), 2, "run.unknown", ["'accept'", "second, first, ended"]),
        (("frist", "accept"), 2, "run.unknown", ["'frist'", "'first'"]),
        (("accept",), 0, "run.unknown", ["'accept'", "second, first, ended"]),
        (("x", "confirm", "accept"), 2, "run.unknown", ["'x'", "second, first, ended"]),
    ],
)
def test_a_run_among_several_has_to_be_named(
    store: Store, words: tuple[str, ...], beside: int, code: str, named: list[str]
) -> None:
    for name in ("first", "second"):
        add_run(store, name, load("fractal"))
    with refused(code, *named):
        find_run_to_move(*words, beside=beside)


@pytest.mark.parametrize(
    ("words", "beside", "named"),
    [(("goign", "accept"), 2, ["'goign'", "'going'"]), (("accept",), 0, ["'accept'", "going, ended"])],
)
def test_an_unknown_name_of_a_run_is_refused(
    store: Store, words: tuple[str, ...], beside: int, named: list[str]
) -> None:
    add_run(store, "going", load("fractal"))
    with refused("run.unknown", *named):
        find_run_to_move(*words, beside=beside)


@pytest.mark.usefixtures("store")
def test_no_run_can_be_moved_once_all_have_ended() -> None:
    with refused("run.none", "`treadle runs`"):
        find_run_to_move()
    assert find_run_to_deliver(None) == "ended"


@pytest.mark.usefixtures("kept")
def test_commands_default_to_the_only_unfinished_run(kept: Kept) -> None:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    early = treadle("deliver")
    assert (early.code, early.out, early.error) == (2, "", "run.none")
    for command, first in (
        (["pause"], "asked sweep-1 to pause"),
        (["send", "StatusQuery"], "sent StatusQuery to root"),
        (["retry", "confirm"], "Is it done?: retry"),
        (["abort"], "asked sweep-1 to abort"),
    ):
        outcome = treadle(*command)
        assert (outcome.code, outcome.out.splitlines()[0]) == (0, first)
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    assert treadle("answer", "accept").out.startswith("Is it done?: accept\n")
    assert kept.git("status", "--short") == ""


KNOWN = ["root:tests#1.1", "root:tests#1.2", "root/a:tests#1.1", "root:impl#1.1"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("root:tests#1.1", "root:tests#1.1"),
        ("root:i", "root:impl#1.1"),
        ("impl", "root:impl#1.1"),
        ("/a", "root/a:tests#1.1"),
        ("root:tests#1.2", "root:tests#1.2"),
    ],
)
def test_a_unique_part_of_a_name_is_enough(word: str, found: str) -> None:
    assert pick(word, KNOWN, "activity") == found


@pytest.mark.parametrize(
    ("word", "code", "named"),
    [
        ("tests", "usage.ambiguous", ["'tests'", "root:tests#1.1, root:tests#1.2, root/a:tests#1.1"]),
        ("root:inpl#1.1", "usage.unknown", ["'root:inpl#1.1'", "'root:impl#1.1'"]),
        ("zzz", "usage.unknown", ["'zzz'", "root:tests#1.1, "]),
        ("", "usage.unknown", ["''"]),
    ],
)
def test_pick_refuses_ambiguous_and_unknown_words(word: str, code: str, named: list[str]) -> None:
    with refused(code, *named):
        pick(word, KNOWN, "activity")


def test_pick_from_an_empty_list_is_refused() -> None:
    with refused("run.unknown", "'x'"):
        pick("x", [], "run")
