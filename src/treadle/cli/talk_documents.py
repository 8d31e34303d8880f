"""What the commands for talking print as JSON."""

from typing import Literal

import msgspec

from treadle.talk.dispatched import DispatchResult


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a sentence: `treadle say --json`."""

    schema: Literal[1] = 1
    project: str
    run: str
    understood: bool
    """Whether anything could be done about it; if not, nothing was."""
    code: str
    """Why nothing could be done about it (see [Codes](codes.md)); else empty."""
    text: str
    """What a person is told."""
    result: DispatchResult
    """What a dispatch has come to: an agent is at work, the project is blocked, a person is needed, or all is done."""


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """A project that can be spoken to by name."""

    name: str
    folder: str


class RegisteredProjects(msgspec.Struct, frozen=True, kw_only=True):
    """The projects of a user: `treadle projects list --json`."""

    schema: Literal[1] = 1
    projects: tuple[Registered, ...]
