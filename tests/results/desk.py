"""An activity as the runtime would set it up: a lane, a home with its bundle, and the agent's environment."""

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from treadle.ports import Work
from treadle.protocol.load import load
from treadle.protocol.model import Protocol, Step
from treadle.protocol.reading.yaml import read_yaml
from treadle.results.exits import FILE, StepExits, encode_exits
from treadle.results.intake import Faulty, Stale

GOLDEN = Path(__file__).parent / "golden"


class Desk(NamedTuple):
    work: Work
    step_exits: StepExits
    env: dict[str, str]

    def put(self, file: str, text: str | bytes) -> Path:
        """A file in the lane."""
        path = self.work.lane / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


def desk(
    place: Path, step: str = "waterfall/story/impl", *, attempt: int = 2, retry: int = 0, act: str = "act-7"
) -> Desk:
    """A new activity at a step, `protocol/graph/step`."""
    protocol, model = at(step)
    work = Work(
        run="r1",
        act=act,
        retry=retry,
        step=step.split("/")[2],
        role="executor",
        mode="",
        attempt=attempt,
        lane=place / "lane",
        home=place / "home",
        prompt="Do it.",
        token=f"token-{retry}",
    )
    for folder in (work.lane, work.bundle, work.out):
        folder.mkdir(parents=True, exist_ok=True)
    (work.bundle / FILE).write_bytes(encode_exits(protocol, model, work.token))
    return Desk(work, StepExits(protocol, model.exits), environment(work))


def environment(work: Work) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "TREADLE_BUNDLE": str(work.bundle),
        "TREADLE_OUT": str(work.out),
        "TREADLE_ACT": work.act,
        "TREADLE_TOKEN": work.token,
        "TREADLE_RETRY": str(work.retry),
        "TREADLE_STEP": work.step,
        "TREADLE_ATTEMPT": str(work.attempt),
    }


@cache
def loaded(name: str) -> Protocol:
    return load(name)


def at(step: str) -> tuple[Protocol, Step]:
    name, graph, model = step.split("/")
    protocol = loaded(name)
    return protocol, protocol.graphs[graph].steps[model]


def step_exits_at(step: str) -> StepExits:
    protocol, model = at(step)
    return StepExits(protocol, model.exits)


def golden(file: str) -> list[dict[str, Any]]:
    """The cases of a channel: `text` at a step, and what comes of it."""
    cases: list[dict[str, Any]] = read_yaml((GOLDEN / file).read_text(), file).plain()
    return cases


def summed_up(found: Any) -> dict[str, Any]:
    """What a parser gave, as the golden files write it; fields that are null are left out."""
    if found is None:
        return {"absent": True}
    if isinstance(found, Stale):
        return {"stale": found.why}
    if isinstance(found, Faulty):
        return {"problems": list(found.problems)}
    return {"claim": found.key, "fields": {name: value for name, value in found.fields.items() if value is not None}}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name in ("absent", "stale", "problems", "claim", "fields")}
