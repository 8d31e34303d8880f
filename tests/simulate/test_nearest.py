"""The shortest way to an end."""

from tests.kernel.protocols import TREE, WORK_AND_REVIEW
from treadle.protocol.load import load
from treadle.simulate.nearest import Nearest


def test_a_good_end_is_worth_a_detour() -> None:
    nearest = Nearest(WORK_AND_REVIEW)
    assert nearest.best("main", "work", ("Ready", "Retry", "Stuck"), good=True) == ["Ready", "Stuck"]
    nearest = Nearest(load("v3"))
    keys = ("TestsPassed", "RequestRetry", "Stuck")
    assert nearest.best("node", "impl", keys, good=True) == ["TestsPassed"]
    assert nearest.best("node", "impl", keys, good=False) == ["Stuck"]


def test_a_handler_is_done_when_it_resumes() -> None:
    nearest = Nearest(TREE)
    assert nearest.best("main", "rebase", ("Clean", "Conflict"), good=True) == ["Clean"]
    assert nearest.best("main", "lost", ("replan", "abort"), good=False) == ["abort"]
