"""The progress of driven runs: a live tree on a terminal, a line for each change elsewhere."""

import asyncio
import time
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Final, Self

import typer

from treadle.cli.output import console, harmless
from treadle.cli.run_status import draw_tree
from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Instance, State
from treadle.ports import CheckProgress, Payloads, Progress
from treadle.protocol import model
from treadle.views.activity import price
from treadle.views.run_status import status_at
from treadle.views.tree import InstanceLine
from treadle.views.words import duration, effect_words, exit_words, failure_code, first_words, reason

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_MINUTE: Final = 60.0
_SLOW: Final = 10.0
"""Seconds after which a running check gets a line, where there is no live view."""
_AGAIN: Final = 20.0
"""Seconds between the lines about a check that still runs."""
_LONGEST: Final = 100


class ProgressBoard(AbstractContextManager["ProgressBoard"]):
    """A display of the progress of runs. This one shows nothing: a program reads the end only."""

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:
        """Show a run that has changed."""

    def hear(self, run: str, act: str, progress: Progress) -> None:
        """Show a sign of life from an agent."""

    def __exit__(self, *_: object) -> None: ...


class SlowChecks:
    """Prints a line for a slow check while it runs, repeats it, and prints another when the check ends.

    It uses timers of the event loop in which the checks run; without a loop it prints only the ends.
    """

    def __init__(self, say: Callable[[str, str, str], None], slow: float = _SLOW, again: float = _AGAIN) -> None:
        self._say, self._slow, self._again = say, slow, again
        self._running: dict[tuple[str, str], tuple[CheckProgress, float]] = {}
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}

    def hear(self, run: str, act: str, now: CheckProgress, *, every: bool = False) -> None:
        """Record the progress of a check. With `every`, print the end of a quick one, too."""
        key = run, act
        known = self._running.get(key)
        if now.state == "running":
            if known and known[0].number == now.number:  # its tests are counted
                self._running[key] = now, known[1]
                return
            self.forget(run, act)
            self._running[key] = now, time.monotonic()
            self._wait(key, self._slow)
            return
        was_told = self.forget(run, act)
        if every or was_told:
            self._say(run, act, check_line(now))

    def forget(self, run: str, act: str) -> bool:
        """Stop the timer of a check, and return whether a line about it was printed."""
        known, timer = self._running.pop((run, act), None), self._timers.pop((run, act), None)
        if timer:
            timer.cancel()
        return known is not None and timer is not None and time.monotonic() - known[1] >= self._slow

    def keep(self, run: str, acts: Container[str]) -> None:
        """Forget the checks of activities that the run has ended: they report no end themselves."""
        for other, act in [key for key in self._running if key[0] == run and key[1] not in acts]:
            self.forget(other, act)

    def _wait(self, key: tuple[str, str], seconds: float) -> None:
        with suppress(RuntimeError):  # no event loop, as where a program replays what it has heard
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._tell, key)

    def _tell(self, key: tuple[str, str]) -> None:
        now, since = self._running[key]
        self._say(*key, check_line(now, time.monotonic() - since))
        self._wait(key, self._again)


class ProgressLines(ProgressBoard):
    """Prints one line for each changed instance, and before it the reason why its last attempt failed.

    A slow check gets a line while it runs; with `shows_checks`, every check gets one when it ends.
    """

    def __init__(
        self, payloads: Payloads, *, names_runs: bool = False, shows_checks: bool = False, slow: float = _SLOW
    ) -> None:
        self._payloads, self._names_runs, self._shows_checks = payloads, names_runs, shows_checks
        self._checks = SlowChecks(self._say, slow)
        self._before: dict[str, set[InstanceLine]] = {}
        self._explained: set[tuple[str, str]] = set()
        self._since: dict[str, int] = {}

    def hear(self, run: str, act: str, progress: Progress) -> None:
        """Print each note once, and the progress of checks."""
        if progress.check:
            self._checks.hear(run, act, progress.check, every=self._shows_checks)
        if progress.note and (run, progress.note) not in self._explained:
            self._explained.add((run, progress.note))
            self._say(run, act, progress.note)

    def _say(self, run: str, act: str, text: str) -> None:
        self._echo(run, act.rpartition(":")[0], text)

    def _echo(self, run: str, instance: str, text: str) -> None:
        named = f"{run} " if self._names_runs else ""
        typer.echo(f"{named}{instance}: {harmless(text)}")

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:
        lines = status_at(protocol, state).lines
        self._checks.keep(run, state.acts)
        before = self._before.get(run, set())
        since = self._since.get(run, state.seq)
        known = {(line.instance, _format_line(line)) for line in before}
        for line in [line for line in lines if line not in before]:
            shown = _format_line(line)
            sent_back = self._sent_back(run, protocol, state.insts[line.instance], since)
            news = (
                () if (line.instance, shown) in known else (shown,)
            )  # unchanged lines may have moved, because another instance was added
            for text in (*sent_back, *self._why(run, state, line), *news):
                self._echo(run, line.instance, text)
        self._before[run], self._since[run] = set(lines), state.seq

    def _sent_back(self, run: str, protocol: model.Protocol, inst: Instance, since: int) -> Iterator[str]:
        """Yield the reasons why effects of an instance, mostly merges, have failed since the last call."""
        steps = protocol.graphs[inst.graph].steps
        for name, slot in inst.slots.items():
            step, _, tag = name.rpartition(".")
            is_new = slot.seq > since and (run, f"{inst.id} {slot.seq}") not in self._explained
            if not is_new or step not in steps or steps[step].kind != "effect" or tag not in protocol.exits:
                continue
            if protocol.exits[tag].severity != "INFO":
                self._explained.add((run, f"{inst.id} {slot.seq}"))
                with suppress(PortError):
                    why = first_words(effect_words(self._payloads.get(slot.ref)))
                    yield f"{step} · {exit_words(protocol, inst.last.get(step, tag))}" + (f": {why}" if why else "")

    def _why(self, run: str, state: State, line: InstanceLine) -> Iterator[str]:
        """Yield the failure that led an instance to its current step, or to its end; each failure once."""
        inst = state.insts[line.instance]
        if inst.outcome:
            # the last exit counts, if it was a failure that no other step could explain
            name, slot = max(inst.slots.items(), key=lambda it: it[1].seq, default=("", None))
            if slot and ".!" in name and (run, f"{inst.id} ended") not in self._explained:
                self._explained.add((run, f"{inst.id} ended"))
                yield from self._failure(f"!{name.rpartition('.!')[2]}", slot.ref)
        at = inst.frames[-1] if inst.frames and line.name else None
        if at is None or not at.cause or (at.id and (run, at.id) in self._explained):
            return
        # A step that waits for a go has no activity yet: its failure is explained now, and not again when it starts.
        early = run, f"{inst.id}:{at.step} {at.cause_ref}"
        is_new = early not in self._explained
        if at.id:
            self._explained.add((run, at.id))
            self._explained.discard(early)
        else:
            self._explained.add(early)
        if is_new:
            yield from self._failure(at.cause, at.cause_ref)

    def _failure(self, cause: str, ref: str) -> Iterator[str]:
        with suppress(PortError):
            report = self._payloads.get(ref) if ref else ""
            code = failure_code(cause, report)
            yield reason(cause, report) + (f" [{code}]" if code else "")


def _format_line(line: InstanceLine) -> str:
    return " · ".join(part for part in (line.step, line.text) if part)


class CheckLines(ProgressBoard):
    """Prints a line for each finished check of handed-in work, and on a terminal also shows the running one."""

    def __init__(self, *, live: bool) -> None:
        self._now, self._since = CheckProgress(check="", number=0, of=0, state="running"), 0.0
        self._checks = SlowChecks(lambda _run, _act, text: typer.echo(harmless(text)))
        self._live: Live | None = None
        if live:
            from rich.live import Live as RichLive

            screen = console()
            self._live = RichLive(console=screen, get_renderable=self._drawn, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def hear(self, run: str, act: str, progress: Progress) -> None:
        """Show the progress of a check; print a note as it comes."""
        now = progress.check
        if progress.note:
            self._say(progress.note)
        if now is None:
            return
        if not self._live:
            self._checks.hear(run, act, now, every=True)
            return
        if now.number != self._now.number:
            self._since = time.monotonic()
        self._now = now
        if now.state != "running":
            self._say(check_line(now))

    def _say(self, text: str) -> None:
        if self._live:
            self._live.console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)
        else:
            typer.echo(harmless(text))

    def _drawn(self) -> "RenderableType":
        from rich.text import Text

        is_running = self._now.number and self._now.state == "running"
        return Text(harmless(check_line(self._now, time.monotonic() - self._since)) if is_running else "")


def check_line(one: CheckProgress, elapsed: float | None = None) -> str:
    """Format a check as a line: its number, name, result or count of tests, and duration."""
    state = "advises" if one.state == "failed" and one.advisory else one.state
    known = f" of {one.tests}" if one.tests else ""
    tests = f", {one.tests_done}{known} tests" if one.tests_done else ""
    took = one.elapsed if elapsed is None else elapsed
    seconds = f"{took:.1f} s" if took < _MINUTE else duration(took)
    return f"check {one.number} of {one.of} · {one.check}: {state}{tests} ({seconds})"


class ProgressPicture(ProgressBoard):
    """The trees of all runs, redrawn in place: elapsed time, attempt, cost, and the agent's last words."""

    def __init__(self) -> None:
        from rich.live import Live

        self._screen = console()
        self._runs: dict[str, tuple[model.Protocol, State]] = {}
        self._heard: dict[tuple[str, str], Progress] = {}
        self._told: set[str] = set()
        self._live = Live(console=self._screen, get_renderable=self._drawn, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.transient = False
        self._live.stop()

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:
        self._runs[run] = (protocol, state)

    def hear(self, run: str, act: str, progress: Progress) -> None:
        if progress.note and progress.note not in self._told:
            self._told.add(progress.note)
            self._live.console.print(harmless(f"{run}: {progress.note}"), markup=False, highlight=False, soft_wrap=True)
        earlier = self._heard.get((run, act), Progress())
        self._heard[run, act] = Progress(
            progress.text or earlier.text, progress.usage or earlier.usage, check=progress.check or earlier.check
        )

    def _drawn(self) -> "RenderableType":
        from rich.console import Group

        room = max(3, (self._screen.height - 2) // max(1, len(self._runs)) - 3)
        return Group(*(self._panel(run, protocol, state, room) for run, (protocol, state) in self._runs.items()))

    def _panel(self, run: str, protocol: model.Protocol, state: State, room: int) -> "RenderableType":
        from rich.panel import Panel
        from rich.text import Text

        now, usage = status_at(protocol, state, time.time_ns() // 1_000_000), state.usage
        details = {}
        for busy in now.activities:
            heard = self._heard.get((run, busy.id), Progress())
            if busy.phase == "running" and heard.usage:  # of the others, the run has counted it
                usage = usage.plus(heard.usage)
            checking = busy.phase == "verifying" or not isinstance(state.acts[busy.id].command, RunAgent)
            text = check_line(heard.check) if checking and heard.check else heard.text
            since = duration(busy.elapsed) if busy.began else ""
            details[busy.instance] = "  ".join(part for part in (since, harmless(text)[:_LONGEST]) if part)
        tokens = usage.tokens_in + usage.tokens_out
        title = [run, protocol.name, duration(now.elapsed), f"{tokens:,} tokens" if tokens else ""]
        title.append(f"cost {price(usage.cost, usage.unpriced)}" if usage.cost or usage.unpriced else "")
        return Panel(
            draw_tree(list(now.lines), room, details, wraps=False),
            title=Text(" · ".join(filter(None, title))),
            title_align="left",
        )
