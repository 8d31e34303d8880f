"""The comparison with the published orchestrator cites tests and decisions that exist."""

from tests.places import lacks
from tools.beside_page import beside
from tools.contradictions import chapters

BEYOND = "commit"
"""A step that the package has besides the published ones."""


def test_every_cited_test_exists() -> None:
    assert [fault for it in beside().enforced if (fault := lacks(it.place))] == []


def test_every_difference_cites_a_decision() -> None:
    known = {it.number for chapter in chapters() for it in chapter.decisions}
    beyond = [it for it in beside().differences if not it.decision]
    assert [it.theirs for it in beyond] == [f"{BEYOND} 1"]
    assert {it.decision for it in beside().differences} - {""} <= known
