import pytest

from treadle.cli.picking import pick
from treadle.errors import TreadleError

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
def test_as_much_as_only_one_has_is_enough(word: str, found: str) -> None:
    assert pick(word, KNOWN, "activity") == found


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("tests", "'tests' could be root:tests#1.1, root:tests#1.2, root/a:tests#1.1; give more of it"),
        ("root:inpl#1.1", "there is no activity 'root:inpl#1.1'; did you mean 'root:impl#1.1'?"),
        ("zzz", "there is no activity 'zzz'; there are root:tests#1.1, "),
        ("", "there is no activity ''; there are "),
    ],
)
def test_nothing_is_guessed(word: str, said: str) -> None:
    with pytest.raises(TreadleError) as told:
        pick(word, KNOWN, "activity")
    assert said in str(told.value)


def test_where_nothing_is_there_is_none() -> None:
    with pytest.raises(TreadleError, match="there is no run 'x'; there are none yet"):
        pick("x", [], "run")
