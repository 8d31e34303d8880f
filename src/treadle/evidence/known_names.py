"""Everything that a test may stand for: the criteria of an instance, and its scenarios."""

from treadle.evidence.criteria import own_criteria
from treadle.evidence.past import accepted
from treadle.evidence.scenario_document import scenario_text
from treadle.evidence.schemas.gherkin import scenarios
from treadle.evidence.subject import Subject


async def known_names(s: Subject) -> set[str]:
    """Criteria, and the scenarios that were accepted, or that are there if nobody in this run has written any."""
    listed = [one.payload.get("scenarios") for one in accepted(s.case, s.inst)]
    texts = [text for one in listed if isinstance(one, list) for text in one if isinstance(text, str)]
    return {*own_criteria(s), *(texts or [one.name for one in scenarios(await scenario_text(s))])}
