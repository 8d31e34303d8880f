"""Code whose answers may hang on who asks."""

import pytest

from treadle.evidence.checks.knows_tests import peeks

EQ = "class A:\n    def __eq__(self, other):\n        {}\n"


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("def f(e):\n    return e.__traceback__.tb_frame\n", 2, "frames of its callers (`tb_frame`)"),
        ("import sys\nX = sys.argv[1:]\n", 2, "command line (`sys.argv`)"),
        ("def f():\n    return 1 if 'a' in sys.argv else 0\n", 2, "command line (`sys.argv`)"),
        ("def f():\n    if 'a' in os.getcwd():\n        return 1\n", 2, "where it runs (`os.getcwd`"),
        ("X = 1 if 'a' in __file__ else 0\n", 1, "where it runs (`__file__`"),
        ("X = open('tests/test_a.py')\n", 1, "looks for test files"),
        ("X = here.rglob('test_*.py')\n", 1, "looks for test files"),
        ("X = ast.parse(here.read_text())\n", 1, "parses source code"),
        ("X = inspect.getsource(f)\n", 1, "reads source code"),
        ("def f():\n    global n\n    n += 1\n    return n < 60\n", 3, "counts its calls"),
        (EQ.format("return True"), 2, "without looking at `self` (`A.__eq__`)"),
        (EQ.format("return 0 <= other < 9"), 2, "without looking at `self` (`A.__eq__`)"),
    ],
)
def test_code_that_depends_on_its_caller_is_reported(source: str, line: int, said: str) -> None:
    assert [(at, said in what) for at, what in peeks(source)] == [(line, True)]


@pytest.mark.parametrize(
    "source",
    [
        "def main():\n    return sys.argv[1:]\n",
        "if __name__ == '__main__':\n    main(sys.argv)\n",
        "HERE = Path(__file__).parent\n",
        "X = open('data/latest.txt')\n",
        "def f():\n    global n\n    n += 1\n    return n\n",
        EQ.format("return self.x == other.x"),
        EQ.format("return isinstance(other, A)"),
        EQ.format("return super().__eq__(other)"),
        EQ.format("return NotImplemented"),
        "def (",
    ],
)
def test_ordinary_code_is_not_reported(source: str) -> None:
    assert list(peeks(source)) == []


def test_a_main_module_may_read_its_command_line() -> None:
    assert list(peeks("run(sys.argv)\n", "src/a/__main__.py")) == []
