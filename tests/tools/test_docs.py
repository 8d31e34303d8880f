import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import pytest

from tests.node_tools import check_mermaid
from tools.docs import bring_up_to_date, pages


@cache
def made() -> dict[str, str]:
    """The pages; made when a test asks for them, for every process that only collects would make them too."""
    return dict(pages())


def test_stale_missing_and_left_over_files_are_listed_and_then_repaired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    assert bring_up_to_date(made(), docs, only_check=False) == 0
    assert bring_up_to_date(made(), docs, only_check=True) == 0
    (docs / "cli.md").write_text("old")
    (docs / "protocols" / "v3.svg").unlink()
    (docs / "protocols" / "gone.md").write_text("a protocol that is no more")
    capsys.readouterr()
    assert bring_up_to_date(made(), docs, only_check=True) == 1
    stale = capsys.readouterr().err.splitlines()
    assert stale == [
        f"docs/{name} is stale; run `make docs`" for name in ("protocols/v3.svg", "cli.md", "protocols/gone.md")
    ]
    assert bring_up_to_date(made(), docs, only_check=False) == 0
    assert bring_up_to_date(made(), docs, only_check=True) == 0


@pytest.mark.soak
def test_the_same_pages_every_time() -> None:
    assert dict(pages()) == made()


@pytest.mark.parametrize("name", ["dptr", "fractal", "riper", "v3", "waterfall"])
def test_a_protocols_page_has_every_section(name: str) -> None:
    page = made()[f"protocols/{name}.md"]
    for head in ("## Overview", "## Graph ", "## Roles", "## Exits", "## Input", "### Example", f"({name}.svg)"):
        assert head in page
    ET.fromstring(made()[f"protocols/{name}.svg"])


def test_the_real_mermaid_accepts_every_diagram_of_the_pages(tmp_path: Path) -> None:
    files = []
    for name, page in made().items():
        for number, block in enumerate(page.split("```mermaid\n")[1:]):
            files.append(tmp_path / f"{Path(name).stem}-{number}.mmd")
            files[-1].write_text(block.split("```")[0])
    assert len(files) >= 5
    result = check_mermaid(*files)
    assert result.returncode == 0, result.stderr


def test_every_command_is_in_the_reference() -> None:
    for command in (
        "protocol check",
        "protocol draw",
        "protocol schema",
        "protocol new",
        "spec new",
        "spec check",
        "demo",
    ):
        assert f"## treadle {command}\n" in made()["cli.md"]
    assert "treadle protocol table NAME [--graph GRAPH] [--full] [--json]" in made()["cli.md"]
    assert "completion" not in made()["cli.md"]


def test_the_reference_has_the_usage_of_each_command() -> None:
    page = made()["cli.md"]
    assert "treadle answer [RUN] [ASK] CHOICE [--note NOTE] [--resume]" in page
    assert "[--exit EXIT] [--field NAME=VALUE]" in page
    assert "| SPEC | " in page
    for ugly in ("Default: .", "\\`", "EXIT_", "TYPE_", "CHANGES", "_OR_"):
        assert ugly not in page
