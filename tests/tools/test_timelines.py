"""A timeline is made from the log of a run."""

from tools.timelines import KILLED, Turn, turns
from treadle.kernel.events import Checked, CheckResult, Envelope, Event, Exited, Failed, Replied, RunStarted
from treadle.protocol.items import Item
from treadle.testing.demos import Beat, Demo
from treadle.views.timeline import IssuedCommand, LoggedEvent

PLAYED = Demo(
    title="It is built",
    run="it",
    scenes=(Beat("root:impl#1.2 is checked: *", "Refused."), Beat("a person * answers *", "Told.")),
    further=(),
    kill="root:impl#1.2 claims *",
)


def happened(event: Event, text: str, *orders: tuple[str, str]) -> LoggedEvent:
    listed = tuple(IssuedCommand(type=type_, id=id_) for type_, id_ in orders)
    return LoggedEvent(run="it", seq=1, time="", type=type(event).__name__, text=text, event=event, orders=listed)


def test_the_turns_of_a_log() -> None:
    act, again = "root:impl#1.1", "root:impl#1.2"
    good, bad = CheckResult("scope", True), CheckResult("green", False)
    log = [
        happened(
            RunStarted(id="start", ts=5000, run="it", protocol="", input=Item("it", "")),
            "the run starts",
            ("RunAgent", act),
        ),
        happened(Failed(id="1", ts=5500, act=act, why="invalid"), f"{act} gave no valid answer", ("RunAgent", again)),
        happened(
            Exited(id="2", ts=6000, act=again, envelope=Envelope("TestsPassed")),
            f"{again} claims TestsPassed",
            ("RunChecks", again),
        ),
        happened(
            Checked(id="3", ts=7250, act=again, results=(good, bad)),
            f"{again} is checked: green failed",
            ("AskHuman", "root:stuck@impl#1.1"),
        ),
        happened(
            Replied(id="4", ts=8000, ask="root:stuck@impl#1.1", choice="abort"),
            "a person (me) answers root:stuck",
            ("RunEffect", "root:merge#1.1"),
            ("RunChecks", "root:lock#2.1"),
        ),
        happened(
            Exited(
                id="5",
                ts=9000,
                act="root:merge#1.1",
                envelope=Envelope("MergeRejected", "BuildFailure"),
                results=(bad,),
            ),
            "root:merge#1.1 ends with MergeRejected",
        ),
        happened(Checked(id="6", ts=9500, act="root:lock#2.1", results=(good,)), "root:lock#2.1 is checked"),
    ]
    made = list(turns(log, PLAYED))
    assert made == [
        Turn(began=0, ended=0.5, act=act, exit="!invalid"),
        Turn(began=0.5, ended=2.25, act=again, exit="TestsPassed", checked=("scope", "green"), failed=("green",),
             say=f"{KILLED} Refused."),
        Turn(began=2.25, ended=3, act="root:stuck@impl#1.1", exit="abort", say="Told."),
        Turn(began=3, ended=4, act="root:merge#1.1", exit="MergeRejected.BuildFailure", checked=("green",),
             failed=("green",)),
        Turn(began=3, ended=4.5, act="root:lock#2.1", exit="Passed", checked=("scope",)),
    ]  # fmt: skip
    assert [(turn.node, turn.step, turn.number) for turn in made[1:3]] == [
        ("root", "impl", "1.2"),
        ("root", "stuck", "1.1"),
    ]
