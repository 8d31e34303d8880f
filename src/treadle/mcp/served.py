"""An activity whose tools are served."""

from collections.abc import Mapping
from typing import NamedTuple

from treadle.results.assignment import Assignment


class Served(NamedTuple):
    """The activity, and the variables that its agent was started with."""

    task: Assignment
    env: Mapping[str, str]
