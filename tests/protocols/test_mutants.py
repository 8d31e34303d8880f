"""What the checker is worth: nearly every small mistake in the shipped protocols is refused.

The mistakes that are not refused make legal protocols; `survivors.yaml` says of each why it is one.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.protocols.mutants import PROTOCOLS, Verdict, judge, mutants, refusal, written

AT_LEAST = 400
REFUSED = 0.98
BY_CHANCE = 0.01
"""A sixth of the sample may do worse than all of them."""


class Survivors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mutants of a protocol that are legal for one reason."""

    protocol: str
    reason: str
    mutants: tuple[str, ...]


def _listed() -> set[tuple[str, str]]:
    text = Path(__file__).with_name("survivors.yaml").read_text(encoding="utf-8")
    entries = msgspec.convert(YAML(typ="safe").load(text), list[Survivors])
    listed = [(entry.protocol, mutant) for entry in entries for mutant in entry.mutants]
    assert len(listed) == len(set(listed)), "a survivor is listed twice"
    assert all(entry.reason for entry in entries)
    return set(listed)


def _verdicts(everything: bool) -> list[Verdict]:
    """The protocols are judged side by side."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        return [verdict for found in pool.map(partial(judge, everything=everything), PROTOCOLS) for verdict in found]


def _table(verdicts: Iterable[Verdict]) -> str:
    made = Counter(verdict.operator for verdict in verdicts)
    refused = Counter(verdict.operator for verdict in verdicts if verdict.refusal)
    lines = [f"{name:20}{made[name]:8}{refused[name]:10}" for name in made]
    total = f"{'all':20}{made.total():8}{refused.total():10}  {refused.total() / made.total():.2%}"
    return "\n".join(["", f"{'operator':20}{'mutants':>8}{'refused':>10}", *lines, total, ""])


def _assert_refused(verdicts: list[Verdict], possible: set[tuple[str, str]], refused: float = REFUSED) -> None:
    sys.stdout.write(_table(verdicts))
    survivors = {(verdict.protocol, verdict.mutant) for verdict in verdicts if not verdict.refusal}
    listed = _listed()
    looked_at = {(verdict.protocol, verdict.mutant) for verdict in verdicts}
    assert sorted(survivors - listed) == [], "mistakes that the checker does not see, and nobody has justified"
    assert sorted(listed & looked_at - survivors) == [], "listed as legal, but refused"
    assert sorted(listed - possible) == [], "listed, but no mutant any more"
    assert len(verdicts) >= AT_LEAST
    assert 1 - len(survivors) / len(verdicts) >= refused


def _possible() -> set[tuple[str, str]]:
    return {(name, mutant.text) for name in PROTOCOLS for mutant in mutants(name)}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_protocol_itself_is_legal(name: str) -> None:
    assert refusal(written(name)) == ""


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_mutant_has_a_description_of_its_own(name: str) -> None:
    described = Counter(mutant.text for mutant in mutants(name))
    assert [text for text, count in described.items() if count > 1] == []


def test_mistakes_are_refused() -> None:
    _assert_refused(_verdicts(everything=False), _possible(), REFUSED - BY_CHANCE)


@pytest.mark.soak
def test_all_mistakes_are_refused() -> None:
    _assert_refused(_verdicts(everything=True), _possible())
