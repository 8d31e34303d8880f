"""A judgement is about the child that asked for it."""

from pathlib import Path

import pytest

from tests.evidence.stage import SPEC, Stage, run
from treadle.kernel.state import Frame, Message
from treadle.protocol.items import Json


@pytest.mark.parametrize(
    ("sender", "named", "code", "data"),
    [
        ("root/b", "b", "", ()),
        ("root/b", "a", "judgement.wrong_child", ("'a'", "'b'")),
        ("root/b", "root/b", "judgement.wrong_child", ("'root/b'", "'b'")),
        ("root/b", None, "judgement.wrong_child", ("'b'",)),
        ("", "b", "judgement.not_asked", ()),
        ("root/a/b", "b", "judgement.not_asked", ()),
    ],
)
def test_the_exit_names_the_child_that_asked(
    tmp_path: Path, sender: str, named: str | None, code: str, data: tuple[str, ...]
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        for inst in ("root/a", "root/b", "root/a/b"):
            stage.add(inst, "node", SPEC)
        served = (Message("ChildMerged", sender, (), 1),) if sender else ()
        stage.insts["root"].frames = [Frame("tests"), Frame("judge", signal="ChildMerged", signals=served)]
        fields: dict[str, Json] = {"child": named}
        verdict = await stage.claim("judge", "ChildAccepted", {}, fields, "judged_child")
        assert stage.codes(verdict, "judged_child") == ([code] if code else [])
        assert [text for text in data if text not in verdict.report] == []

    run(story())
