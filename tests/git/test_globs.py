"""Globs as scopes use them."""

import pytest

from treadle.git.globs import matches


@pytest.mark.parametrize(
    ("path", "globs", "expected"),
    [
        ("src/a.py", ["src/**"], True),
        ("src/deep/a.py", ["src/**"], True),
        ("src", ["src/**"], False),
        ("src", ["src"], True),
        ("src/a.py", ["src/*.py"], True),
        ("src/deep/a.py", ["src/*.py"], False),
        ("a/tests/b.py", ["**/tests/**"], True),
        ("tests/b.py", ["**/tests/**"], True),
        ("src/a.py", ["src/**", "!src/a.py"], False),
        ("src/a.py", ["!src/a.py"], False),
        ("a.py", ["?.py"], True),
        ("a[1].py", ["a[1].py"], True),
        ("a1.py", ["a[1].py"], False),
        ("x\ny", ["**"], True),
        ("src/a.py", ["./src/"], False),
        ("src/x_test.py", ["**/*_test.py"], True),
    ],
)
def test_matches(path: str, globs: list[str], expected: bool) -> None:
    assert matches(path, globs) is expected
