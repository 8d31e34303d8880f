"""Simple wrong implementations of what is missing: constants, the first value that a test expects, the first argument.

They are made in rounds: in each, every missing function has its next candidate. Where an example of a test says already
that a candidate is wrong, nothing has to be run to know it. What a careless implementation might return comes first;
values that nobody would return, of the right type and of others, are for tests that did not notice those, and the first
of them, a large one of the right type, for all.
"""

import ast
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

import msgspec

from treadle.evidence.examples import UNKNOWN, Example
from treadle.evidence.python_stubs import Function, stub_functions, with_stubs_returning

_ARGUMENT: Final = "its first argument"
_EMPTY: Final = {
    "int": "0",
    "float": "0",
    "str": "''",
    "bytes": "b''",
    "bool": "False",
    "list": "[]",
    "Sequence": "[]",
    "Iterable": "[]",
    "tuple": "()",
    "dict": "{}",
    "Mapping": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
}
_UNANNOTATED: Final = ("None", "0", "''", "[]")
_FAR: Final = 4
_PADDING: Final = "\n" + 60 * f"# {'-' * 77}\n"
"""For tests that weigh a file instead of calling what is in it: by its size, nothing is missing."""


class Wrong(msgspec.Struct, frozen=True):
    """What each missing function returns in one round, by its name."""

    returns: dict[str, str]

    def program(self, source: str) -> str | None:
        """A program in which it does; None if nothing is missing in it."""
        program = with_stubs_returning(source, self._expression)
        return None if program is None else program + _PADDING

    def _expression(self, function: Function) -> str:
        said = self.returns.get(function.name, "None")
        return _parameters(function)[0].arg if said == _ARGUMENT else said

    def is_refuted_by(self, example: Example) -> bool:
        """Whether an example says that this is wrong, without anything being run."""
        said = self.returns.get(example.callee)
        value = example.argument if said == _ARGUMENT else said
        return value not in (None, UNKNOWN) and not _equal(str(value), example.expected)

    def about(self, names: Collection[str]) -> tuple[str, ...]:
        """What it has some of the functions return."""
        return tuple(what for name, what in self.returns.items() if name in names)

    def described(self, names: Iterable[str]) -> str:
        """In a few words, for those of the functions that are of interest."""
        wanted = set(names)
        parts = [f"{name} returns {what}" for name, what in self.returns.items() if not wanted or name in wanted]
        return ", ".join(parts[:4])


def rounds(sources: Iterable[str], known: Iterable[Example]) -> list[Wrong]:
    """The wrong implementations to try; none if nothing is missing."""
    expected: dict[str, str] = {}
    for example in known:
        expected.setdefault(example.callee, example.expected)
    return _in_rounds(sources, lambda one: candidates(one, expected))


def far_rounds(sources: Iterable[str], seed: str) -> list[Wrong]:
    """More of them, that nobody would write: with values that depend on a seed, so that no test can know them."""
    made = _in_rounds(sources, lambda one: far_candidates(one, seed))
    return made if any(set(one.returns.values()) != {"None"} for one in made) else []


def _in_rounds(sources: Iterable[str], offer: Callable[[Function], list[str]]) -> list[Wrong]:
    functions = {one.name: one for source in sources for one in stub_functions(source)}
    offers = {name: offer(one) for name, one in functions.items()}
    most = max((len(one) for one in offers.values()), default=0)
    return [Wrong({name: one[min(number, len(one) - 1)] for name, one in offers.items()}) for number in range(most)]


def candidates(function: Function, expected: Mapping[str, str]) -> list[str]:
    """What a careless implementation of a function might return, as far as its signature allows."""
    returns = _returns(function)
    if returns == "None":
        return ["None"]
    found = list(_UNANNOTATED) if not returns else ["None", *_empty(returns)]
    found += [expected[function.name]] if function.name in expected else []
    first = _parameters(function)
    if first and (not returns or (first[0].annotation and ast.unparse(first[0].annotation).strip("'\"") == returns)):
        found.append(_ARGUMENT)
    return list(dict.fromkeys(found))


def far_candidates(function: Function, seed: str) -> list[str]:
    """What no implementation would return: four values that `candidates` has not, those of the right type first."""
    returns = _returns(function)
    if returns == "None":
        return ["None"]
    odd = int(hashlib.sha256(f"{seed} {function.name}".encode()).hexdigest(), 16) % 10**11 | 1
    filled = {"b''": f"b'odd{odd}'", "[]": f"[{odd}]", "()": f"({odd},)", "{}": f"{{{odd}: {odd}}}"}
    of_type = {**filled, "''": f"'odd{odd}'", "set()": f"{{{odd}}}", "frozenset()": f"{{{odd}}}"}
    near = candidates(function, {})
    found = [*(of_type[one] for one in _empty(returns) if one in of_type), str(odd), "-1", f"'odd{odd}'", "[]", "{}"]
    return [one for one in dict.fromkeys(found) if one not in near][:_FAR]


def _returns(function: Function) -> str:
    """The annotation of what is returned; `None` where the language asks for it."""
    if function.name.startswith("__") and function.name != "__call__":
        return "None"
    return ast.unparse(function.returns).strip("'\"") if function.returns else ""


def _bare(returns: str) -> str:
    return returns.partition("[")[0].rpartition(".")[2].strip()


def _empty(returns: str) -> list[str]:
    name = _bare(returns)
    return ["False", "True"] if name == "bool" else [_EMPTY[name]] if name in _EMPTY else []


def _parameters(function: Function) -> list[ast.arg]:
    every = [*function.args.posonlyargs, *function.args.args]
    return every[1:] if every and every[0].arg in ("self", "cls") else every


def _equal(one: str, other: str) -> bool:
    try:
        return bool(ast.literal_eval(one) == ast.literal_eval(other))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return one == other
