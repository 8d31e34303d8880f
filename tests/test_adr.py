"""Decisions are written the way the first one says, and the index has them all."""

import re
from pathlib import Path

import pytest

from tools.places import DOCS

FOLDER = DOCS / "adr"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
PARTS = ["Context", "Decision", "Consequences", "Rejected"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_a_decision_has_its_number_a_status_and_four_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(rf"# {int(page.name[:4])}\. \S.*\n\nStatus: (accepted|replaced by \d+)\n", text)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    assert all(part.strip() for part in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:])


def test_the_index_has_every_decision_in_order() -> None:
    heads = [page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in PAGES]
    lines = [
        f"{number}. [{title}]({page.name})" for (number, title), page in zip(map(_parts, heads), PAGES, strict=True)
    ]
    found = [line for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines() if line[:1].isdigit()]
    assert found == lines
    assert [int(_parts(head)[0]) for head in heads] == list(range(1, len(PAGES) + 1))


def _parts(head: str) -> tuple[str, str]:
    number, _, title = head.partition(". ")
    return number, title


@pytest.mark.parametrize("page", [*PAGES, FOLDER / "README.md", DOCS / "index.md"], ids=lambda page: str(page.name))
def test_links_lead_to_existing_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
