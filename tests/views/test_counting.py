"""Numbers of things, as people say them."""

import pytest

from treadle.views.words import count_words


@pytest.mark.parametrize(
    ("count", "noun", "many", "said"),
    [
        (0, "event", "", "0 events"),
        (1, "event", "", "1 event"),
        (1, "branch", "branches", "1 branch"),
        (2, "branch", "branches", "2 branches"),
    ],
)
def test_one_is_singular_and_others_are_plural(count: int, noun: str, many: str, said: str) -> None:
    assert count_words(count, noun, many) == said
