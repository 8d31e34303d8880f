"""What a step that only reads may say about criteria: those that exist."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from treadle.protocol.items import Json

GIVEN: dict[str, Json] = {
    "id": "calc",
    "description": "It adds.",
    "acceptanceCriteria": [{"id": "AC-1", "text": "adds"}, {"id": "AC-2", "text": "adds quickly"}],
    "targetPath": "src/calc",
    "testPath": "tests/calc",
}
DOCUMENT = {"docs/older.md": "# Older\n\nOLD-5 and AC-31 are about something else.\n"}


@pytest.mark.parametrize(
    ("exit_", "fields", "named"),
    [
        ("Approved", {"signOff": "AC-1 and AC-2 are met, as AC-31 was."}, []),
        ("Approved", {"signOff": "ac 1 and criterion 2 are met; UTF-8, 3 files, HTTP-404."}, []),
        ("Approved", {"signOff": "AC-1.1 is met."}, []),
        ("Approved", {"signOff": "AC-1 and AC-3 are met."}, ["AC-3"]),
        ("Approved", {"signOff": "ac_17 is met, ac_17 twice."}, ["ac_17"]),
        ("Approved", {"signOff": "Criteria 1 and criterion 4 are met."}, ["criterion 4"]),
        ("Approved", {"signOff": "Yes.", "changeReasons": [{"symbol": "add", "reason": "AC-9"}]}, ["AC-9"]),
        ("ChildAccepted", {"child": "a", "reason": "AC-8 is met.", "provides": []}, ["AC-8"]),
        ("Reject", {"reason": "AC-9 was never asked for.", "missingCriteria": ["AC-2: quick"]}, []),
        ("Reject", {"reason": "No.", "missingCriteria": ["calc/AC-1", "AC-4", "speed"]}, ["AC-4", "speed"]),
    ],
)
def test_a_sign_off_names_only_criteria_that_exist(
    tmp_path: Path, exit_: str, fields: dict[str, Json], named: list[str]
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, given=GIVEN, files=DOCUMENT).start()
        step = "judge" if exit_ == "ChildAccepted" else "review"
        verdict = await stage.claim(step, exit_, {}, fields, checks="readonly")
        findings = [one for one in stage.evidence(verdict, "readonly")["findings"] if one["code"].startswith("signoff")]
        assert [one["code"] for one in findings] == ["signoff.unknown_criterion"] * len(named)
        assert all(repr(word) in one["what"] for word, one in zip(named, findings, strict=True))
        assert all("AC-1" in one["expected"] or "AC-2" in one["expected"] for one in findings)

    run(story())
