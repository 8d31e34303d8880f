"""A project's own step rules at work: the published table, in another language, and a post_check that refuses."""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.end_to_end.waterfall import LABEL, STORY, Story, backlog, says
from tests.end_to_end.world import World
from tests.protocol.rules.test_compile import PUBLISHED

pytestmark = pytest.mark.soak

LINT: Final = "! grep -rn 'TODO' src | grep -v ignore"
"""A line that only a shell understands."""


class Beside(Story, frozen=True, kw_only=True):
    """A story whose tests lie beside its code, as the published table has them."""

    @property
    def test_file(self) -> str:
        return f"src/shop/{self.module}_test.py"


def test_the_published_table_runs(place: Path) -> None:
    """Letter by letter, but for the language: what it calls *.go is *.py here, and its linters are a line of grep."""
    published = PUBLISHED.read_text(encoding="utf-8").replace(".go", ".py")
    rules = published.replace("go vet ./... && golangci-lint run", LINT)
    assert LINT in rules
    story = Beside(**msgspec.structs.asdict(LABEL))
    world = World(place, rules=rules, **backlog(story))
    noted = {story.file: story.code() + "# TODO: irregular plurals\n"}
    world.agent("impl", story.at, write=noted, exit=says("pass", "Nearly."))
    outside = {story.file: story.code(), "src/shop/labels.html": "<p>"}
    world.agent("impl", story.at, write=outside, exit=says("pass", "And a page."))
    world.agent("impl", story.at, delete="src/shop/labels.html", exit=says("pass", "It is there."))

    end = world.run({f"{story.at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert end.steps(story.at) == [*STORY[:5], "impl !gate", "impl !gate", *STORY[5:]]
    assert "src/shop/labels.py:4:# TODO: irregular plurals" in end.refusals(f"{story.at}:impl#1.1")
    assert ("src/shop/labels.html", "scope.outside") in end.findings(f"{story.at}:impl#1.2")
    assert f"- {story.bdd_file}" in end.prompt(f"{story.at}:sdd-delta#1.1")
    assert end.files()[story.bdd_file].startswith("# US-1: ")
    assert end.suite().startswith("1 passed")
