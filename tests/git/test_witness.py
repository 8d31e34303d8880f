"""What a merge or a rebase has checked is kept, with the commit it was checked on."""

from pathlib import Path

from tests.git.place import run
from tests.prompts.stage import Memory
from treadle.git.verifier import Tried
from treadle.git.witness import Witness
from treadle.protocol.items import Json

RAN: dict[str, Json] = {"command": ["make"], "exit": 0, "duration": 1.5, "output": "built"}


class Verifier:
    async def build(self, _: Path) -> Tried:
        return Tried(ok=True, ran=RAN)

    async def contract(self, _: Path) -> Tried:
        return Tried(ok=True, details="the project has no command for it")

    async def suite(self, path: Path) -> Tried:
        return Tried(path.name == "good", "t fails", ("t",))

    async def same_colour(self, _before: str, _after: str) -> Tried:
        return Tried(ok=True)


def test_the_last_try_is_kept_in_full() -> None:
    async def story() -> None:
        witness, memory = Witness(Verifier()), Memory()
        for name in ("bad", "good"):
            await witness.build(Path(name))
            await witness.contract(Path(name))
            assert (await witness.suite(Path(name))).ok == (name == "good")
        results = witness.results(memory, "c0ffee", "7ree")
        assert [(one.check, one.ok) for one in results] == [("build", True), ("contract", True), ("suite", True)]
        built, contract, _ = (memory.get(one.report_ref) for one in results)
        head = {"check": "build", "ok": True, "commit": "c0ffee", "tree": "7ree"}
        assert built == {**head, **RAN, "report": "", "findings": []}
        assert isinstance(contract, dict)
        assert (contract["command"], contract["exit"], contract["output"]) == ([], None, "")
        assert contract["report"] == "the project has no command for it"

    run(story())


def test_a_comparison_before_and_after_is_kept_too() -> None:
    async def story() -> None:
        witness = Witness(Verifier())
        assert (await witness.same_colour("a", "b")).ok
        assert [one.check for one in witness.results(Memory(), "c", "t")] == ["same_colour"]

    run(story())
