"""The scenarios of a story, as the document that its protocol names has them."""

from treadle.evidence.schemas.gherkin import Scenario, scenarios
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of

ARTIFACT = "bdd"


def scenario_place(s: Subject) -> str:
    """Where the scenarios lie; empty if the protocol has no such document."""
    declared = s.case.protocol.artifacts.get(ARTIFACT)
    return place_of(declared, s.input) if declared else ""


async def scenario_text(s: Subject, commit: str = "") -> str:
    """The document; empty if there is none."""
    place = scenario_place(s)
    return (await s.text(place, commit) or "") if place else ""


def names_of(one: Scenario, others: list[Scenario]) -> list[str]:
    """What a test of this scenario may stand for: its name, and the criteria that no other scenario is tagged with."""
    shared = {tag for other in others if other is not one for tag in other.tags}
    return [one.name, *(tag.removeprefix("@") for tag in one.tags if tag not in shared)]


async def unclear_names(s: Subject) -> set[str]:
    """The scenarios with an open question, and the criteria that only such scenarios are about."""
    listed = scenarios(await scenario_text(s))
    unclear = [one for one in listed if one.questions]
    clear = {tag for one in listed if not one.questions for tag in one.tags}
    return {one.name for one in unclear} | {
        tag.removeprefix("@") for one in unclear for tag in one.tags if tag not in clear
    }
