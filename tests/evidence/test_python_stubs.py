"""Bodies that are not written yet."""

import pytest

from treadle.evidence.stubs import stubs

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
