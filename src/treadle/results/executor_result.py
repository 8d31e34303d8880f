"""Channel 2: `.ai/executor-result`, a status report or a full exit, in YAML or JSON."""

from typing import Final

from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.values import describe_value
from treadle.results import intake, status_report
from treadle.results.exits import Ways
from treadle.results.intake import Faulty, faulty

FILE: Final = ".ai/executor-result"
_SHAPE: Final = "write `status: …`, `reason: …` and `summary: …`, or `exit: {type: …}`"


def parse(data: bytes, ways: Ways) -> Claim | Faulty:
    """An answer from the contents of the file."""
    text = intake.decode_text(data, FILE)
    if isinstance(text, Faulty):
        return text
    language = intake if text.lstrip().startswith("{") else status_report
    value = language.parse(text, FILE)
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{FILE} must be a mapping, not {describe_value(value)}; {_SHAPE}")
    found = status_report.claim_of_report(value, ways, FILE)
    return faulty(f"{FILE} does not say how the step ended; {_SHAPE}") if found is None else found
