"""Documents that an exit returns."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from treadle.evidence.checks.documents import document_fault
from treadle.protocol.items import Json

DOCUMENT = "# Architecture\n\nModules and what they do.\n"
BRIEF: dict[str, Json] = {"id": "b", "title": "B", "description": "d"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DOCUMENT, ""),
        ("", "is empty"),
        ("# x", "is too short"),
        (DOCUMENT + "\x07", "control character"),
        (DOCUMENT + "\n```\ncode\n", "code block"),
        ("```\ncode\n```\n" + DOCUMENT, ""),
        ("no heading anywhere, only text\n", "no heading"),
    ],
)
def test_a_document_needs_a_heading_enough_text_and_closed_code_blocks(text: str, said: str) -> None:
    found = [fault for fault, _ in document_fault(text)]
    assert any(said in one for one in found) if said else not found


def test_accepted_documents_are_there_for_the_next_agent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", {"a.py": ""}, "dptr", BRIEF).start()
        fields: dict[str, Json] = {"patterns": DOCUMENT, "tech": "none", "modules": []}
        verdict = await stage.claim("architecture", "Architecture", fields=fields)
        assert stage.codes(verdict, "documents") == ["document.malformed"]
        assert "'tech'" in verdict.report
        fields["tech"] = DOCUMENT
        assert (await stage.claim("architecture", "Architecture", fields=fields, n="2.1")).report == ""
        head = await stage.facts.head(stage.state, "root")
        assert await stage.facts.show(head, "memory-bank/systemPatterns.md") == DOCUMENT.encode()

    run(story())


def test_a_dead_reference_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", {"a.py": ""}, "dptr", BRIEF).start()
        fields: dict[str, Json] = {
            "patterns": f"{DOCUMENT}\n## Rules\nAs [↗️σ₃:R1] says, [↗️σ₄:R1], [↗️σ₂:Ruls].\n",
            "tech": f"{DOCUMENT}\nSee [↗️σ₂:Rules] and [↗️σ₉:R1].\n",
            "modules": [],
        }
        refused = await stage.claim("architecture", "Architecture", fields=fields)
        assert stage.found(refused, "documents") == [
            ("memory-bank/systemPatterns.md:6", "document.dead_reference"),
            ("memory-bank/techContext.md:5", "document.dead_reference"),
        ]
        named = ("[↗️σ₂:Ruls]", "'rules'", "[↗️σ₉:R1]", "σ₁, σ₂")
        assert [text for text in named if text not in refused.report] == []
        assert refused.report.count("[↗️") == 2
        fields["patterns"] = f"{DOCUMENT}\n## Rules\nAs [↗️σ₃:R1] says.\n"
        fields["tech"] = f"{DOCUMENT}\nSee [↗️σ₂:Rules].\n"
        assert (await stage.claim("architecture", "Architecture", fields=fields, n="2.1")).report == ""
        # What was accepted is there for those who refer to it later.
        report: dict[str, Json] = {"report": f"{DOCUMENT}\n[↗️σ₂:Rules], [↗️design:R1]\n"}
        later = await stage.claim("review", "Reviewed", fields=report, checks="documents")
        assert stage.codes(later, "documents") == ["document.dead_reference"]
        place = "memory-bank/modules/{name}/design.md"
        assert [text for text in ("[↗️design:R1]", place) if text not in later.report] == []
        assert later.report.count("[↗️") == 1

    run(story())


def test_a_document_is_amended_not_rewritten(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(20))

    async def story() -> None:
        stage = await Stage(tmp_path, files={"docs/a.md": lines, "a.py": lines}).start()
        good = {"docs/a.md": lines.replace("line 3\n", "changed\n"), "a.py": "rewritten\n"}
        assert (await stage.claim("impl", "TestsPassed", good, checks="diff_only")).report == ""
        bad = {"docs/a.md": "all new\n" * 20}
        verdict = await stage.claim("impl", "TestsPassed", bad, checks="diff_only", n="2.1")
        assert stage.found(verdict, "diff_only") == [("docs/a.md", "document.rewritten")]
        assert "0 of 20" in verdict.report

    run(story())
