"""What a run may use before a person is asked (R19): money and time; nothing starts while the question is open."""

from treadle.kernel.advance import LIMIT_ASK
from treadle.kernel.commands import AskHuman
from treadle.kernel.events import Usage
from treadle.kernel.lifecycle import ROOT, finish
from treadle.kernel.state import Ask
from treadle.kernel.turn import Turn
from treadle.protocol.model import ABORTED


def use(t: Turn, usage: Usage) -> None:
    """Add up what was consumed; beyond the limit a person is asked before anything else starts (R19)."""
    if usage == Usage():
        return
    t.usage = Usage(
        t.usage.tokens_in + usage.tokens_in, t.usage.tokens_out + usage.tokens_out, t.usage.cost + usage.cost
    )
    limit = t.protocol.limits.cost
    if limit and t.usage.cost >= limit * t.allowances:
        open_limit(t, "cost")


def open_limit(t: Turn, what: str) -> None:
    if LIMIT_ASK not in t.asks:
        choices = ("continue", "abort")
        command = AskHuman(id=LIMIT_ASK, inst=ROOT, graph="", step=what, choices=choices)
        t.put_ask(LIMIT_ASK, Ask(ROOT, what, command))
        t.commands.append(command)


def limit_answered(t: Turn, choice: str) -> bool:
    t.end_ask(LIMIT_ASK)
    if choice == "abort":
        finish(t, t.edit(ROOT), ABORTED)
        return True
    t.allowances += 1
    if t.protocol.limits.wall:
        t.set_timer("run!wall", t.protocol.limits.wall)
    for inst in t.everyone():
        t.touch(inst)
    return True
