"""Simple wrong implementations."""

import ast

import pytest

from treadle.evidence.examples import examples
from treadle.evidence.sharpness import candidates, far_candidates, far_rounds, rounds

STUBS = """
def add(a: int, b: int) -> int:
    raise NotImplementedError

class Box:
    def __init__(self, n):
        raise NotImplementedError
    def full(self) -> bool:
        raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("signature", "wanted"),
    [
        ("def f()", ["None", "0", "''", "[]"]),
        ("def f(x)", ["None", "0", "''", "[]", "its first argument"]),
        ("def f(x: int) -> int", ["None", "0", "its first argument"]),
        ("def f(x: int) -> str", ["None", "''"]),
        ("def f(self, x: str) -> 'str'", ["None", "''", "its first argument"]),
        ("def f(x) -> bool", ["None", "False", "True"]),
        ("def f(x) -> list[int]", ["None", "[]"]),
        ("def f(x) -> Thing", ["None"]),
        ("def f(x) -> None", ["None"]),
        ("def g(x) -> int", ["None", "0", "7"]),
        ("def __init__(self, x)", ["None"]),
    ],
)
def test_candidates_follow_the_signature(signature: str, wanted: list[str]) -> None:
    function = ast.parse(f"{signature}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert candidates(function, {"g": "7"}) == wanted


def test_every_round_gives_each_missing_function_its_next_candidate() -> None:
    known = examples("def test_a():\n    assert add(1, 2) == 3\n")
    made = rounds([STUBS], known)
    assert [one.values("add") for one in made] == [("None",), ("0",), ("3",), ("its first argument",)]
    assert [one.values("full") for one in made] == [("None",), ("False",), ("True",), ("True",)]
    program = made[3].program(STUBS)
    assert program is not None
    space: dict[str, object] = {}
    exec(program, space)
    assert eval("add(5, 6), Box(1).full()", space) == (5, True)
    assert rounds(["def add(a, b): return a + b\n"], known) == []
    assert made[2].described(["add"]) == "add returns 3"


NAMESAKES = """
class Box:
    def __init__(self, n):
        raise NotImplementedError
    @property
    def value(self):
        raise NotImplementedError
    @value.setter
    def value(self, new):
        raise NotImplementedError
    @value.deleter
    def value(self):
        raise NotImplementedError
    class Lid:
        def __init__(self):
            raise NotImplementedError
        def close(self, how):
            raise NotImplementedError
    def close(self):
        raise NotImplementedError

class Crate:
    def __init__(self):
        raise NotImplementedError
    @overload
    def close(self, a: int) -> int: ...
    @overload
    def close(self, a: str) -> str: ...
    def close(self, a):
        raise NotImplementedError

@singledispatch
def close(thing):
    raise NotImplementedError
@close.register
def _(thing: int) -> int:
    raise NotImplementedError
@close.register
def _(*, thing: str):
    raise NotImplementedError
"""


def test_stubs_of_one_name_have_a_value_each() -> None:
    known = examples("def test_a():\n    assert close(1) == 3\n")
    near, far = rounds([NAMESAKES], known), far_rounds([NAMESAKES], "seed")
    for wrong in (*near, *far):
        program = wrong.program(NAMESAKES)
        assert program is not None
        ast.parse(program)
        assert "NotImplementedError" not in program
    assert near[-1].values("close") == ("its first argument", "3"), "with and without an argument"
    assert near[1].values("value") == ("0", "None"), "a setter returns nothing"


def test_an_example_refutes_functions_of_one_name_only_together() -> None:
    source = (
        "class Box:\n    def full(self) -> int:\n        raise NotImplementedError\n"
        "class Sack:\n    def full(self, most: int) -> int:\n        raise NotImplementedError\n"
    )
    (example,) = examples("def test_a():\n    assert Sack().full(4) == 4\n")
    made = {one.values("full"): one for one in rounds([source], [example])}
    assert made[("0",)].is_refuted_by(example)
    assert not made[("4", "its first argument")].is_refuted_by(example)


def test_an_example_refutes_without_a_run() -> None:
    (example,) = examples("def test_a():\n    assert add(1, 2) == 3\n")
    none, zero, expected, argument = rounds([STUBS], [example])
    assert [one.is_refuted_by(example) for one in (none, zero, expected, argument)] == [True, True, False, True]
    (other,) = examples("def test_a():\n    assert add(x, 2) == 3\n")
    assert not argument.is_refuted_by(other)


@pytest.mark.parametrize(
    ("signature", "kinds"),
    [
        ("def f(x) -> int", [int, int, str, list]),
        ("def f(x) -> str", [str, int, int, list]),
        ("def f(x) -> list[int]", [list, int, int, str]),
        ("def f(x) -> dict[str, int]", [dict, int, int, str]),
        ("def f(x) -> Thing", [int, int, str, list]),
        ("def f(x)", [int, int, str, dict]),
        ("def f(x) -> None", [type(None)]),
        ("def __init__(self)", [type(None)]),
    ],
)
def test_far_candidates_have_many_kinds_and_depend_on_the_seed(signature: str, kinds: list[type]) -> None:
    function = ast.parse(f"{signature}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    made = far_candidates(function, "seed")
    assert [type(ast.literal_eval(one)) for one in made] == kinds
    assert made == ["None"] or not set(made) & set(candidates(function, {}))
    assert made == ["None"] or made != far_candidates(function, "another seed")


def test_functions_without_a_return_value_get_no_far_candidates() -> None:
    assert far_rounds(["def put(x) -> None:\n    raise NotImplementedError\n"], "seed") == []
    first, *_ = far_rounds([STUBS], "seed")
    assert int(first.about({"add"})[0]) > 10**6, "what is large and odd comes first"
    assert first.about({"nothing"}) == ()
