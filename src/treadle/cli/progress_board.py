"""What is shown while runs are driven: a tree that moves on a terminal, a line for each change elsewhere."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

import typer

from treadle.cli.output import console, harmless
from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.state import Instance, State
from treadle.ports import CheckProgress, Payloads, Progress
from treadle.protocol import model
from treadle.views.exit_words import exit_words
from treadle.views.moment import duration
from treadle.views.refusal import first_words, reason, words_of_effect
from treadle.views.tree import Line, tree
from treadle.views.used import price

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_MINUTE: Final = 60.0
_LONGEST: Final = 100


class Board(Protocol):
    """Somewhere to show how runs go."""

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:
        """A run has changed."""
        ...

    def hear(self, run: str, act: str, progress: Progress) -> None:
        """An agent has given a sign of life."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Silent(AbstractContextManager["Silent"]):
    """Shows nothing: a program reads the end only."""

    def show(self, run: str, protocol: model.Protocol, state: State) -> None: ...

    def hear(self, run: str, act: str, progress: Progress) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Lines(Silent):
    """One line for each instance that has changed, and before it why its last attempt came to nothing."""

    def __init__(self, payloads: Payloads, *, names_runs: bool = False, shows_checks: bool = False) -> None:
        self._payloads, self._names_runs, self._shows_checks = payloads, names_runs, shows_checks
        self._before: dict[str, set[Line]] = {}
        self._explained: set[tuple[str, str]] = set()
        self._since: dict[str, int] = {}

    def hear(self, run: str, act: str, progress: Progress) -> None:
        """Tell what people should know, once; and each check as it ends, if that is wanted."""
        if self._shows_checks and progress.check and progress.check.state != "running":
            typer.echo(f"{act.rpartition(':')[0]}: {harmless(check_line(progress.check))}")
        if progress.note and (run, progress.note) not in self._explained:
            self._explained.add((run, progress.note))
            named = f"{run} " if self._names_runs else ""
            typer.echo(f"{named}{act.rpartition(':')[0]}: {harmless(progress.note)}")

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:
        lines = tree(protocol, state)
        before = self._before.get(run, set())
        since = self._since.get(run, state.seq)
        known = {(line.instance, _said(line)) for line in before}
        for line in lines:
            if line not in before:
                named = f"{run} " if self._names_runs else ""
                said = _said(line)
                sent_back = self._sent_back(run, protocol, state.insts[line.instance], since)
                news = () if (line.instance, said) in known else (said,)  # it may only stand above another by now
                for text in (*sent_back, *self._why(run, state, line), *news):
                    typer.echo(f"{named}{line.instance}: {harmless(text)}")
        self._before[run], self._since[run] = set(lines), state.seq

    def _sent_back(self, run: str, protocol: model.Protocol, inst: Instance, since: int) -> Iterator[str]:
        """Why effects of an instance, a merge above all, have not done what they should since the last look."""
        steps = protocol.graphs[inst.graph].steps
        for name, slot in inst.slots.items():
            step, _, tag = name.rpartition(".")
            is_new = slot.seq > since and (run, f"{inst.id} {slot.seq}") not in self._explained
            if not is_new or step not in steps or steps[step].kind != "effect" or tag not in protocol.exits:
                continue
            if protocol.exits[tag].severity != "INFO":
                self._explained.add((run, f"{inst.id} {slot.seq}"))
                with suppress(PortError):
                    why = first_words(words_of_effect(self._payloads.get(slot.ref)))
                    yield f"{step} · {exit_words(protocol, inst.last.get(step, tag))}" + (f": {why}" if why else "")

    def _why(self, run: str, state: State, line: Line) -> Iterator[str]:
        """Why an instance stands where a failure has led it; once for each activity or question there."""
        frames = state.insts[line.instance].frames
        at = frames[-1] if frames and line.name else None
        if at is None or not at.cause or not at.id or (run, at.id) in self._explained:
            return
        self._explained.add((run, at.id))
        with suppress(PortError):
            yield reason(at.cause, self._payloads.get(at.cause_ref) if at.cause_ref else "")


def _said(line: Line) -> str:
    return " · ".join(part for part in (line.step, line.text) if part)


class CheckLines(Silent):
    """The checks of work that was handed in: a line for each that has ended, and on a terminal the one that runs."""

    def __init__(self, *, live: bool) -> None:
        self._now, self._since = CheckProgress(check="", number=0, of=0, state="running"), 0.0
        self._live: Live | None = None
        if live:
            from rich.live import Live as RichLive

            screen = console()
            self._live = RichLive(console=screen, get_renderable=self._drawn, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def hear(self, run: str, act: str, progress: Progress) -> None:  # noqa: ARG002
        """Take the news of a check; a note is told as it comes."""
        now = progress.check
        if progress.note:
            self._say(progress.note)
        if now is None:
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
    """A check in a line: its place, its name, how it ended or how far its tests are, and how long it took."""
    state = "advises" if one.state == "failed" and one.advisory else one.state
    known = f" of {one.tests}" if one.tests else ""
    tests = f", {one.tests_done}{known} tests" if one.tests_done else ""
    took = one.elapsed if elapsed is None else elapsed
    seconds = f"{took:.1f} s" if took < _MINUTE else duration(took)
    return f"check {one.number} of {one.of} · {one.check}: {state}{tests} ({seconds})"


class Picture:
    """The trees of all runs, redrawn in place: for how long, at which attempt, at what cost, the agent's last words."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

        from treadle.cli.stage import drawn

        usage = state.usage
        for id_, act in state.acts.items():  # of the others, the run has counted it
            if act.phase == "running" and (heard := self._heard.get((run, id_))) and heard.usage:
                usage = usage.plus(heard.usage)
        title = " · ".join([run, protocol.name, duration(time.time() - state.started / 1000), *_costs(usage)])
        return Panel(
            drawn(tree(protocol, state), room, self._details(run, protocol, state), wraps=False),
            title=Text(title),
            title_align="left",
        )

    def _details(self, run: str, protocol: model.Protocol, state: State) -> dict[str, str]:
        """For each instance with an agent at work: since when, and what it last said."""
        found = {}
        for id_, act in state.acts.items():
            job = act.command
            timeout = protocol.graphs[job.graph].steps[job.step].timeout
            heard = self._heard.get((run, id_), Progress())
            since = duration(time.time() - (job.due / 1000 - timeout)) if job.due else ""
            checking = act.phase == "verifying" or not isinstance(job, RunAgent)
            said = check_line(heard.check) if checking and heard.check else heard.text
            found[job.inst] = "  ".join(part for part in (since, harmless(said)[:_LONGEST]) if part)
        return found


def _costs(usage: Usage) -> list[str]:
    tokens = usage.tokens_in + usage.tokens_out
    cost = [f"cost {price(usage.cost, usage.unpriced)}"] if usage.cost or usage.unpriced else []
    return [*([f"{tokens:,} tokens"] if tokens else []), *cost]
