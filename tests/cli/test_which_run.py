"""Commands that change a run, and do not name it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kept import Kept
from tests.cli.treadle import treadle
from tests.recorded import add_run, record
from treadle.cli.which_run import to_deliver, to_move
from treadle.errors import TreadleError
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
def test_the_only_run_that_goes_on_is_meant(store: Store, words: tuple[str | None, ...], rest: list[str]) -> None:
    add_run(store, "going", load("fractal"))
    assert to_move(*words, beside=2) == ("going", rest)


@pytest.mark.parametrize(
    ("words", "beside", "said"),
    [
        ((), 2, "say which run: second, first"),
        (("accept",), 2, "there is no run 'accept'; there are second, first, ended"),
        (("frist", "accept"), 2, "there is no run 'frist'; did you mean 'first'?"),
        (("accept",), 0, "there is no run 'accept'; there are second, first, ended"),
        (("x", "confirm", "accept"), 2, "there is no run 'x'; there are second, first, ended"),
    ],
)
def test_among_several_none_is_chosen(store: Store, words: tuple[str, ...], beside: int, said: str) -> None:
    for name in ("first", "second"):
        add_run(store, name, load("fractal"))
    with pytest.raises(TreadleError) as told:
        to_move(*words, beside=beside)
    assert str(told.value) == said


@pytest.mark.parametrize(
    ("words", "beside", "said"),
    [
        (("goign", "accept"), 2, "there is no run 'goign'; did you mean 'going'?"),
        (("accept",), 0, "there is no run 'accept'; there are going, ended"),
    ],
)
def test_a_name_that_is_wrong_is_not_passed_over(store: Store, words: tuple[str, ...], beside: int, said: str) -> None:
    add_run(store, "going", load("fractal"))
    with pytest.raises(TreadleError) as told:
        to_move(*words, beside=beside)
    assert str(told.value) == said


@pytest.mark.usefixtures("store")
def test_where_every_run_has_ended_that_is_said() -> None:
    with pytest.raises(TreadleError, match="every run has ended; `treadle runs` lists those there are"):
        to_move()
    assert to_deliver(None) == "ended"


@pytest.mark.usefixtures("kept")
def test_the_commands_take_it(kept: Kept) -> None:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    early = treadle("deliver")
    assert (early.code, early.out, early.error) == (2, "", "run.none")
    for command, first in (
        (["pause"], "sweep-1 is to pause"),
        (["send", "StatusQuery"], "StatusQuery is sent to root"),
        (["retry", "confirm"], "Is it done?: retry"),
        (["abort"], "sweep-1 is to be aborted"),
    ):
        outcome = treadle(*command)
        assert (outcome.code, outcome.out.splitlines()[0]) == (0, first)
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    assert treadle("answer", "accept").out.startswith("Is it done?: accept\n")
    assert kept.git("status", "--short") == ""
