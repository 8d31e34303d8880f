"""Words of the language, and names that authors give."""

import pytest

from treadle.protocol.reading.keywords import is_keyword


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("", "limits"),
        ("limits", "agents"),
        ("graphs main steps work", "attempts"),
        ("graphs main steps work routes Stuck.Loop", "charge"),
        ("exits Done", "severity"),
        ("exits Done why", "help"),
        ("types Bug", "about"),
    ],
)
def test_a_word(path: str, key: str) -> None:
    assert is_keyword(tuple(path.split()), key)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("graphs", "main"),
        ("graphs main steps", "work"),
        ("graphs main steps work routes", "Done"),
        ("roles", "de"),
        ("pools", "merges"),
        ("exits", "Done"),
        ("exits Done", "why"),
        ("types Bug", "severity"),
    ],
)
def test_a_name(path: str, key: str) -> None:
    assert not is_keyword(tuple(path.split()), key)
