"""LangGraph doing what `bench/durable.py` does: each step of a run is on disk before the next one begins."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.meter import Meter
from bench.peer import counting_ring

_SETTINGS = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")


def langgraph_in_turn(folder: Path, runs: int, length: int) -> Meter:
    """Runs one after the other."""
    db = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
    for setting in _SETTINGS:
        db.execute(setting)
    saver = SqliteSaver(db)
    saver.setup()
    graph = counting_ring(length).compile(checkpointer=saver)
    with Meter() as meter:
        results = [graph.invoke({"n": 0}, _config(run, length), durability="sync") for run in range(runs)]
    db.close()
    _check(results, runs, length)
    return meter


def langgraph_at_once(folder: Path, runs: int, length: int) -> Meter:
    """All runs at the same time."""
    return asyncio.run(_at_once(folder, runs, length))


async def _at_once(folder: Path, runs: int, length: int) -> Meter:
    async with aiosqlite.connect(folder / "langgraph.db") as db:
        for setting in _SETTINGS:
            await db.execute(setting)
        saver = AsyncSqliteSaver(db)
        await saver.setup()
        graph = counting_ring(length).compile(checkpointer=saver)
        with Meter() as meter:
            work = (graph.ainvoke({"n": 0}, _config(run, length), durability="sync") for run in range(runs))
            results = await asyncio.gather(*work)
    _check(results, runs, length)
    return meter


def _config(run: int, length: int) -> dict[str, Any]:
    return {"recursion_limit": length + 10, "configurable": {"thread_id": str(run)}}


def _check(results: list[Any], runs: int, length: int) -> None:
    if [result["n"] for result in results] != [length] * runs:
        raise AssertionError(f"LangGraph has made other transitions than {runs} x {length}")
