"""What detection found, each with its reason."""

import msgspec


class Guess(msgspec.Struct, frozen=True):
    """A command, and what in the project spoke for it."""

    words: tuple[str, ...]
    why: str


class Hint(msgspec.Struct, frozen=True):
    """What a person should do so that the project's tools work; its code is listed in `codes.py`."""

    code: str
    text: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A language in a project, and how its code is tested, built and looked over."""

    language: str
    why: str
    is_tested: bool = True
    """Whether something in the project speaks for its tests."""
    kind: str = "command"
    """How the test results are read, as `toolchain.kind` has it."""
    commands: dict[str, Guess] = {}
    """By the names of `toolchain`."""
    report: str = ""
    advice: tuple[Hint, ...] = ()


def guess(command: str, why: str) -> Guess:
    """A command that is written as plain words."""
    return Guess(tuple(command.split()), why)
