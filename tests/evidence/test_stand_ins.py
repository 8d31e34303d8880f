"""Means to put something in the place of the code under test."""

import pytest

from treadle.evidence.sharpness import has_means


@pytest.mark.parametrize(
    ("path", "text", "has"),
    [
        ("tests/test_a.py", "def test_a():\n    assert add(1, 2) == 3\n", False),
        ("tests/conftest.py", "", True),
        ("tests/making.py", "import add\nsetattr(add, 'add', None)\n", True),
        ("tests/test_a.py", "@pytest.fixture\ndef add():\n    return sum\n", True),
        ("tests/test_a.py", "def test_a(monkeypatch):\n    assert add(1, 2) == 3\n", True),
        ("tests/test_a.py", "def test_a():\n    assert dispatch(1, 2) == 3\n", False),
    ],
)
def test_stand_ins_are_recognised_by_file_name_and_by_words(path: str, text: str, has: bool) -> None:
    assert has_means({"tests/test_other.py": "", path: text}) is has
