"""Many stories of the waterfall: side by side in worktrees of their own, or one after another."""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.end_to_end.waterfall import FILES, LABEL, MEMORY, OPENAPI, PRICE, SDD, STORY, VERIFIED, Story, backlog, says
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

OFFER: Final = Story(
    id="US-3",
    module="offers",
    function="offer(count: int, noun: str, cents: int) -> str",
    uses="from shop.labels import label\nfrom shop.prices import price\n\n\n",
    body='return f"{label(count, noun)} for {price(count, cents)}"',
    text="An offer names the things and what they cost together.",
    proof=("offer(3, 'pen', 120) == '3 pens for 360'", "offer(1, 'cup', 5) == '1 cup for 5'"),
    blocked_by=("US-1", "US-2"),
    on=(LABEL, PRICE),
)
"""It needs the other two."""
SECOND: Final = msgspec.structs.replace(PRICE, on=(LABEL,))


def test_stories_side_by_side_and_one_that_waits_for_them(place: Path) -> None:
    world = World(place, **backlog(LABEL, PRICE, OFFER))
    world.as_usual("update-memory", PRICE.at, after=LABEL.at)
    world.agent("reconcile", PRICE.at, write={OPENAPI: SECOND.openapi()}, exit=says("pass", "Half of it."))
    mine = {**PRICE.documents(), PRICE.file: PRICE.code() + "\n"}
    world.agent("reconcile", PRICE.at, write=mine, exit=says("pass", "Only mine, and more."))
    both = {**SECOND.documents(), PRICE.file: PRICE.code()}
    world.agent("reconcile", PRICE.at, write=both, exit=says("pass", "Both."))

    end = world.run({f"{story.at}:review": "approve" for story in (LABEL, PRICE, OFFER)})

    assert end.outcome == "Done", end.told
    assert end.steps(LABEL.at) == STORY
    assert end.steps(PRICE.at) == [
        *STORY[:-1],
        *["merge MergeRejected.IntegrationFailure", "rebase RebaseConflict"],
        *[
            "reconcile !gate",
            "reconcile !gate",
            "reconcile pass",
            "resuite Passed",
            "merge MergeComplete",
        ],
    ]
    assert end.steps(OFFER.at) == STORY
    assert end.when(f"{PRICE.at}:bdd") < end.when(f"{LABEL.at}:merge"), "side by side"
    assert end.when(f"{PRICE.at}:merge#2.1") < end.when(f"{OFFER.at}:bdd"), "the blocked one starts when both are done"
    told = end.prompt(f"{PRICE.at}:reconcile#1.1")
    assert f"in: {MEMORY}, {OPENAPI}, {SDD}" in told
    assert "rebase.marker" in {code for _, code in end.findings(f"{PRICE.at}:reconcile#1.1")}
    found = end.findings(f"{PRICE.at}:reconcile#1.2")
    assert "rebase.lost_lines" in {code for _, code in found}
    assert (PRICE.file, "scope.not_in_conflict") in found
    merges = [end.when(f"{one}:merge#{n}.1 MergeComplete") for one, n in ((LABEL.at, 1), (PRICE.at, 2), (OFFER.at, 1))]
    assert merges == sorted(merges), "merged in order"
    assert end.subjects() == [f"feat({one.id}): About {one.module}" for one in (LABEL, PRICE, OFFER)], "a commit each"
    files = end.files()
    assert [files[name] for name in (OPENAPI, SDD, MEMORY)] == [text.strip() for text in OFFER.documents().values()]
    assert end.suite().startswith("3 passed")
    assert all(f"tests/{one.id}/test_manifest.json" in files for one in (LABEL, PRICE, OFFER))


def test_a_story_is_made_to_work_on_another_one_s_merge(place: Path) -> None:
    """Not a line is in conflict, and yet the tests of one do not pass on the other's work."""
    unit = "def unit() -> str:\n    return 'cent'\n"
    priced = msgspec.structs.replace(
        PRICE,
        function="price(count: int, cents: int) -> str",
        uses="from shop.units import unit\n\n\n",
        body='return f"{count * cents} {unit()}"',
        proof=("price(3, 120) == '360 cent'", "price(1, 5) == '5 cent'"),
    )
    told = backlog(LABEL, priced)
    world = World(place, **{**told, "files": {**told["files"], "src/shop/units.py": unit}})
    changed = {LABEL.file: LABEL.code(), "src/shop/units.py": unit.replace("cent", "ct")}
    world.agent("impl", LABEL.at, write=changed, exit=says("pass", "label is there, and the unit is shorter."))
    # Nothing that could be in conflict: on top of the documents, where the other one adds to their end.
    first = FILES[OPENAPI].replace("paths:\n", f"paths:\n{LABEL.path}")
    world.agent("contract", LABEL.at, write={OPENAPI: first}, exit=says("pass", "One path more."))
    world.agent("verify", LABEL.at, write={SDD: LABEL.section + FILES[SDD]}, exit=VERIFIED)
    world.agent("update-memory", LABEL.at, write={MEMORY: LABEL.entry + FILES[MEMORY]}, exit=says("pass"))
    world.as_usual("update-memory", priced.at, after=LABEL.at)
    mended = {priced.file: priced.code('return f"{count * cents} cent"').replace(priced.uses, "")}
    world.as_usual("impl", priced.at)
    world.agent("impl", priced.at, write=mended, exit=says("pass", "Its own unit."))

    end = world.run({f"{LABEL.at}:review": "approve", f"{priced.at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert end.steps(priced.at)[len(STORY) - 1 :] == [
        "merge MergeRejected.IntegrationFailure",
        "rebase RebaseConflict",
        *STORY[5:],
    ]
    said = end.prompt(f"{priced.at}:impl#2.1")
    assert " than before: tests/test_prices.py::test_price" in said
    assert end.suite().startswith("2 passed")
