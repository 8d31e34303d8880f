"""What is cleared away and noted before an agent starts."""

import asyncio
from pathlib import Path

import msgspec

from tests.results.desk import desk
from treadle.results.prepare import FILE, Before, keep, kept, prepare


def test_an_old_result_is_deleted(tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = it.put(".ai/executor-result", "status: pass")
    before = asyncio.run(prepare(it.work.lane))
    assert not path.exists()
    assert before.unchanged(it.work.lane, ".ai/executor-result")
    it.put(".ai/executor-result", "status: pass")
    assert not before.unchanged(it.work.lane, ".ai/executor-result")


def test_hand_overs_are_noted_and_kept(tmp_path: Path) -> None:
    it = desk(tmp_path)
    path = it.put("HANDOFF.md", "old")
    before = asyncio.run(prepare(it.work.lane))
    assert path.read_text() == "old"
    assert before.unchanged(it.work.lane, "HANDOFF.md")
    it.put("HANDOFF.md", "new")
    assert not before.unchanged(it.work.lane, "HANDOFF.md")


def test_what_cannot_be_deleted_is_noted(tmp_path: Path) -> None:
    it = desk(tmp_path)
    (it.work.lane / ".ai" / "executor-result").mkdir(parents=True)
    before = asyncio.run(prepare(it.work.lane))
    assert before.unchanged(it.work.lane, ".ai/executor-result")


def test_it_survives_in_the_home(tmp_path: Path) -> None:
    it = desk(tmp_path)
    it.put("HANDOFF.md", "old")

    async def there_and_back() -> tuple[Before, Before | None]:
        before = await prepare(it.work.lane)
        await keep(before, it.work.home)
        return before, await kept(it.work.home)

    before, again = asyncio.run(there_and_back())
    assert before == again
    assert msgspec.json.decode(msgspec.json.encode(before), type=Before) == before


def test_a_damaged_or_missing_note_is_none(tmp_path: Path) -> None:
    assert asyncio.run(kept(tmp_path)) is None
    (tmp_path / FILE).write_text('{"marks": 3}')
    assert asyncio.run(kept(tmp_path)) is None
