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
    t.usage = t.usage.plus(usage)
    limits, tokens = t.protocol.limits, t.usage.tokens_in + t.usage.tokens_out
    if limits.cost and t.usage.cost >= limits.cost * t.allowances:
        open_limit(t, "cost")
    elif limits.tokens and tokens >= limits.tokens * t.allowances:
        open_limit(t, "tokens")


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
