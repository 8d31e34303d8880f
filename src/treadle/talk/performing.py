"""Puts what a sentence means into the inbox of a run."""

from typing import Literal, cast

from treadle.engines.client import Client
from treadle.talk.meaning import Abort, Answer, Deed, Let, Level, Resume, Stop, Wave


def perform(client: Client, run: str, deed: Deed) -> bool:
    """Whether anything was put into the run's inbox."""
    match deed:
        case Answer(ask, choice, note):
            client.answer(run, choice, ask=ask, note=note)
        case Let(inst, step):
            client.go(run, step, at=inst)
        case Wave(lets):
            for one in lets:
                client.go(run, one.step, at=one.inst)
        case Resume(then):
            client.resume(run)
            if then is not None:
                perform(client, run, then)
        case Level(level):
            client.level(run, cast("Literal[0, 1, 2]", level))
        case Stop(pauses=True):
            client.pause(run)
        case Abort(inst):
            client.abort(run, at=inst)
        case _:
            return False
    return True
