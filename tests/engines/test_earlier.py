"""What earlier runs have done need not be waited for, once the user's branch has it."""

from pathlib import Path

from tests.recorded import add_run, drive, project
from tests.refusals import refused
from treadle.config.project import Project
from treadle.engines.start import done_before, load_run_input
from treadle.protocol.alone import select_part
from treadle.protocol.load import load

WATERFALL = load("waterfall")
BACKLOG = "project: shop\nstories: [{id: US-9, title: t, description: d, blocked_by: [US-005]}]\n"


def test_a_story_that_an_earlier_run_has_done_does_not_block(tmp_path: Path) -> None:
    place = Project(tmp_path)
    with refused("spec.invalid", "backlog.yaml:2: stories[0].blocked_by: ", "'US-005'", "no run here"):
        load_run_input(place, WATERFALL, BACKLOG, "backlog.yaml")
    store = project(tmp_path)
    assert done_before(place)("US-005") is None, "nothing has begun"
    add_run(store, "first", WATERFALL)
    drive(tmp_path, store, "first", WATERFALL, stops=0)
    assert "`treadle status first`" in (done_before(place)("US-005") or "")
    with refused("spec.invalid", "backlog.yaml:2: stories[0].blocked_by: 'US-005' ", "`treadle status first`"):
        load_run_input(place, WATERFALL, BACKLOG, "backlog.yaml")
    add_run(store, "second", WATERFALL)
    assert drive(tmp_path, store, "second", WATERFALL).outcome == "Done"
    store.close()
    assert done_before(place)("US-005") == ""
    assert done_before(place)("US-500") is None
    assert load_run_input(place, WATERFALL, BACKLOG, "backlog.yaml").item.key == "shop"


def test_a_story_of_which_a_step_is_done_blocks(tmp_path: Path) -> None:
    store, cut = project(tmp_path), select_part(WATERFALL, "bdd").protocol
    add_run(store, "scenarios", cut)
    assert drive(tmp_path, store, "scenarios", cut).outcome == "Done"
    store.close()
    why = done_before(Project(tmp_path))("US-005") or ""
    assert [text for text in ("sdd-delta", "scenarios") if text not in why] == [], "the next step, after that run"
