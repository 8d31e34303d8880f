from pathlib import Path

from tests.recorded import USED, record
from tests.views.logs import read
from treadle.views.cost import cost


def test_every_way_of_adding_up_gives_the_whole(tmp_path: Path) -> None:
    state = record(tmp_path, of="v3", refuses=2)
    used = cost(read(tmp_path), "r")
    assert (used.total.tokens_in, used.total.tokens_out, used.total.cost) == (
        state.usage.tokens_in,
        state.usage.tokens_out,
        state.usage.cost,
    )
    for shares in (used.roles, used.steps, used.instances, used.attempts):
        assert sum(share.tokens_in for share in shares) == used.total.tokens_in
        assert sum(share.cost for share in shares) == used.total.cost
        assert sum(share.activities for share in shares) == used.total.activities


def test_trying_again_has_its_price(tmp_path: Path) -> None:
    record(tmp_path, of="v3", refuses=2)
    used = cost(read(tmp_path), "r")
    assert [(share.name, share.activities) for share in used.attempts] == [("1", 4), ("2", 1), ("3", 1)]
    assert [share.name for share in used.roles] == ["planner", "tdd", "impl"]
    assert {share.name: share.cost for share in used.steps}["node.scaffold"] == 3 * USED.cost
