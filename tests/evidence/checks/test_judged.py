"""A judgement is about the child that asked for it."""

from pathlib import Path

import pytest

from tests.evidence.stage import SPEC, Stage, run
from treadle.kernel.state import Frame, Message
from treadle.protocol.items import Json


@pytest.mark.parametrize(
    ("sender", "named", "said"),
    [
        ("root/b", "b", ""),
        ("root/b", "a", "the exit names 'a', but the child to judge is 'b'"),
        ("root/b", "root/b", "the exit names 'root/b', but the child to judge is 'b'"),
        ("root/b", None, "but the child to judge is 'b'"),
        ("", "b", "no child has asked to be judged here"),
        ("root/a/b", "b", "no child has asked to be judged here"),
    ],
)
def test_the_exit_names_the_child_that_asked(tmp_path: Path, sender: str, named: str | None, said: str) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        for inst in ("root/a", "root/b", "root/a/b"):
            stage.add(inst, "node", SPEC)
        served = (Message("ChildMerged", sender, (), 1),) if sender else ()
        stage.insts["root"].frames = [Frame("tests"), Frame("judge", signal="ChildMerged", signals=served)]
        fields: dict[str, Json] = {"child": named}
        verdict = await stage.claim("judge", "ChildAccepted", {}, fields, "judged_child")
        assert said in verdict.report
        assert bool(said) == bool(verdict.report)

    run(story())
