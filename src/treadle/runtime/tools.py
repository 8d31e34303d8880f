"""The port by which agents' programs reach the tools of their activity in this process."""

from collections.abc import Mapping
from typing import Protocol

from treadle.ports import Work
from treadle.results.assignment import Assignment
from treadle.results.ways import Ways


class Tools(Protocol):
    """Serves the tools of activities for as long as this process lives."""

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        """Serve an activity, at the address that it had before (`at`) if that can be.

        The address, which may be another one; empty if it cannot be served.
        """
        ...

    def close(self, task: Assignment) -> None:
        """The activity has ended; harmless if it is not served."""
        ...


def assigned(work: Work, ways: Ways) -> Assignment:
    """The activity as the process that sent it out knows it; nothing is read that the agent could have changed."""
    return Assignment(
        act=work.act, token=work.token, retry=work.retry, bundle=work.bundle, out=work.out, ways=ways, lane=work.lane
    )
