"""Results that are kept, and those that somebody else has put there."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from treadle.evidence.measurements import Cache
from treadle.toolchains.results import CommandResult

GOOD, BAD = CommandResult(command=("test",), exit=0), CommandResult(command=("test",), exit=1)
QUESTION, OTHER = ("test", "tree"), ("test", "another tree")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    kept = Cache(tmp_path, b"key")
    asyncio.run(kept.put(QUESTION, BAD))
    return kept


def test_a_cached_result_is_returned_again(cache: Cache, tmp_path: Path) -> None:
    assert asyncio.run(cache.get(QUESTION, CommandResult)) == BAD
    assert asyncio.run(Cache(tmp_path, b"key").get(QUESTION, CommandResult)) == BAD
    assert asyncio.run(cache.get(OTHER, CommandResult)) is None


BODY = msgspec.json.encode(GOOD)
FORGED: dict[str, Callable[[bytes], bytes]] = {
    "by a digest": lambda _: hashlib.sha256(BODY).hexdigest().encode() + b"\n" + BODY,
    "below the signature of another": lambda kept: kept.partition(b"\n")[0] + b"\n" + BODY,
    "without a signature": lambda _: b"\n" + BODY,
    "cut off": lambda kept: kept[:-1],
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_cache_entry_is_ignored(cache: Cache, tmp_path: Path, how: str) -> None:
    (path,) = tmp_path.glob("*/*.json")
    path.write_bytes(FORGED[how](path.read_bytes()))
    assert asyncio.run(cache.get(QUESTION, CommandResult)) is None


def test_a_cache_entry_answers_only_its_own_question_and_project(cache: Cache, tmp_path: Path) -> None:
    (path,) = tmp_path.glob("*/*.json")
    asyncio.run(cache.put(OTHER, GOOD))
    (good,) = set(tmp_path.glob("*/*.json")) - {path}
    path.write_bytes(good.read_bytes())
    assert asyncio.run(cache.get(QUESTION, CommandResult)) is None
    assert asyncio.run(Cache(tmp_path, b"other").get(OTHER, CommandResult)) is None
