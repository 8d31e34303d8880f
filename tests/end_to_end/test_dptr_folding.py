"""Ω₃: cycles that are right alone and not together. Whoever is at fault mends it, the implementation or the tests."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.dptr import PARSE, SHOW, TWO, Cycle, product
from tests.end_to_end.ending import End
from tests.end_to_end.world import Answers, World

pytestmark = pytest.mark.soak

FIRST, SECOND = TWO.place(PARSE), TWO.place(SHOW)
POINT: Final = "src/money/point.py"
ROUND: Final = ["refactor_tests RTC", "refactor_impl RIC", "review_tests APPROVED", "review_impl APPROVED"]
BEFORE: Final = ["red RC", "green GC", *ROUND, "fold MergeRejected.IntegrationFailure"]
ISSUE: Final = {"test": "test_units", "issue": "It says what the design does not.", "suggestion": "Say it."}
TI: Final[dict[str, Any]] = {"type": "TI", "message": "The tests are at fault.", "issues": [ISSUE]}
RIC: Final = {"type": "RIC", "message": "It fits."}


def reading(cycle: Cycle, body: str) -> str:
    """The module of a cycle that looks the point up when it is called."""
    return f"from money import point\n\n\n{cycle.code(body)}"


PARSES: Final = reading(PARSE, "return int(text.replace(point.POINT, ''))")
SHOWS: Final = reading(SHOW, 'return f"{amount // 100}{point.POINT}{amount % 100:02}"')


def two(place: Path, first: dict[str, str], second: dict[str, str], **more: Any) -> World:
    """Two cycles; the second one is folded when the first one is."""
    world = World(place, **{**product(TWO), "files": {POINT: 'POINT = "."\n'}, **more})
    world.agent("green", FIRST, write=first, exit={"type": "GC"})
    world.agent("green", SECOND, write=second, exit={"type": "GC"})
    world.agent("review_impl", SECOND, after=f"{FIRST}:fold.MergeComplete", exit={"type": "APPROVED"})
    return world


def fits(world: World, after: list[str], answers: Answers | None = None) -> End:
    """The story; the second cycle has gone this way since it could not be taken in, and then is."""
    end = world.run(answers)
    assert end.outcome == "Done", end.told
    assert end.steps(FIRST) == ["red RC", "green GC", *ROUND, "fold MergeComplete"]
    assert end.steps(SECOND) == [*BEFORE, *after, "fold MergeComplete"], end.told
    assert end.suite().startswith("2 passed")
    return end


def test_an_implementation_that_breaks_a_siblings_test_is_mended_without_a_question(place: Path) -> None:
    """One counts on a file of the project that the other changes."""
    world = two(place, {PARSE.module: PARSES}, {SHOW.module: SHOW.code(), POINT: 'POINT = ","\n'})
    world.agent("adapt", SECOND, exit={"type": "RIC"})
    world.agent("adapt", SECOND, write={POINT: 'POINT = "."\n'}, exit=RIC)

    end = fits(world, ["rebase RebaseClean", "adapt !gate", "adapt RIC", *ROUND])

    told = end.prompt(f"{SECOND}:adapt#1.1")
    assert "R:3,C:TDD2,P:ℜᶠⁱ," in told
    assert "into the batch (IntegrationFailure)" in told
    assert "test_cents" in told
    assert f"{PARSE.test_file}::test_cents" in end.refusals(f"{SECOND}:adapt#1.1")
    asked = end.prompt(f"{SECOND}:refactor_tests#2.1")
    assert " made it fit" in asked
    assert "The developer says:\n> It fits." in asked
    assert not end.heard


def test_tests_that_break_a_siblings_test_go_back_to_their_author(place: Path) -> None:
    """The developer cannot mend them, and says so."""
    shared = "tests/conftest.py"
    fixture = 'def comma(monkeypatch):\n    monkeypatch.setattr("money.point.POINT", ",")\n'
    bent = f"import pytest\n\n\n@pytest.fixture(autouse=True)\n{fixture}"
    kept = f"import pytest\n\n\n@pytest.fixture\n{fixture}"
    world = two(place, {PARSE.module: PARSES}, {SHOW.module: SHOW.code()})
    world.agent("red", SECOND, write={SHOW.test_file: SHOW.tests(), shared: bent}, exit={"type": "RC"})
    world.agent("adapt", SECOND, exit=TI)
    world.as_usual("refactor_tests", SECOND)
    world.agent("refactor_tests", SECOND, write={shared: kept}, exit={"type": "RTC"})

    end = fits(world, ["rebase RebaseClean", "adapt TI", *ROUND])

    told = end.prompt(f"{SECOND}:refactor_tests#2.1")
    assert "tests are at fault" in told
    assert "> The tests are at fault.\n- test_units:\n> It says what the design does not." in told
    assert not end.heard


def test_an_implementation_that_no_longer_passes_its_own_tests_is_mended_first(place: Path) -> None:
    world = two(place, {PARSE.module: PARSE.code(), POINT: 'POINT = ","\n'}, {SHOW.module: SHOWS})
    world.agent("adapt", SECOND, write={SHOW.module: SHOW.code()}, exit=RIC)

    end = fits(
        world,
        ["rebase RebaseDrift", "quality adapt", "adapt RIC", *ROUND],
        {f"{SECOND}:quality": ("adapt", "Points, always.")},
    )

    asked = end.ask(f"{SECOND}:quality")
    assert f" verdict: {SHOW.test_file}::test_units." in asked
    assert "- adapt: " in asked
    told = end.prompt(f"{SECOND}:adapt#1.1")
    assert f" than before: {SHOW.test_file}::test_units." in told
    assert "## A person says\n> Points, always." in told


def test_tests_that_no_longer_hold_are_mended_by_their_author(place: Path) -> None:
    world = two(place, {PARSE.module: PARSE.code(), POINT: 'POINT = ","\n'}, {SHOW.module: SHOW.code()})
    borrowed = SHOW.tests("units(120) == f'1{POINT}20'", "units(7) == f'0{POINT}07'")
    tests = f"from money.point import POINT\n{borrowed}"
    world.agent("red", SECOND, write={SHOW.test_file: tests}, exit={"type": "RC"})
    world.as_usual("refactor_tests", SECOND)
    world.agent("refactor_tests", SECOND, write={SHOW.test_file: SHOW.tests()}, exit={"type": "RTC"})

    end = fits(world, ["rebase RebaseDrift", "quality retry", *ROUND], {f"{SECOND}:quality": ("retry", "A point.")})

    assert "## A person says\n> A point." in end.prompt(f"{SECOND}:refactor_tests#2.1")
    assert end.files()[SHOW.test_file].strip() == SHOW.tests().strip()


def test_conflicts_on_both_sides_are_resolved_by_both_authors_and_no_marker_gets_through(place: Path) -> None:
    """Nothing reads the two files, so no test would notice."""
    notes, tests = "src/money/NOTES.md", "tests/NOTES.md"
    world = two(place, {PARSE.module: PARSE.code(), notes: "first\n"}, {SHOW.module: SHOW.code(), notes: "second\n"})
    for cycle, at, text in ((PARSE, FIRST, "first\n"), (SHOW, SECOND, "second\n")):
        world.agent("red", at, write={cycle.test_file: cycle.tests(), tests: text}, exit={"type": "RC"})
    world.agent("adapt", SECOND, exit=TI)
    world.agent("adapt", SECOND, write={notes: "first, second\n"}, exit=TI)
    world.as_usual("refactor_tests", SECOND)
    world.agent("refactor_tests", SECOND, exit={"type": "RTC"})
    world.agent("refactor_tests", SECOND, write={tests: "first, second\n"}, exit={"type": "RTC"})

    undone = ["refactor_tests !gate", "rollback_tests RolledBack"]
    end = fits(
        world,
        ["rebase RebaseDrift", "quality adapt", "adapt !gate", "adapt TI", *undone, *ROUND],
        {f"{SECOND}:quality": "adapt"},
    )

    assert f"Conflicts: {notes}, {tests}." in end.ask(f"{SECOND}:quality")
    assert (f"{notes}:1", "rebase.marker") in end.findings(f"{SECOND}:adapt#1.1")
    assert (f"{tests}:1", "rebase.marker") in end.findings(f"{SECOND}:refactor_tests#2.1")
    assert "Conflicts, left as markers" in end.prompt(f"{SECOND}:adapt#1.1")
    assert "tests are at fault" in end.prompt(f"{SECOND}:refactor_tests#2.1")
    assert {end.files()[path].strip() for path in (notes, tests)} == {"first, second"}
