"""Compares a rebased piece of code with its version before the rebase: its names and the arguments of its calls.

`code_shapes` decides whether a piece has the same logic; it erases names and arguments, because a rebase may change
them. This module compares them with the real changes of the other side (`SideChanges`):

- A call keeps its arguments. Only where the other side changed the signature of the called symbol, arguments may be
  added, reordered or passed by another keyword; the expressions that were there stay. One may go if the new signature
  has fewer parameters, and may be wrapped in a type that the new signature names (`Money(4)` for `4`).
- A name stays the same. Another name may replace it if the other side has removed it, if the other side has changed it
  and added the new one, or if a local name is renamed throughout.

Both parsers (`ast`, tree-sitter) translate their trees into `CodePart`, so that there is one comparison.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

_NAME: Final = re.compile(r"[^\W\d]\w*")
_LITERAL: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?<![\w.])\d[\w.]*")
_CONSTRUCTORS: Final = ("__init__", "__new__", "constructor")


class CodePart(NamedTuple):
    """A part of a program, in any language."""

    kind: str
    """`name`, `call` (its parts: the called function, the arguments), `argument`, `member`, `leaf`, or the parser's."""
    text: str = ""
    """A dotted name, the keyword of an argument, the name of a member, the text of a leaf."""
    parts: tuple["CodePart", ...] = ()
    line: int = 0


class CodeUnit(NamedTuple):
    """A function, or a statement outside of functions, with everything in it."""

    name: str
    """With its classes, or the title of a test; empty for a statement."""
    line: int
    head: tuple[CodePart, ...]
    """Decorators."""
    defaults: Mapping[str, CodePart]
    """The default values of its parameters."""
    body: tuple[CodePart, ...]
    local: frozenset[str]
    """Names that it binds itself."""


class CodeFile(NamedTuple):
    """A file, piece by piece."""

    units: tuple[CodeUnit, ...]
    imports: Mapping[str, str]
    """Imported names, each with its name where it comes from; empty for a module."""
    defined: frozenset[str]
    """Names that the file defines at its top."""

    def dotted(self, name: str) -> tuple[str, ...]:
        """The parts of a dotted name, without the modules through which it is reached."""
        first, *rest = name.split(".")
        if first not in self.imports:
            return (first, *rest)
        return (rest[-1],) if rest else (self.imports[first] or first,)


# The changes of one side of a merge.


class DefinedName(NamedTuple):
    """A name that a file defines, as `SideChanges` compares it."""

    name: str
    """With its classes."""
    shape: str
    body: str
    is_value: bool = False


class SideChanges(msgspec.Struct, frozen=True):
    """The definitions that one side of a merge changed, each by the last part of its name."""

    gone: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    """Changed in signature or body."""
    fresh: frozenset[str] = frozenset()
    before: Mapping[str, frozenset[str]] = {}
    """The old signatures of the symbols with a changed signature."""
    after: Mapping[str, frozenset[str]] = {}
    """Their new signatures."""

    def more(self, other: "SideChanges") -> "SideChanges":
        """These changes, and the changed signatures of others."""
        before, after = dict(self.before), dict(self.after)
        for name, shapes in other.before.items():
            before[name] = before.get(name, frozenset()) | shapes
            after[name] = after.get(name, frozenset()) | other.after[name]
        return msgspec.structs.replace(self, before=before, after=after)

    def words(self, name: str) -> set[str]:
        """The words of the new signatures of a symbol."""
        return {word for shape in self.after.get(name, ()) for word in _NAME.findall(shape)}

    def droppable(self, name: str) -> tuple[int, frozenset[str], list[list[str]]]:
        """How many arguments a call may lose, the parameters that are gone, and the old lists of parameters."""
        old = [_parameters(name, shape) for shape in self.before.get(name, ())]
        new = [_parameters(name, shape) for shape in self.after.get(name, ())]
        most = max((len(one) for one in old), default=0) - min((len(one) for one in new), default=0)
        lost = {it for one in old for it in one} - {it for one in new for it in one}
        return max(most, 0), frozenset(lost), old


def changed_definitions(before: Iterable[DefinedName], after: Iterable[DefinedName]) -> SideChanges:
    """Compare the definitions in the changed files of one side, before and after."""
    old, new = _shapes(before), _shapes(after)
    shapes = {name: frozenset(shape for shape, _ in known) for name, known in old.items()}
    later = {name: frozenset(shape for shape, _ in known) for name, known in new.items()}
    changed = {name for name in old.keys() & new.keys() if shapes[name] - later[name]}
    return SideChanges(
        gone=frozenset(old.keys() - new.keys()),
        touched=frozenset(name for name in old.keys() & new.keys() if old[name] - new[name]),
        fresh=frozenset(new.keys() - old.keys()),
        before={name: shapes[name] for name in changed},
        after={name: later[name] for name in changed},
    )


def _shapes(definitions: Iterable[DefinedName]) -> dict[str, set[tuple[str, str]]]:
    """Return signatures and bodies by last names; the signature of a class is that of its constructor."""
    known = list(definitions)
    members: dict[str, list[DefinedName]] = {}
    for one in known:
        members.setdefault(one.name.rpartition(".")[0], []).append(one)
    found: dict[str, set[tuple[str, str]]] = {}
    for one in known:
        last, inside, shape = one.name.rpartition(".")[2], members.get(one.name, []), one.shape
        if inside and shape.lstrip().startswith(("class ", "export class ", "abstract class ")):
            made = next((it.shape for it in inside if it.name.rpartition(".")[2] in _CONSTRUCTORS), "")
            fields = ", ".join(it.name.rpartition(".")[2] for it in inside if it.is_value)
            taken = f"{last}({', '.join(['self', *_parameters('', made)])})" if made else f"{last}({fields})"
            shape = f"{taken} {shape} {made}"
        found.setdefault(last, set()).add((shape, one.body))
    return found


def _parameters(name: str, shape: str) -> list[str]:
    """The names of the parameters in a signature of any language."""
    at = re.search(rf"(?<!\w){re.escape(name)}\s*(?:<[^()]*>)?\(", shape) if name else re.search(r"\(", shape)
    if not at:
        return []
    depth, words, start = 1, list[str](), at.end()
    for place in range(at.end(), len(shape)):
        sign = shape[place]
        depth += (sign in "([{") - (sign in ")]}")
        if (sign == "," and depth == 1) or depth == 0:
            words.append(shape[start:place])
            start = place + 1
        if depth == 0:
            break
    named = [match[0] for word in words if (match := _NAME.search(word))]
    return [one for number, one in enumerate(named) if number or one not in ("self", "cls")]


# The comparison.


class PieceProblem(NamedTuple):
    """The first place at which a rebased piece differs by more than the merge asks for."""

    code: str
    line: int
    what: str
    expected: str
    name: str = ""
    """The piece, if it has a name."""


_ARGUMENTS: Final = "the arguments as they were; only a call whose signature the other side changed may get more"
_NAMES: Final = "the name as it was; only names that the other side removed or replaced may follow"


class SideFile(NamedTuple):
    """One side's version of a file, and the changes that the other side has made meanwhile."""

    file: CodeFile
    others: SideChanges


def rebase_problems(sides: list[SideFile], now: CodeFile) -> Iterator[PieceProblem]:
    """Yield a problem for each piece of a rebased file that is no piece of a side with the other side's changes.

    A piece is compared with those of its name, if there are any, and with all others if not.
    """
    known = [(side, one, Counter(_leaves(one))) for side in sides for one in side.file.units]
    for unit in now.units:
        words = Counter(_leaves(unit))
        named = [it for it in known if unit.name and it[1].name == unit.name]
        # Most pieces are as they were: those with the same words are tried before all are put in an order.
        if any(it[2] == words and not _piece_problem(it[0], it[1], now, unit) for it in named or known):
            continue
        near = sorted(named or known, key=lambda it: ((it[2] - words) + (words - it[2])).total())
        found = [_piece_problem(side, one, now, unit) for side, one, _ in near]
        if found and found[0] is not None and all(found):
            yield found[0]._replace(name=unit.name)


def _leaves(part: "CodePart | CodeUnit") -> Iterator[str]:
    """The names and literals of a piece."""
    if isinstance(part, CodePart) and part.text:
        yield part.text
    for one in part.parts if isinstance(part, CodePart) else part.body:
        yield from _leaves(one)


def _piece_problem(was: SideFile, old: CodeUnit, now: CodeFile, new: CodeUnit) -> PieceProblem | None:
    """Compare a rebased piece with a possible origin; None if all differences follow the other side's changes."""
    found = _Comparison(was.file, now, old.local, new.local, was.others)
    if len(old.head) != len(new.head):
        return PieceProblem("canon.arguments", new.line, "has other decorators or bases", "the decorators it had")
    pairs = [*zip(old.head, new.head, strict=True)]
    pairs += [(old.defaults[name], new.defaults[name]) for name in old.defaults.keys() & new.defaults.keys()]
    pairs += [*zip(old.body, new.body, strict=False)]
    for one, other in pairs:
        if not found.same(one, other):
            return found.problem or PieceProblem("canon.arguments", new.line, "differs", _ARGUMENTS)
    if len(old.body) != len(new.body):
        return PieceProblem("canon.new_logic", new.line, "has other statements", "the statements it had")
    return None


class _Comparison:
    """Compares two trees, and keeps the renamings of local names that they agree on."""

    def __init__(
        self, old: CodeFile, new: CodeFile, old_local: frozenset[str], new_local: frozenset[str], side: SideChanges
    ) -> None:
        self._old, self._new, self._side = old, new, side
        self._old_local, self._new_local = old_local, new_local
        self._renamed: dict[str, str] = {}
        self.problem: PieceProblem | None = None

    def same(self, old: CodePart, new: CodePart) -> bool:
        """Whether a part is unchanged, apart from differences that follow the other side's changes."""
        if old.kind != new.kind:
            return self._differs("canon.arguments", new, f"has {_shown(new)} in place of {_shown(old)}", _ARGUMENTS)
        if old.kind == "name":
            return self._same_name(old, new)
        if old.kind == "call":
            return self._same_call(old, new)
        if old.kind == "member" and old.text != new.text and old.text not in self._side.gone:
            return self._differs("canon.renamed", new, f"has {new.text} in place of {old.text}", _NAMES)
        if (old.kind != "member" and old.text != new.text) or len(old.parts) != len(new.parts):
            return self._differs("canon.arguments", new, f"has {_shown(new)} in place of {_shown(old)}", _ARGUMENTS)
        return all(self.same(one, other) for one, other in zip(old.parts, new.parts, strict=True))

    def _same_name(self, old: CodePart, new: CodePart) -> bool:
        was, now, side = self._old.dotted(old.text), self._new.dotted(new.text), self._side
        is_replaced = was[-1] in side.gone or (was[-1] in side.touched and now[-1] in side.fresh)
        if is_replaced or self._is_kept(was, now):
            return True
        return self._differs("canon.renamed", new, f"has {new.text} in place of {old.text}", _NAMES)

    def _is_kept(self, was: tuple[str, ...], now: tuple[str, ...]) -> bool:
        first, other = was[0], now[0]
        rest = zip(was[1:], now[1:], strict=False)
        if len(was) != len(now) or any(one != two and one not in self._side.gone for one, two in rest):
            return False
        if first in self._old_local and other in self._new_local:
            if first in self._new_local or other in self._old_local:
                return first == other  # a name that is still there is no other one's new name
            known = self._renamed.setdefault(first, other)
            return known == other and not any(two == other for one, two in self._renamed.items() if one != first)
        # Both sides may define a name: then this work's gets another one, together with its uses.
        is_moved = first in self._old.defined and other in self._new.defined - self._old.defined
        return first == other or (is_moved and self._renamed.setdefault(first, other) == other)

    def _same_call(self, old: CodePart, new: CodePart) -> bool:
        if not self.same(old.parts[0], new.parts[0]):
            return False
        mine, others = list(old.parts[1:]), list(new.parts[1:])
        name = self._changed_symbol(old)
        if not name:
            return self._same_arguments(old, new, mine, others)
        rest = list(enumerate(others))
        most, lost, lists = self._side.droppable(name)
        for at, one in enumerate(mine):
            near = sorted(rest, key=lambda it: (it[1].text != one.text, it[0] != at))
            taken = next((it for it in near if self._fits(one, it[1], name)), None)
            if taken is not None:
                rest.remove(taken)
                continue
            is_lost = one.text in lost or (not one.text and any(at < len(it) and it[at] in lost for it in lists))
            if most == 0 or not is_lost:
                what = f"has lost the argument {_shown(one)} of {_shown(old.parts[0])}"
                return self._differs("canon.arguments", new, what, "the argument that was there, besides new ones")
            most -= 1
        return True

    def _same_arguments(self, call: CodePart, now: CodePart, mine: list[CodePart], others: list[CodePart]) -> bool:
        """Arguments by place, and those with a keyword by keyword."""
        what = f"calls {_shown(call.parts[0])} with other arguments: {_shown(now)} in place of {_shown(call)}"
        old, new = (sorted(listed, key=lambda one: one.text) for listed in (mine, others))  # those without one first
        if [one.text for one in old] == [one.text for one in new] and all(map(self.same, old, new)):
            return True
        return self._differs("canon.arguments", now, what, _ARGUMENTS, outer=True)

    def _changed_symbol(self, call: CodePart) -> str:
        """The symbol with a changed signature that is called, or handed over to be called; empty if there is none."""
        callee = call.parts[0]
        names = [callee.text if callee.kind == "member" else self._last(callee)]
        names += [self._last(one.parts[0]) for one in call.parts[1:] if one.parts]
        changed = self._side.before
        return next((name for name in names if name and (name in changed or name in self._side.gone)), "")

    def _last(self, part: CodePart) -> str:
        return self._old.dotted(part.text)[-1] if part.kind == "name" else ""

    def _fits(self, old: CodePart, new: CodePart, name: str) -> bool:
        """Whether an argument of a changed call is one that was there, maybe with another keyword or in a new type."""
        before, said = dict(self._renamed), self.problem
        candidate = new.parts[0]
        while not self.same(old.parts[0], candidate):
            self._renamed, self.problem = dict(before), said
            is_wrapped = candidate.kind == "call" and len(candidate.parts) == 2  # a type and one value
            if not is_wrapped or not set(candidate.parts[0].text.split(".")) & (self._side.words(name) - {name}):
                return False
            candidate = candidate.parts[1].parts[0]
        return True

    def _differs(self, code: str, part: CodePart, what: str, expected: str, *, outer: bool = False) -> bool:
        if self.problem is None or (outer and self.problem.code == "canon.arguments"):
            self.problem = PieceProblem(code, part.line, what, expected)
        return False


_SHORT: Final = 60


def _shown(part: CodePart) -> str:
    """A part as a reader knows it, cut short."""
    text = _written(part)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _written(part: CodePart) -> str:
    inside = [_written(one) for one in part.parts]
    match part.kind:
        case "call":
            return f"{inside[0]}({', '.join(inside[1:])})"
        case "argument":
            return f"{part.text}={inside[0]}" if part.text else "".join(inside)
        case "member":
            return f"{''.join(inside)}.{part.text}"
    return part.text or " ".join(inside) or part.kind


# Lines in a language without a parser here: the called function is unknown, so a rebase may only add literals.

_WORDS_INSIDE: Final = re.compile(r"\w+|\s+")


def changed_lines(now: str, known: list[str]) -> Iterator[int]:
    """Yield the lines of a text that lost a number or a text: no line of either side has fewer, and the same signs."""
    literals: dict[str, list[Counter[str]]] = {}
    for line in known:
        literals.setdefault(_outside(line), []).append(Counter(_LITERAL.findall(line)))
    for number, line in enumerate(now.splitlines(), 1):
        own = Counter(_LITERAL.findall(line))
        if not any(not before - own for before in literals.get(_outside(line), [Counter()])):
            yield number


def _outside(line: str) -> str:
    """The signs of a line outside of parentheses, where a rebase changes nothing."""
    inner = line
    while (shorter := re.sub(r"\([^()]*\)", "", inner)) != inner:
        inner = shorter
    return _WORDS_INSIDE.sub("", inner)
