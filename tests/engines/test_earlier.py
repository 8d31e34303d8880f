"""What earlier runs have done need not be waited for, once the user's branch has it."""

from pathlib import Path

import pytest

from tests.recorded import add_run, drive, project
from treadle.config.project import Project
from treadle.engines.earlier import done_before, given
from treadle.errors import ProtocolError
from treadle.protocol.alone import alone
from treadle.protocol.load import load

WATERFALL = load("waterfall")
BACKLOG = "project: shop\nstories: [{id: US-9, title: t, description: d, blocked_by: [US-005]}]\n"


def test_a_story_that_a_run_has_done_blocks_nobody(tmp_path: Path) -> None:
    place = Project(tmp_path)
    with pytest.raises(ProtocolError, match="'US-005' is none of these items, and no run here has done it"):
        given(place, WATERFALL, BACKLOG, "backlog.yaml")
    store = project(tmp_path)
    assert done_before(place)("US-005") is None, "nothing has begun"
    add_run(store, "first", WATERFALL)
    drive(tmp_path, store, "first", WATERFALL, stops=0)
    told = done_before(place)("US-005") or ""
    assert told.startswith("is not done yet: the run first is at it; `treadle status first` shows")
    with pytest.raises(ProtocolError, match=r"backlog.yaml:2: stories.0..blocked_by: 'US-005' is not done yet"):
        given(place, WATERFALL, BACKLOG, "backlog.yaml")
    add_run(store, "second", WATERFALL)
    assert drive(tmp_path, store, "second", WATERFALL).outcome == "Done"
    store.close()
    assert done_before(place)("US-005") == ""
    assert done_before(place)("US-500") is None
    assert given(place, WATERFALL, BACKLOG, "backlog.yaml").item.key == "shop"


def test_a_story_of_which_a_step_is_done_blocks(tmp_path: Path) -> None:
    store, cut = project(tmp_path), alone(WATERFALL, "bdd").protocol
    add_run(store, "scenarios", cut)
    assert drive(tmp_path, store, "scenarios", cut).outcome == "Done"
    store.close()
    assert done_before(Project(tmp_path))("US-005") == "is not done: sdd-delta is next, after what scenarios has done"
