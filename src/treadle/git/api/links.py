"""Names that one file has from another: what they stand for, and which files have to be read to know it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from treadle.git.api.modules import is_private, is_python, module_name
from treadle.git.api.symbol import Api, Reading, merged, symbol

_DEEPEST: Final = 10
"""How often a name may be passed on."""


def linked(readings: Iterable[Reading]) -> Api:
    """What files offer together.

    A name that is passed on from where everybody may use it is only a name: a change of it is told there. One from a
    private place brings its signature and its members along, as nobody else tells of them.
    """
    every = list(readings)
    public = [one for one in every if not one.is_private]
    hidden = merged(one.symbols for one in every if one.is_private)
    inner = {name: target for one in every if one.is_private for name, target in one.links.items()}
    passed = (_passed(name, target, hidden, inner) for one in public for name, target in one.links.items())
    return merged([*(one.symbols for one in public), *passed])


def _passed(name: str, target: str, hidden: Api, inner: Mapping[str, str]) -> Api:
    for _ in range(_DEEPEST):
        target = inner.get(target, target)
    if target.endswith(".*"):
        found = _all_of(name.removesuffix("*"), target.removesuffix("*"), hidden)
        return found or {f"{name} of {target[:-2]}": symbol(f"from {target[:-2]} import *")}
    members = {name + full.removeprefix(target): one for full, one in hidden.items() if full.startswith(f"{target}.")}
    if target in hidden:
        return {name: hidden[target], **members}
    module, _, last = target.rpartition(".")
    return {name: symbol(f"from {module} import {last}" if module else f"import {last}")}


def _all_of(prefix: str, start: str, hidden: Api) -> Api:
    return {
        prefix + full.removeprefix(start): one
        for full, one in hidden.items()
        if full.startswith(start) and not full.removeprefix(start).startswith("_")
    }


class Places:
    """Where the modules of a tree are."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            if is_python(path):
                self._paths.setdefault(module_name(path), []).append(path)

    def sources(self, reading: Reading) -> Iterator[str]:
        """The private files that a file has names from."""
        for target in reading.links.values():
            module = target
            while module and module not in self._paths:
                module = module.rpartition(".")[0]
            if is_private(module):
                yield from self._paths.get(module, ())

    def mentions(self, changed: Iterable[str]) -> tuple[bytes, ...]:
        """Words, one of which a file has to hold if it passes names on from private files that have changed."""
        modules = [module_name(path) for path in changed if is_python(path)]
        return tuple({one.rpartition(".")[2].encode() for one in modules if is_private(one)})

    def all(self) -> list[str]:
        """Every file that could pass names on."""
        return [path for paths in self._paths.values() for path in paths]
