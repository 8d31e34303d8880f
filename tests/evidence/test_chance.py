"""Tests that leave something to chance."""

import ast

import pytest

from treadle.evidence.test_quality import chance


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        ("import random", "assert random.random() < 0.5", "random.random()"),
        ("from random import randint", "assert f(randint(1, 6))", "randint(1, 6)"),
        ("from random import choice as pick", "assert f(pick([1]))", "pick([1])"),
        ("from datetime import datetime", "assert f() < datetime.now()", "datetime.now()"),
        ("import random\nrandom.seed(7)", "assert random.random() < 0.5", ""),
        ("import random", "assert f(random.Random(7).random())", ""),
        ("import datetime", "assert f() == datetime.date(2020, 1, 2)", ""),
        ("from cards import choice", "assert choice([1]) == 1", ""),
    ],
)
def test_unseeded_randomness_and_the_clock_are_chance(head: str, body: str, found: str) -> None:
    module = ast.parse(f"{head}\n\ndef test_it():\n    {body}\n")
    test = module.body[-1]
    assert isinstance(test, ast.FunctionDef)
    assert chance(test, module) == found
