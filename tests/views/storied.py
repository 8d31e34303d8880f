"""Runs of the waterfall protocol that a test plays, with what everybody said, and the files of their stories."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from treadle.kernel.replay import encode_event
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items
from treadle.views.chronicle import Chronicle
from treadle.views.story_files import files_of, story_files

STATE, HANDOFF, HISTORY = ".ai/STATE.json", ".ai/HANDOFF.md", ".ai/history.md"


@cache
def waterfall() -> Protocol:
    return load("waterfall")


class Storied:
    """A run of stories, and what lies behind its references."""

    def __init__(self, *stories: dict[str, Any], level: int = 2, protocol: Protocol | None = None) -> None:
        self.protocol = protocol or waterfall()
        listed = list(stories or [{"id": "US-1", "title": "Coupons", "description": "…"}])
        self.said: dict[str, Any] = {"ref:input": {"project": "cart-app", "stories": listed}}
        given = []
        for one in listed:
            waits = tuple(one.get("blocked_by", ()))
            given.append(Item(one["id"], f"ref:{one['id']}", {"blocked_by": waits}))
            self.said[f"ref:{one['id']}"] = one
        self.run = Scenario(self.protocol, {"stories": tuple(given)}, level)

    def get(self, ref: str) -> Json:
        return self.said.get(ref)

    def course(self, upto: int | None = None) -> Chronicle:
        course = Chronicle(lambda _: self.protocol)
        for event in self.run.log[:upto]:
            course.take(encode_event(event))
        return course

    def files(self) -> dict[str, str]:
        return story_files(self.course(), self.get)

    def state(self, path: str = STATE) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.files()[path])
        return found

    def tells(self, *names: str) -> list[Any]:
        """Fields of the work order."""
        found = self.state()
        return [found[name] for name in names]

    def lane(self, inst: str) -> dict[str, str]:
        return files_of(self.course(), inst, self.get)

    def says(
        self,
        exit_: str,
        said: Any = None,
        at: str = "",
        fails: Iterable[str] = (),
        reports: dict[str, Any] | None = None,
        **fields: Routed,
    ) -> "Storied":
        """An agent ends so and has said something; its checks have left these records."""
        act = self.run.activity(at)
        self.run.says(exit_, act, fails, "", **fields)
        self.said[f"ref:{act}.{exit_}"] = said
        self.said |= {f"report:{name}": record for name, record in (reports or {}).items()}
        return self

    def specified(self, complexity: str = "S", parallel: int = 0) -> "Storied":
        self.says("pass_bdd", {"summary": "Three scenarios."}, "bdd", complexity=complexity, parallel_tasks=parallel)
        return self.says("pass", at="sdd-delta").says("pass", at="contract")

    def scaffolded(self, complexity: str = "S") -> "Storied":
        self.specified(complexity).run.answers("approve")
        return self.says("pass_red", {"summary": "Red."})

    def implemented(self) -> "Storied":
        return self.scaffolded().says("pass_green", {"summary": "Green."})

    def finished(self) -> "Storied":
        self.implemented().says("pass_verified", {"summary": "Verified."}, "verify").says("Archived", at="archive")
        return self.says("pass", {"summary": "Remembered."}, "update-memory").says("MergeComplete", at="merge")

    def team(self, **tasks: tuple[str, ...]) -> "Storied":
        self.scaffolded("L")
        given: dict[str, Any] = {role: items(*keys) for role, keys in tasks.items()}
        return self.says("Breakdown", more=False, **given)

    def task(self, key: str) -> str:
        """The session that works on a task."""
        return next(act for act in self.run.state.acts if f"/{key}:work" in act)


def suite(passed: int, failing: Iterable[str] = (), skipped: int = 0) -> dict[str, Any]:
    """The record of a check that has run the suite."""
    failed = list(failing)
    numbers = {"pass": passed, "fail": len(failed), "skip": skipped}
    return {"command": ["pytest"], "tests": numbers, "failing_tests": failed}
