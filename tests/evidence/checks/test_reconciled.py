"""What was merged before is still there when two have been reconciled."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from tests.git.place import git
from treadle.evidence.checks.commits import lost_lines

BEFORE = "# Design\n\nParts of the shop.\n\n## Now\nnothing yet\n"
OTHERS = "# Design\n\nParts of the shop.\n- `label(name)`\n\n## Now\nlabels are done\n"
OWN = "# Design\n\nParts of the shop.\n- `price(cents)`\n\n## Now\nprices are done\n"
BOTH = "# Design\n\nParts of the shop.\n- `label(name)`\n- `price(cents)`\n\n## Now\nlabels and prices are done\n"


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (BOTH, []),
        (OTHERS + OWN, []),
        (BOTH.replace("Parts of the shop.\n", ""), ["Parts of the shop."]),
        (OWN, ["- `label(name)`", "labels are done"]),
        ("- `price(cents)`\n", ["# Design", "Parts of the shop.", "- `label(name)`", "## Now", "labels are done"]),
        (BOTH.replace("`label(name)`", "`label(name, size)`"), []),
    ],
)
def test_reconciling_keeps_the_lines_of_both_sides(now: str, lost: list[str]) -> None:
    assert lost_lines(BEFORE, OTHERS, OWN, now) == lost


@pytest.mark.parametrize(
    ("others", "now", "lost"),
    [
        ("3 tests pass.", "5 tests pass.", []),
        ("Updated: 2026-11-16", "Updated: 2026-11-17", []),
        ("US-1 is done.", "US-2 is done.", ["US-1 is done."]),
        ("US-1 is done.", "US-1 and US-2 are done.", []),
        ("| a | b |\n|---|---|", "| a   | b   |\n|-----|-----|", []),
        ("3 tests pass.", "", []),
    ],
)
def test_numbers_and_spaces_do_not_count(others: str, now: str, lost: list[str]) -> None:
    assert lost_lines("", others, "US-2 is done.\n4 tests pass.", now) == lost


def test_a_line_that_one_side_removed_may_be_gone() -> None:
    assert (
        lost_lines(BEFORE, OTHERS, OWN.replace("Parts of the shop.\n", ""), BOTH.replace("Parts of the shop.\n", ""))
        == []
    )
    assert lost_lines("a line\n", "", "a line\nmine\n", "mine\n") == []


def test_a_reconciled_file_keeps_the_lines_that_were_merged_meanwhile(tmp_path: Path) -> None:
    async def told() -> None:
        files = {"docs/sdd.md": BEFORE, "src/calc/n.py": "x = 1\n"}
        stage = await Stage(tmp_path, files=files).start()
        assert (await stage.claim("impl", "TestsPassed", {"a.txt": "a\n"}, checks="checkpoint")).report == ""
        for name, text in {"docs/sdd.md": OTHERS, "src/calc/n.py": "x = 1\nlabel = 2\n"}.items():
            (stage.root / name).write_text(text)
        git(stage.root, "commit", "-q", "-am", "others were merged")
        mine: dict[str, str | None] = {"docs/sdd.md": OWN, "src/calc/n.py": "x = 1\nprice = 3\n"}
        verdict = await stage.claim("adapt", "RebaseAdapted", mine, checks="checkpoint both_kept")
        assert "docs/sdd.md: '- `label(name)`' " in verdict.report
        assert ("docs/sdd.md", "rebase.lost_lines") in stage.found(verdict, "both_kept")
        noted = [one for one in stage.evidence(verdict, "both_kept")["findings"] if one.get("note")]
        assert [(one["code"], one["file"]) for one in noted] == [("rebase.lost_lines", "src/calc/n.py")]
        gone: dict[str, str | None] = {"docs/sdd.md": "# Other\n"}
        verdict = await stage.claim("adapt", "RebaseAdapted", gone, checks="checkpoint both_kept", n="2.1")
        assert "docs/sdd.md: 2 more lines " in verdict.report
        both: dict[str, str | None] = {"docs/sdd.md": BOTH}
        assert (await stage.claim("adapt", "x", both, checks="checkpoint both_kept", n="3.1")).report == ""

    run(told())
