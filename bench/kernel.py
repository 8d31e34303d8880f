"""The reducer: events per second by size of the run, and beside LangGraph's transitions on equal graphs."""

import time
from collections import deque
from collections.abc import Callable
from statistics import median

from bench.peer import langgraph_fan_out, langgraph_loop
from bench.ring import first_event, ring
from treadle.kernel.commands import Command, RunAgent
from treadle.kernel.events import Envelope, Exited
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol

SIZES = (10, 100, 1000, 5000)
EVENTS = 10_000
ROUNDS = 5
LOOP = 1000
WIDTH, LENGTH = 100, 10


def main() -> None:
    sizes()
    peers()


def sizes() -> None:
    """Interleaved rounds, so that a noisy machine disturbs all sizes alike."""
    rounds = [{size: per_event(size) for size in SIZES} for _ in range(ROUNDS)]
    cost = {size: median(times[size] for times in rounds) for size in SIZES}
    print(f"{'live instances':>14} {'events/s':>9} {'µs/event':>9} {'ratio':>6}   (median of {ROUNDS} rounds)")
    for size, seconds in cost.items():
        print(f"{size:>14} {1 / seconds:>9.0f} {seconds * 1e6:>9.1f} {seconds / cost[SIZES[0]]:>6.2f}")


def per_event(size: int) -> float:
    protocol = ring(LOOP * EVENTS)
    state, jobs = started(protocol, size)
    start = time.perf_counter()
    for number in range(EVENTS):
        state, commands = reduce(protocol, state, answer(number, jobs.popleft()))
        jobs.extend(agents(commands))
    return (time.perf_counter() - start) / EVENTS


def peers() -> None:
    """Transitions per second of the same work: one loop of two nodes, and a fan-out of many such loops."""
    work: dict[str, dict[str, Callable[[], int]]] = {
        f"loop of {LOOP}": {
            "treadle": lambda: treadle(1, LOOP),
            "langgraph, no checkpoint": lambda: langgraph_loop(LOOP, saver=False),
            "langgraph, InMemorySaver": lambda: langgraph_loop(LOOP, saver=True),
        },
        f"fan-out {WIDTH} x {LENGTH}": {
            "treadle": lambda: treadle(WIDTH, LENGTH),
            "langgraph, no checkpoint": lambda: langgraph_fan_out(WIDTH, LENGTH, saver=False),
            "langgraph, InMemorySaver": lambda: langgraph_fan_out(WIDTH, LENGTH, saver=True),
        },
    }
    for title, programs in work.items():
        rounds = [{name: rate(program) for name, program in programs.items()} for _ in range(ROUNDS)]
        rates = {name: median(found[name] for found in rounds) for name in programs}
        print(f"\n{title:<28} {'transitions/s':>13} {'treadle is':>11}")
        for name, per_second in rates.items():
            print(f"{name:<28} {per_second:>13.0f} {rates['treadle'] / per_second:>10.1f}x")


def rate(program: Callable[[], int]) -> float:
    start = time.perf_counter()
    transitions = program()
    return transitions / (time.perf_counter() - start)


def treadle(width: int, length: int) -> int:
    protocol = ring(length)
    state, jobs = started(protocol, width)
    transitions = 0
    while jobs:
        state, commands = reduce(protocol, state, answer(transitions, jobs.popleft()))
        jobs.extend(agents(commands))
        transitions += 1
    if state.outcome != "Done" or transitions != width * length:
        raise AssertionError(f"{state.outcome} after {transitions} transitions")
    return transitions


def started(protocol: Protocol, width: int) -> tuple[State, deque[RunAgent]]:
    state, commands = reduce(protocol, State(), first_event("run", width))
    return state, deque(agents(commands))


def agents(commands: tuple[Command, ...]) -> list[RunAgent]:
    return [command for command in commands if isinstance(command, RunAgent)]


def answer(number: int, job: RunAgent) -> Exited:
    return Exited(id=f"e{number}", ts=number, act=job.id, envelope=Envelope("Next"))
