"""The pages of docs/agents are executed with the real programs: what needs no key is done, and compared."""

import re
from pathlib import Path

import pytest

from played_model.server import ModelServer
from tests.real_agents import inside_apart
from tests.test_tutorial import Command, Reader, steps
from treadle.config.agents import PROGRAMS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted((DOCS / "agents").glob("*.md"))
UNTRIED = re.compile(r"^```sh\n.*?^```$", re.MULTILINE | re.DOTALL)
"""What needs a login, or installs something."""


def commands(name: str) -> list[Command]:
    text = UNTRIED.sub("", (DOCS / "agents" / f"{name}.md").read_text(encoding="utf-8"))
    return [step for step in steps(text) if isinstance(step, Command)]


def test_every_tested_program_has_a_page_with_links_to_it() -> None:
    names = [page.stem for page in PAGES]
    assert set(names) == {program.name for program in PROGRAMS} - {"goose"}
    for page in (DOCS / "agents.md", DOCS / "index.md"):
        assert all(f"](agents/{name}.md)" in page.read_text(encoding="utf-8") for name in names)
    for program in PROGRAMS:
        if program.name in names:
            assert program.install in (DOCS / "agents" / f"{program.name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [page.stem for page in PAGES])
def test_a_page_shows_a_trial_without_a_key(name: str) -> None:
    assert [step.words for step in commands(name)] == [f"treadle agents try {name} --played"]


def follows(_: ModelServer, folder: Path) -> str:
    (folder / "reader").mkdir()
    Reader(folder / "reader").follow(commands((folder / "agent").read_text()))
    return "to the end"


@pytest.mark.agents
@pytest.mark.parametrize("name", [page.stem for page in PAGES])
def test_the_commands_of_a_page_print_its_output(name: str, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text(name)
    assert inside_apart(follows, tmp_path, "scripts: {none: [{say: nothing}]}") == "to the end"
