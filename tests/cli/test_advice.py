"""What is advised can be copied into a shell."""

import shlex
from pathlib import Path

import pytest

from treadle.cli.advice import word


@pytest.mark.parametrize("text", ["v3", "my spec.yaml", "it's", "a;b", "$HOME", "-"])
def test_a_word_stays_one_word(text: str) -> None:
    assert shlex.split(word(text)) == [text]
    assert shlex.split(word(Path(text))) == [text]


def test_a_word_is_no_option() -> None:
    assert word("-x.yaml") == "./-x.yaml"
