"""How a cost may grow with the size of its input: `O(n log n)` as it is written, and whether measured points fit it."""

import math
import re
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Final

import msgspec

_BOUND: Final = re.compile(r"[OoΘθ]\s*\(((?:[^()]|\([^()]*\))*)\)")
_WORDS: Final = {
    "constant": "1",
    "logarithmic": "log n",
    "linear": "n",
    "linearithmic": "n log n",
    "quadratic": "n^2",
    "cubic": "n^3",
    "exponential": "2^n",
}
_SIGNS: Final = (("**", "^"), ("²", "^2"), ("³", "^3"), ("√", "sqrt "), ("₂", ""), ("·", " "), ("×", " "), ("*", " "))
_FACTOR: Final = re.compile(
    r"\s*(?:"
    r"(?:log2|log|lg|ln)(?:\^(?P<logs>\d+(?:\.\d+)?))?\s*(?:\(\s*(?P<log1>[a-z])\s*\)|(?P<log2>[a-z]))"
    r"|sqrt\s*(?:\(\s*(?P<root1>[a-z])\s*\)|(?P<root2>[a-z]))"
    r"|(?P<base>\d+(?:\.\d+)?)\^(?P<exponent>[a-z])"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<factorial>[a-z])!"
    r"|(?P<variable>[a-z])(?:\^(?P<power>\d+(?:\.\d+)?))?"
    r")\s*"
)


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A product: n^power · log(n)^logs · base^n · n!^factorials."""

    power: float = 0.0
    logs: float = 0.0
    base: float = 1.0
    factorials: int = 0

    def log(self, n: float) -> float:
        """The natural logarithm of its value."""
        shown = self.power * math.log(n) + self.logs * math.log(math.log(n))
        return shown + n * math.log(self.base) + self.factorials * math.lgamma(n + 1)


class Growth(msgspec.Struct, frozen=True):
    """An upper bound; of a sum, the largest term counts."""

    text: str
    terms: tuple[Term, ...]

    def log(self, n: float) -> float:
        """The natural logarithm of its value, for n of 3 or more."""
        return max(term.log(n) for term in self.terms)


def growth(text: str) -> Growth:
    """A bound as people write it; a `ValueError` says why it cannot be measured."""
    bounds = _BOUND.findall(text)
    if len(bounds) > 1:
        raise ValueError(f"'{text}' names more than one bound")
    inner = bounds[0] if bounds else next((form for word, form in _WORDS.items() if _has_word(text, word)), "")
    if not inner:
        raise ValueError(f"'{text}' is no growth such as O(n log n)")
    plain = re.sub(r"len\(\w+\)", "n", inner.lower().strip())
    for sign, written in _SIGNS:
        plain = plain.replace(sign, written)
    variables: set[str] = set()
    terms = tuple(_term(part, text, variables) for part in plain.split("+"))
    if len(variables) > 1:
        raise ValueError(f"'{text}' depends on more than one size ({', '.join(sorted(variables))})")
    return Growth(f"O({inner.strip()})", terms)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text.lower()) is not None


def _term(part: str, text: str, variables: set[str]) -> Term:
    term, at = Term(), 0
    while at < len(part) or at == 0:
        match = _FACTOR.match(part, at)
        if match is None or match.end() == at:
            raise ValueError(f"'{part.strip()}' in '{text}' cannot be read")
        at = match.end()
        term = _times(term, match)
        named = ("log1", "log2", "root1", "root2", "exponent", "factorial", "variable")
        variables |= {match[name] for name in named if match[name]}
    return term


def _times(term: Term, match: re.Match[str]) -> Term:
    replace = msgspec.structs.replace
    if match["log1"] or match["log2"]:
        return replace(term, logs=term.logs + float(match["logs"] or 1))
    if match["root1"] or match["root2"]:
        return replace(term, power=term.power + 0.5)
    if match["exponent"]:
        return replace(term, base=term.base * max(float(match["base"]), 1.0))
    if match["factorial"]:
        return replace(term, factorials=term.factorials + 1)
    if match["variable"]:
        return replace(term, power=term.power + float(match["power"] or 1))
    return term


Points = Sequence[tuple[int, float]]
"""Sizes, and what each cost."""


def slope(points: Points) -> float:
    """The power of n that the points follow: the median over all pairs, so that one outlier is nothing."""
    return _median_slope([(math.log(n), math.log(cost)) for n, cost in points])


def excess(points: Points, bound: Growth) -> float:
    """The exponent by which the points outgrow a bound; 0 or less if they keep it."""
    return _median_slope([(math.log(n), math.log(cost) - bound.log(n)) for n, cost in points])


def _median_slope(points: Sequence[tuple[float, float]]) -> float:
    pairs = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if a[0] != b[0]]
    return median(pairs) if pairs else 0.0
