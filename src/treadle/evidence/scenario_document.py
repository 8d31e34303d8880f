"""The scenarios of a story, as the document that its protocol names has them."""

from typing import Final

from treadle.evidence.checks.schema import document_places
from treadle.evidence.past import accepted
from treadle.evidence.schemas.gherkin import Scenario, scenarios
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.protocol.model import tag_of

ARTIFACT: Final = "bdd"
_FIELD: Final = "scenarios"
"""What an exit has that is about such a document."""


def scenario_place(s: Subject) -> str:
    """Where the scenarios lie: where they are written, or were, or where the protocol has them; empty if nowhere."""
    exits = s.case.protocol.exits
    claimed = exits.get(tag_of(s.job.exit)) if s.job.exit else None
    if claimed and _FIELD in claimed.fields:
        return next(iter(document_places(s)), "")
    written = [one.payload.get("files_changed") for one in accepted(s.case, s.inst) if _FIELD in one.payload]
    files = [path for path in written[-1] if isinstance(path, str)] if written and isinstance(written[-1], list) else []
    declared = s.case.protocol.artifacts.get(ARTIFACT)
    usual = place_of(declared, s.input) if declared else ""
    return usual if usual in files or not files else files[0]


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
