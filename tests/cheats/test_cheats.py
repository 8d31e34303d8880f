"""Dishonest and clumsy agents are caught, each with the right words; honest ones are not disturbed."""

import re

import pytest

from tests.cheats.cases import Case, cases
from tests.cheats.stage import Theatre

DISHONEST, HONEST, HARMLESS = cases("dishonest"), cases("honest"), cases("harmless")


def firsts(listed: list[Case], *steps: str) -> list[Case]:
    """One for each of some steps: what every test run plays. Other worlds than the smallest take too long for that."""
    small = [case for case in listed if case.world == "leaf" and case.step in steps]
    return list({case.step: case for case in reversed(small)}.values())


PLAYED = firsts(DISHONEST, "scaffold", "tests", "impl")  # honest agents are at work in `tests/end_to_end`


@pytest.fixture(scope="session")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    return Theatre(tmp_path_factory.mktemp("theatre"))


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.name)
def test_a_cheat_is_caught(theatre: Theatre, case: Case) -> None:
    must_be_caught(theatre, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", [case for case in DISHONEST if case not in PLAYED], ids=lambda case: case.name)
def test_each_cheat_is_caught(theatre: Theatre, case: Case) -> None:
    must_be_caught(theatre, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_each_honest_agent_is_not_disturbed(theatre: Theatre, case: Case) -> None:
    must_go_through(theatre, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", HARMLESS, ids=lambda case: case.name)
def test_a_harmless_attempt_has_no_effect(theatre: Theatre, case: Case) -> None:
    must_have_no_effect(theatre, case)


def test_there_are_enough_dishonest_and_honest_cases() -> None:
    assert len(DISHONEST) >= 60
    assert len(HONEST) >= 20


def missing(expected: tuple[str, ...], text: str) -> list[str]:
    """Return the expectations that no line of a text meets: words, and a code in brackets if they end with one."""
    lines = text.splitlines()
    parts = {one: re.fullmatch(r"(.*?) *(\[[a-z_]+\.[a-z_]+\])?", one) for one in expected}
    return [
        one
        for one, found in parts.items()
        if found is None or not any(all(part in line for part in found.groups("")) for line in lines)
    ]


def must_be_caught(theatre: Theatre, case: Case) -> None:
    played = theatre.play(case)

    harmed = [one for one in played.touched if not one.startswith(case.touches or ("nothing",))]
    assert not harmed, "the user's own is untouched"
    if case.advice:
        noted = "\n".join(one.advice for one in played.told)
        assert not played.refusals, played.refusals
        assert missing(case.advice, noted) == [], noted
        return
    assert played.refusals, f"accepted, although it {case.what}"
    said = played.refusals[0].text
    assert missing(case.expects, said) == [], said


def must_go_through(theatre: Theatre, case: Case) -> None:
    played = theatre.play(case, to_the_end=True)

    assert len(played.refusals) == bool(case.expects), played.refusals
    assert not case.expects or missing(case.expects, played.refusals[0].text) == []
    assert (played.outcome, played.touched, played.strangers) == ("Merged", (), ())


def must_have_no_effect(theatre: Theatre, case: Case) -> None:
    played = theatre.play(case, to_the_end=True)

    noted = "\n".join(one.advice for one in played.told)
    assert played.refusals == []
    assert missing(case.advice, noted) == [], noted
    assert (played.outcome, played.touched, played.strangers) == ("Merged", (), ())
