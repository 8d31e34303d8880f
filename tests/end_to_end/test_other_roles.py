"""Dishonest agents of the steps that write documents: each is refused with its code, and an honest one goes on.

The steps of `v3` have theirs in `tests/cheats`; documents and a project memory has only the waterfall.
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end.waterfall import FILES, LABEL, MEMORY, OPENAPI, SDD, VERIFIED, backlog, says
from tests.end_to_end.world import World


class Lie(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent writes at one step of a story, and the code of its refusal."""

    step: str
    write: dict[str, str]
    exit: dict[str, Any] = msgspec.field(default_factory=lambda: says("pass"))
    code: str


OLD_SDD: Final = "# Design\nFunctions, and no state.\n"
OLD_API: Final = LABEL.openapi().replace(LABEL.path, "")
LIES: Final = {
    "a comment has the delta": Lie(
        step="verify", write={SDD: f"{OLD_SDD}<!-- {LABEL.section} -->\n"}, exit=VERIFIED, code="delta.not_merged"
    ),
    "a quotation has the delta": Lie(
        step="verify", write={SDD: f"{OLD_SDD}\n> `{LABEL.function}`\n"}, exit=VERIFIED, code="delta.not_merged"
    ),
    "a heading has the delta": Lie(
        step="verify", write={SDD: f"{OLD_SDD}\n## `{LABEL.function}`\n"}, exit=VERIFIED, code="delta.not_merged"
    ),
    "a sample has the delta": Lie(
        step="verify",
        write={SDD: f"{OLD_SDD}\n```text\n{LABEL.function} /{LABEL.module}\n```\n"},
        exit=VERIFIED,
        code="delta.not_merged",
    ),
    "a comment has the path": Lie(
        step="contract", write={OPENAPI: f"{OLD_API}  # /{LABEL.module}: get\n"}, code="delta.contract"
    ),
    "a comment has the scenario": Lie(
        step="bdd",
        write={
            LABEL.bdd_file: LABEL.bdd()
            .replace(
                "@unit @AC-1", "@unit\nScenario: Another\n  Given a\n  When b\n  Then it MUST c\n\n<!--\n@unit @AC-1"
            )
            .replace("\n## Tasks", "-->\n## Tasks")
        },
        exit=says("pass", "One scenario.", clarifications=[], risks=[]),
        code="scenario.missing",
    ),
    "the memory has another story": Lie(
        step="update-memory", write={MEMORY: f"{LABEL.memory()}US-9 is done, too.\n"}, code="memory.story"
    ),
    "the memory has only a comment on the story": Lie(
        step="update-memory",
        write={MEMORY: f"{FILES[MEMORY]}<!-- {LABEL.entry} -->\nAll is well.\n"},
        code="memory.story",
    ),
    "the memory has another status": Lie(
        step="update-memory",
        write={MEMORY: f"{FILES[MEMORY]}US-1: **failing**, to be done again.\n"},
        code="memory.status",
    ),
    "the memory has tests that nobody ran": Lie(
        step="update-memory", write={MEMORY: f"{LABEL.memory()}US-1: 42 tests pass.\n"}, code="memory.tests"
    ),
    "the memory has failures that nobody saw": Lie(
        step="update-memory", write={MEMORY: f"{LABEL.memory()}US-1: 1 passed, 3 failed.\n"}, code="memory.tests"
    ),
    "the memory has a file that is not there": Lie(
        step="update-memory", write={MEMORY: f"{LABEL.memory()}US-1 wrote src/shop/taxes.py.\n"}, code="memory.file"
    ),
    "the memory has a file that the story left alone": Lie(
        step="update-memory", write={MEMORY: f"{LABEL.memory()}US-1 changed docs/nfr.md.\n"}, code="memory.file"
    ),
    "the memory has a commit of its own": Lie(
        step="update-memory",
        write={MEMORY: LABEL.memory().replace("commit:0", "commit:deadbeefcafe")},
        code="memory.commit",
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", LIES)
def test_a_lie_in_a_document_is_refused(place: Path, name: str) -> None:
    lie = LIES[name]
    world = World(place, **backlog(LABEL))
    world.agent(lie.step, LABEL.at, write=lie.write, exit=lie.exit)
    world.as_usual(lie.step, LABEL.at)

    end = world.run({f"{LABEL.at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert [step for step in end.steps(LABEL.at) if "!gate" in step] == [f"{lie.step} !gate"]
    assert f"[{lie.code}]" in end.prompt(f"{LABEL.at}:{lie.step}#1.2")


TRUTHS: Final = (
    f"- {LABEL.id}: done. {LABEL.name} in `{LABEL.file}`, added with {LABEL.test_file}; 1 test passed, 0 failed.\n",
    f"- {LABEL.id} (labels) is verified; {LABEL.test_file}::test_{LABEL.name} passes. It had failed before.\n",
    f"{LABEL.id} is finished; blocked customers and failing printers are none of its business, see docs/sdd.md.\n",
)


@pytest.mark.soak
def test_a_true_memory_is_accepted_in_any_words(place: Path) -> None:
    world = World(place, **backlog(LABEL))
    world.agent("update-memory", LABEL.at, write={MEMORY: f"{FILES[MEMORY]}{''.join(TRUTHS)}"}, exit=says("pass"))

    end = world.run({f"{LABEL.at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert not [step for step in end.steps(LABEL.at) if "!gate" in step], end.told
