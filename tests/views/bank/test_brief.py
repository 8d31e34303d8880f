"""σ₁ as it was handed in."""

from tests.views.bank.banked import BRIEF, LABELS, executed
from treadle.protocol.items import Json

WHOLE = """\
# σ₁ Brief shop: A shop

## R1 Brief

> Sells things.
> # Not a section

## R2 Modules

### labels

> Names things.

- AC-1: A thing has a name.

uses prices, colours

lives in src/labels

> Keep it small.

### prices

## R3 Criteria

- AC-9: It is fast.

## R4 Constraints

- no network

## R5 Technology

- Python 3.12
- SQLite
"""


def test_every_field_of_a_brief_is_shown() -> None:
    found = executed()
    labels: dict[str, Json] = {
        **LABELS,
        "depends": ["prices", "colours"],
        "paths": ["src/labels"],
        "notes": "Keep it small.",
    }
    found.said["ref:input"] = {
        **BRIEF,
        "description": "Sells things.\n# Not a section\n",
        "modules": [labels, {"name": "prices"}],
        "criteria": [{"id": "AC-9", "text": "It is fast."}],
        "constraints": ["no network"],
        "technology": ["Python 3.12", "SQLite"],
    }
    assert found.view("brief") == WHOLE


def test_a_brief_that_cannot_be_read() -> None:
    found = executed()
    found.said["ref:input"] = None
    assert found.view("brief").startswith("# σ₁ Brief\n\n## R1 Brief\n\nnone\n")
