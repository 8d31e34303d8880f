"""Tests that show nothing."""

import pytest

from treadle.evidence.test_quality import smells


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", "asserts nothing"),
        ("f()", "asserts nothing"),
        ("assert True", "asserts only what always holds: True"),
        ("assert x == x", "x == x"),
        ("assert (f() == 1, 'message')", "asserts only"),
        ("assert True or f()", "asserts only"),
        ("assert not False", "asserts only"),
        ("assert f() == f()", ""),
        ("assert f() == 1", ""),
        ("assert True\n    assert f()", ""),
        ("with pytest.raises(ValueError):\n        f()", ""),
        ("self.assertEqual(f(), 1)", ""),
        ("is_right(f())", ""),
        ("mock.assert_called_once()", ""),
        ("expect(f()).to_be(1)", ""),
    ],
)
def test_smells(body: str, said: str) -> None:
    source = f"def is_right(x):\n    assert x == 1\n\n\ndef test_it(self):\n    {body}\n"
    found = smells(source)
    assert bool(found) == bool(said)
    assert not found or (said in found[0].what and found[0].line == 5)


def test_methods_are_tests_too_and_no_program_is_no_smell() -> None:
    assert smells("class TestX:\n    def test_it(self):\n        pass\n")[0].test == "TestX::test_it"
    assert smells("def test_it(:\n") == []
