"""Bodies that are not written yet."""

import pytest

from treadle.evidence.stubs import python_beyond, stubs

MISSING = {
    "def f(): raise NotImplementedError": ["f"],
    "def f(): raise RuntimeError('not implemented')": ["f"],
    "def f() -> int: ...": ["f"],
    "def f():\n    'What it does.'\n    ...": ["f"],
    "class C:\n    async def f(self): ...": ["f"],
    "class C(Base):\n    def f(self): ...": ["f"],
    "if TYPE_CHECKING:\n    pass\nelse:\n    def f(): ...": ["f"],
    "def f():\n    def g(): ...\n    return g": ["g"],
    "class P(Protocol):\n    class C:\n        def f(self): ...": ["f"],
}
THERE = (
    "def f(): pass",
    "def f() -> None: ...",
    "def f(): return ...",
    "def f():\n    'Nothing to say, and nothing to do.'",
    "class P(Protocol):\n    def f(self) -> int: ...",
    "class P(typing.Protocol[T]):\n    def f(self) -> int:\n        'What it does.'\n        ...",
    "class A(abc.ABC):\n    def f(self) -> int: ...",
    "class A(metaclass=ABCMeta):\n    def f(self) -> int: ...",
    "class A(Base):\n    @abc.abstractmethod\n    def f(self) -> int: ...",
    "@overload\ndef f(x: int) -> int: ...\ndef f(x): return x",
    "if typing.TYPE_CHECKING:\n    def f() -> int: ...",
)


@pytest.mark.parametrize("source", [*MISSING, *THERE])
def test_missing_bodies_are_listed_and_abstract_ones_are_not(source: str) -> None:
    assert [name.rpartition(".")[2] for name, _ in stubs(source)] == MISSING.get(source, [])


GETTER = "class Box:\n    @property\n    def value(self):\n        return 1\n"
SETTER = "    @value.setter\n    def value(self, new):\n        raise NotImplementedError\n"


def test_an_accessor_completes_a_property_and_does_not_replace_it() -> None:
    assert python_beyond(GETTER, GETTER + SETTER) == []
    again = "    def value(self):\n        raise NotImplementedError\n"
    assert [line for line, _ in python_beyond(GETTER, GETTER + again)] == [5]
    written = GETTER + SETTER.replace("raise NotImplementedError", "self.new = new")
    assert python_beyond(written, written) == []
    assert [(line, what.partition(" ")[0]) for line, what in python_beyond(written, GETTER)] == [(1, "value.setter")]
