"""Puts the lanes of an instance back to its last accepted commit; what was in them is kept under a ref."""

from treadle.git.lanes import Lanes
from treadle.kernel.state import State


async def rollback(lanes: Lanes, state: State, inst: str) -> str:
    """The commit that the lanes are at again."""
    head = await lanes.integration.head(state, inst)
    await lanes.reset(state.run, inst, head.start)
    return head.start
