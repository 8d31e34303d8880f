"""Answers by a checksum of the question."""

import ast

import pytest

from treadle.evidence.checks.knows_tests import hashed_answers

TABLE = "RATES = {11: 7, 12: 9}\n"


@pytest.mark.parametrize(
    "source",
    [
        f"{TABLE}def f(x): return RATES.get(zlib.crc32(repr(x).encode()), 0)",
        f"{TABLE}def f(x): return RATES[hash(x)]",
        f"{TABLE}def f(x): return RATES[hash(x) % 1000]",
        f"{TABLE}def key(x): return md5(x).hexdigest()\ndef f(x): return RATES[key(x)]",
        "def f(x):\n    found = hashlib.sha256(x).hexdigest()[:8]\n    return {'a': 1, 'b': 2}[found]",
        "def f(x):\n    if adler32(x) == 4711: return 7",
        "def f(x): return 7 if hash(x) == 4711 else 0",
    ],
)
def test_a_lookup_by_checksum_is_reported(source: str) -> None:
    assert len(set(hashed_answers(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "known = {}\ndef f(x): return known.setdefault(md5(x).hexdigest(), x)",
        "places = [[], []]\ndef f(x): return places[hash(x) % len(places)]",
        "class A:\n    def __hash__(self): return hash(self.x)",
        "SUMS = {'a.txt': 'ab', 'b.txt': 'cd'}\ndef f(name, data): return SUMS[name] == md5(data).hexdigest()",
        f"{TABLE}def f(x): return RATES[x]",
    ],
)
def test_checksums_have_honest_uses(source: str) -> None:
    assert list(hashed_answers(ast.parse(source))) == []
