"""What the id of an activity tells: whose it is, and the how manieth."""

import re
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.ports import Work

_ID: Final = re.compile(r"(?P<instance>.+):(?P<step>[^:]+)#(?P<visit>\d{1,9})\.(?P<attempt>\d{1,9})", re.ASCII)


class Activity(msgspec.Struct, frozen=True):
    """An activity by its place in the run, which is the same in every run of the same course."""

    instance: str
    step: str
    visit: int
    attempt: int

    @property
    def id(self) -> str:
        """As runs call it."""
        return f"{self.instance}:{self.step}#{self.visit}.{self.attempt}"

    def __str__(self) -> str:
        return f"step '{self.step}' of '{self.instance}' (visit {self.visit}, attempt {self.attempt})"


def activity_of(work: Work) -> Activity:
    """The activity that an agent is to work on."""
    found = _ID.fullmatch(work.act)
    if found is None:
        raise PortError(f"'{work.act}' is no id of an activity; one looks like `root:tests#1.1`", code="agent.activity")
    return Activity(found["instance"], found["step"], int(found["visit"]), int(found["attempt"]))
