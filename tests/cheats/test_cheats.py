"""Dishonest and clumsy agents are caught, each with the right words; honest ones are not disturbed."""

import pytest

from tests.cheats.cases import Case, cases
from tests.cheats.stage import Theatre

DISHONEST, HONEST = cases("dishonest"), cases("honest")


def firsts(listed: list[Case]) -> list[Case]:
    """One of each family and step: what every test run plays."""
    return list({(case.step, case.family): case for case in reversed(listed)}.values())


def rest(listed: list[Case]) -> list[Case]:
    return [case for case in listed if case not in firsts(listed)]


@pytest.fixture(scope="session")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    return Theatre(tmp_path_factory.mktemp("theatre"))


@pytest.mark.parametrize("case", firsts(DISHONEST), ids=lambda case: case.name)
def test_a_cheat_is_caught(theatre: Theatre, case: Case) -> None:
    must_be_caught(theatre, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", rest(DISHONEST), ids=lambda case: case.name)
def test_each_cheat_is_caught(theatre: Theatre, case: Case) -> None:
    must_be_caught(theatre, case)


@pytest.mark.parametrize("case", firsts(HONEST), ids=lambda case: case.name)
def test_an_honest_agent_is_not_disturbed(theatre: Theatre, case: Case) -> None:
    must_go_through(theatre, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", rest(HONEST), ids=lambda case: case.name)
def test_each_honest_agent_is_not_disturbed(theatre: Theatre, case: Case) -> None:
    must_go_through(theatre, case)


def test_there_are_enough_of_them() -> None:
    assert len(DISHONEST) >= 60
    assert len(HONEST) >= 10


def must_be_caught(theatre: Theatre, case: Case) -> None:
    played = theatre.play(case)

    assert not played.touched, "the user's own is untouched"
    if case.advice:
        noted = "\n".join(one.advice for one in played.told)
        assert not played.refusals, played.refusals
        assert [words for words in case.advice if words not in noted] == [], noted
        return
    assert played.refusals, f"accepted, although it {case.what}"
    said = played.refusals[0].text
    assert [words for words in case.expects if words not in said] == [], said


def must_go_through(theatre: Theatre, case: Case) -> None:
    played = theatre.play(case, to_the_end=True)

    assert played.refusals == []
    assert (played.outcome, played.touched) == ("Merged", ())
