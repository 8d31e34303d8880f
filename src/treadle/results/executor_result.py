"""Channel 2: `.ai/executor-result`, a status report or a full exit, in YAML or JSON."""

from typing import Final

from treadle.protocol.answers.answer import Claim
from treadle.protocol.answers.problems import kind
from treadle.results import plain_yaml, report, strict_json
from treadle.results.faulty import Faulty, faulty
from treadle.results.ways import Ways

FILE: Final = ".ai/executor-result"
_SHAPE: Final = "write `status: …`, `reason: …` and `summary: …`, or `exit: {type: …}`"


def parse(data: bytes, ways: Ways) -> Claim | Faulty:
    """An answer from the contents of the file."""
    text = strict_json.decode_text(data, FILE)
    if isinstance(text, Faulty):
        return text
    language = strict_json if text.lstrip().startswith("{") else plain_yaml
    value = language.parse(text, FILE)
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{FILE} must be a mapping, not {kind(value)}; {_SHAPE}")
    found = report.claim(value, ways, FILE)
    return faulty(f"{FILE} does not say how the step ended; {_SHAPE}") if found is None else found
