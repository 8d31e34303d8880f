"""A manifest that an earlier run has left behind, beside the work of this one."""

import json
from pathlib import Path

import pytest

from tests.evidence.stage import FILES, Stage, run

TAG = "tests/calc/test_tag.py::test_tag"
CODE = "def tag(n: int) -> str:\n    return f'B{n}'\n"
OLD = "from src.calc.tag import tag\n\n\ndef test_tag() -> None:\n    assert tag(4) == 'B4'\n"
AMENDED = OLD.replace("'B4'", "'A4'")
OTHER = OLD.replace("test_tag", "test_other").replace("'B4'", "'A4'")
NAME = "tests/calc/test_manifest.json"


def listed(spec: str, **entries: str) -> str:
    named = {"spec_id": spec} if spec else {}
    return json.dumps({**named, "acceptance_criteria_map": entries})


@pytest.mark.parametrize(
    ("before", "test", "now", "codes"),
    [
        ("calc", AMENDED, listed("calc", test_tag="AC-1"), set()),
        ("", AMENDED, listed("calc", test_tag="AC-1"), set()),
        ("first", AMENDED, listed("calc", test_tag="AC-1"), set()),
        ("first", AMENDED, listed("first", test_tag="AC-1"), {"manifest.uncovered"}),
        ("calc", OLD, listed("calc", test_tag="AC-1"), {"manifest.uncovered"}),
        ("", OLD, listed("calc", test_tag="AC-1"), {"manifest.uncovered"}),
        ("", OLD, listed("calc", test_tag="calc/AC-1"), {"red.never_failed"}),
        ("calc", f"{OLD}    assert tag(5)\n", listed("calc", test_tag="AC-1"), {"red.never_failed", "tests.rewritten"}),
        ("", OLD, listed("calc", test_tag="holds:AC-1"), set()),
        ("", OLD, listed("", test_tag="holds:AC-1"), set()),
    ],
    ids=[
        "amended",
        "amended, of no spec",
        "rewritten, of another spec",
        "rewritten, under another spec's name",
        "as it was",
        "as it was, of no spec",
        "as it was, for this spec",
        "rewritten, and passes",
        "holds",
        "holds, of no spec",
    ],
)
def test_an_entry_counts_by_what_its_test_is_now(
    tmp_path: Path, before: str, test: str, now: str, codes: set[str]
) -> None:
    old = {"src/calc/tag.py": CODE, "tests/calc/test_tag.py": OLD, NAME: listed(before, test_tag="AC-1")}

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, **old}).start()
        # A second test is red in any case, so that only the entry is in question.
        written = {"tests/calc/test_tag.py": test, "tests/calc/test_other.py": OTHER, NAME: now}
        verdict = await stage.claim("tests", "TestsReady", written, checks="checkpoint manifest_complete red")
        found = {
            (one["code"], one.get("criterion", "") or one.get("test", ""))
            for check in ("manifest_complete", "red")
            for one in stage.evidence(verdict, check)["findings"]
            if not one.get("note")
        }
        assert {code for code, _ in found} == codes, found
        if "manifest.uncovered" in codes and test == OLD:
            said = stage.evidence(verdict, "manifest_complete")["findings"]
            assert [one["test"] for one in said if one["code"] == "manifest.uncovered"] == ["test_tag"]

    run(story())
