"""`manual`: a person is the agent. The prompt is in a file, and the activity waits until an answer arrives."""

import asyncio
from typing import Final

import msgspec

from treadle.agents.contract import has_answer, put_file
from treadle.errors import writing
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work

_WAITING: Final = "manual"
_ANSWERED: Final = Ended(how="done", detail="a person has answered")


class Manual(msgspec.Struct, frozen=True, kw_only=True):
    """Gives the prompt to a person and waits without a timeout."""

    abilities: Abilities = Abilities(survives=True, person=True)

    async def start(self, work: Work, watch: Watch) -> Session:
        """Print the instructions for the person; a restart prints them again."""
        put_file(work.home, _WAITING, str(work.retry).encode())
        with writing(work.out):
            work.out.mkdir(parents=True, exist_ok=True)
        watch(Progress(instructions(work)))
        return _Person(work, watch)

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """Continue waiting after a restart."""
        return _Person(work, watch) if _waits(work) and not has_answer(work) else None

    async def harvest(self, work: Work) -> Ended | None:
        """Return the end of the activity if an answer arrived while no driver was running."""
        return _ANSWERED if has_answer(work) else None


def instructions(work: Work) -> str:
    """Return the instructions for a person: the prompt, the lane and how to answer."""
    return (
        f"{work.step} is yours, as {work.role or 'its agent'}: read {work.bundle / 'prompt.md'}, "
        f"work in {work.lane}, then answer with `treadle done` "
        f"(the answer's form: {work.bundle / 'schema.json'})"
    )


class _Person(msgspec.Struct, frozen=True):
    """A `Session` of a person who works, or will work, on the activity."""

    work: Work
    watch: Watch

    async def wait(self) -> Ended:
        pause = 0.02
        while not has_answer(self.work):
            if not _waits(self.work):
                return Ended(how="lost", detail="it was withdrawn before an answer came")
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, 0.5)
        return _ANSWERED

    async def nudge(self, text: str) -> bool:
        self.watch(Progress(text))
        return True

    async def cancel(self) -> None:
        (self.work.home / _WAITING).unlink(missing_ok=True)


def _waits(work: Work) -> bool:
    try:
        return (work.home / _WAITING).read_text(encoding="utf-8") == str(work.retry)
    except (OSError, UnicodeDecodeError):
        return False
