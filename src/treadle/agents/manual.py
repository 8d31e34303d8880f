"""`manual`: a person is the agent. The prompt lies in a file, and the activity waits until an answer arrives."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.answer import answered, put_file
from treadle.errors import writing
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work

Tell = Callable[[str], None]
"""How the person hears of it, besides the progress that every runner reports."""

_WAITING: Final = "manual"
_QUICK, _SLOW = 0.02, 0.5


def _tell_nobody(_text: str) -> None:
    """The progress is enough."""


class Manual(msgspec.Struct, frozen=True, kw_only=True):
    """Hands the prompt to a person and waits for as long as it takes."""

    tell: Tell = _tell_nobody
    abilities: Abilities = Abilities(survives=True, person=True)

    async def start(self, work: Work, watch: Watch) -> Session:
        """Say what is to be done and where; said again if it is started again."""
        put_file(work.home, _WAITING, str(work.retry).encode())
        with writing(work.out):
            work.out.mkdir(parents=True, exist_ok=True)
        session = _Person(work, watch, self.tell)
        session.say(instructions(work))
        return session

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """Waiting goes on after a restart."""
        return _Person(work, watch, self.tell) if _waits(work) and not answered(work) else None

    async def harvest(self, work: Work) -> Ended | None:
        """An answer that was given while nobody looked."""
        return _done() if answered(work) else None


def instructions(work: Work) -> str:
    """What a person has to do for an activity."""
    return (
        f"{work.step} is yours, as {work.role or 'its agent'}: read {work.bundle / 'prompt.md'}, "
        f"work in {work.lane}, then answer with `treadle done` "
        f"(the answer's form: {work.bundle / 'schema.json'})"
    )


class _Person(msgspec.Struct, frozen=True):
    """Somebody who works on it, or will."""

    work: Work
    watch: Watch
    tell: Tell

    async def wait(self) -> Ended:
        pause = _QUICK
        while not answered(self.work):
            if not _waits(self.work):
                return Ended(how="lost", detail="it was withdrawn before an answer came")
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, _SLOW)
        return _done()

    async def nudge(self, text: str) -> bool:
        self.say(text)
        return True

    async def cancel(self) -> None:
        _marker(self.work).unlink(missing_ok=True)

    def say(self, text: str) -> None:
        self.tell(text)
        self.watch(Progress(text))


def _marker(work: Work) -> Path:
    return work.home / _WAITING


def _waits(work: Work) -> bool:
    try:
        return _marker(work).read_text(encoding="utf-8") == str(work.retry)
    except (OSError, UnicodeDecodeError):
        return False


def _done() -> Ended:
    return Ended(how="done", detail="a person has answered")
