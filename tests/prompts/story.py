"""A run as a conversation with real payloads: the kernel decides who is asked next, and with what."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from tests.prompts.stage import Memory
from treadle.kernel.commands import AskHuman, RunAgent
from treadle.kernel.events import Checked, CheckResult, Exited, Failed, Reopened
from treadle.prompts.agent_prompt import prompt
from treadle.prompts.question import question
from treadle.prompts.variables import variables
from treadle.protocol.answers.claim import Claim, validate
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.answers.schema import TAG
from treadle.protocol.items import Json
from treadle.protocol.load import BUILT_IN
from treadle.protocol.model import Protocol, tag_of
from treadle.runtime.claims import envelope_of, own_fields
from treadle.testing.scenario import Scenario

COMMANDS: Final = {
    "build": "make build",
    "test": "make test",
    "contract": "make contract",
    "lint": "make lint",
    "format": "make format",
    "collect": "make list-tests",
}
"""Of no language: what stands in a prompt about building and testing comes from here."""


class Story(Scenario):
    """A run that was given the protocol's own example."""

    def __init__(self, protocol: Protocol) -> None:
        path = Path(BUILT_IN, protocol.name, "example.yaml")
        self.payloads = Memory()
        given = load_input(protocol, path.read_text(encoding="utf-8"), path.name, self.payloads.put)
        self.payloads.values["ref:input"] = given.value
        self.seen: dict[str, RunAgent | AskHuman] = {}
        """What was shown, by name."""
        self.shown: dict[str, str] = {}
        super().__init__(protocol, dict(given.item.fields))

    def tells(self, at: str, exit_: str, values: Mapping[str, Json] | None = None, refused: str = "") -> Self:
        """An activity leaves by an exit with these values, asked and computed; `refused` is why it does not hold."""
        act, name = self.activity(at), tag_of(exit_)
        command = self.state.acts[act].command
        step = self.protocol.graphs[command.graph].steps[command.step]
        given = dict(values or {})
        if isinstance(command, RunAgent):
            self._must_be_sound(step.exits, name, given)
            given |= own_fields(self.protocol, name, command, self.state, self.payloads)
        unknown = given.keys() ^ self.protocol.exits[name].fields.keys()
        assert not unknown - self._optional(name), f"{act}, {name}: {sorted(unknown)}"
        envelope = envelope_of(self.protocol, name, given, self.payloads)
        self.happens(Exited(**self._stamp(), act=act, envelope=envelope))
        return self.verdict(act, refused) if self._is_verifying(act) else self

    def verdict(self, at: str, refused: str = "") -> Self:
        """The checks of an activity have run; `refused` is their report, with a heading for each that failed."""
        act = self.activity(at)
        failed = {line.removeprefix("### ") for line in refused.splitlines() if line.startswith("### ")}
        checks = self.state.acts[act].checks
        assert failed <= {check.name for check in checks}, f"{act} has no such checks: {failed}"
        results = tuple(CheckResult(check.name, check.name not in failed) for check in checks)
        ref = self.payloads.put({"report": refused}) if refused else ""
        return self.happens(Checked(**self._stamp(), act=act, results=results, payload_ref=ref))

    def reopens(self) -> Self:
        """A delivery of the ended run has met a conflict."""
        return self.happens(Reopened(**self._stamp()))

    def breaks(self, at: str, why: Any, report: str) -> Self:
        """An activity ends without an answer that counts."""
        ref = self.payloads.put({"report": report})
        return self.happens(Failed(**self._stamp(), act=self.activity(at), why=why, detail_ref=ref))

    def decides(self, at: str, choice: str, note: str = "") -> Self:
        """A person answers."""
        return self.answers(choice, at, self.payloads.put(note) if note else "")

    def hears(self, signal: str, to: str, data: Json) -> Self:
        """Somebody outside sends a signal."""
        return self.signals(signal, to=to, data=self.payloads.put(data))

    def shows(self, at: str, name: str) -> Self:
        """Keep what the one who works or decides there is told now, under a name."""
        assert name not in self.shown, name
        command = self._open(at)
        self.seen[name], self.shown[name] = command, self.told(command)
        return self

    def told(self, command: RunAgent | AskHuman) -> str:
        if isinstance(command, AskHuman):
            return str(question(self.protocol, self.state, command, self.payloads, COMMANDS))
        known = variables(self.protocol, self.state, command, self.payloads, COMMANDS)
        return prompt(self.protocol, self.protocol.graphs[command.graph].steps[command.step], known)

    def question(self, at: str = "") -> str:
        """Of the copies of a question, the one that is asked."""
        return super().question(next((place for place in self.asked() if place.partition("@")[0] == at), at))

    def _open(self, at: str) -> RunAgent | AskHuman:
        if any(id_.rpartition("#")[0] == at for id_ in self.state.acts):
            command = self.job(at)
            assert isinstance(command, RunAgent), f"nobody is told anything at {at}"
            return command
        return self.ask(at)

    def _must_be_sound(self, exits: Iterable[str], name: str, given: Mapping[str, Json]) -> None:
        fields = self.protocol.exits[name].fields
        asked = {key: value for key, value in given.items() if fields[key].by == "agent"}
        claim = validate(self.protocol, tuple(exits), {"exit": {TAG: name, **asked}})
        assert isinstance(claim, Claim), f"{name}: {claim}"

    def _optional(self, name: str) -> set[str]:
        return {key for key, field in self.protocol.exits[name].fields.items() if field.type.endswith("?")}


_DRIFT: Final[Mapping[str, Json]] = {
    "newBase": "c0ffee7",
    "conflictFiles": ["src/links"],
    "changedTests": ["links::fenced"],
}
ADAPTED: Final[Mapping[str, Json]] = {"newBase": "c0ffee7", "adaptations": ["src/links: both functions stand there."]}
_BLOCKED: Final[Mapping[str, Json]] = {
    "conflictFile": "src/links",
    "ourChange": "Links in headings are found.",
    "theirChange": "Headings are left out.",
    "whyUnresolvable": "Whether headings count is nowhere said.",
}
WEAKENED: Final = "### mechanical_tests\n- tests/links:4: fenced does something that it did not do before"


def follow_branch(run: Story) -> Story:
    """A finished run that a delivery takes up again: a first adaptation, a refused one, and what contradicts."""
    run.reopens().tells("root:rebase", "RebaseDrift", _DRIFT).shows("root:adapt", "rebaser-first")
    run.tells("root:adapt", "RebaseAdapted", ADAPTED, refused=WEAKENED).shows("root:adapt", "rebaser-refused")
    run.tells("root:adapt", "RebaseBlocked", _BLOCKED).shows("root:conflict", "person-conflict")
    return run.decides("root:conflict", "retry", "Headings count.").shows("root:adapt", "rebaser-note")
