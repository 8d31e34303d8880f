"""Every row of the published tables is a row of ours."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.treadle import treadle

FIXTURES = Path(__file__).parent / "fixtures"
SEEDS = {"v3": 17, "fractal": 17, "waterfall": 22}


@cache
def seed(name: str) -> Any:
    return YAML(typ="safe").load((FIXTURES / f"{name}-rows.yaml").read_text(encoding="utf-8"))


@cache
def ours(name: str) -> list[dict[str, Any]]:
    told = treadle("protocol", "table", name, "--graph", seed(name)["graph"], "--json").json()
    found: list[dict[str, Any]] = told["rows"]
    return found


def cases() -> Iterator[Any]:
    for name in SEEDS:
        for row in seed(name)["rows"]:
            yield pytest.param(name, row, id=f"{name}-{row['from']}-{row['exit']}")


def way(name: str, row: dict[str, str]) -> list[str]:
    """The steps that the row's target stands for, in the order they are passed."""
    if row["to"] == row["from"]:
        return ["@self"]
    meant = seed(name)["targets"][row["to"]]
    if isinstance(meant, dict):
        meant = meant.get(row["exit"], meant.get("*"))
    return [meant] if isinstance(meant, str) else list(meant)


def leads(name: str, step: str, to: str) -> bool:
    return any(found["step"] == step and found["to"] == to for found in ours(name))


@pytest.mark.parametrize(("name", "row"), list(cases()))
def test_the_published_row_is_one_of_ours(name: str, row: dict[str, str]) -> None:
    steps = seed(name)["actors"].get(row["from"], [row["from"]])
    exits = seed(name).get("exits", {}).get(row["exit"], [row["exit"]])
    first, *further = way(name, row)
    found = [
        it
        for it in ours(name)
        if it["step"] in steps and it["to"] == first and (it["exit"] in exits or it["exit"].partition(".")[0] in exits)
    ]
    assert found, f"no row {steps} {exits} → {first}"
    for here, there in zip([first, *further], further, strict=False):
        assert leads(name, here, there)
    for words in (row.get("action"), row.get("mutation")):
        wanted = seed(name)["actions"].get(words, {})
        assert any(_shows(it, wanted) for it in found), f"{wanted} is not in {found}"


def _shows(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(value in found[key] if key == "do" else found[key] == value for key, value in wanted.items())


@pytest.mark.parametrize("name", SEEDS)
def test_every_published_row_was_looked_at(name: str) -> None:
    assert len(seed(name)["rows"]) == SEEDS[name]


@pytest.mark.parametrize("name", SEEDS)
def test_signals_questions_and_waits_are_where_the_tables_put_them(name: str) -> None:
    signals = {row["exit"]: row["to"] for row in ours(name) if row["kind"] == "signal"}
    assert {signal: signals.get(signal) for signal in seed(name)["signals"]} == seed(name)["signals"]
    asks = {row["step"]: row["who"] for row in ours(name) if row["kind"] == "ask"}
    assert {step: asks.get(step) for step in seed(name)["asks"]} == seed(name)["asks"]
    waits = {row["step"]: row["wait"] for row in ours(name)}
    assert {step: waits.get(step) for step in seed(name)["waits"]} == seed(name)["waits"]


@pytest.mark.parametrize("step", seed("waterfall")["limits"])
def test_attempts_and_minutes_are_the_published_ones(step: str) -> None:
    shown = treadle("protocol", "show", "waterfall", "--json").json()["graphs"]["story"]["steps"][step]
    wanted = seed("waterfall")["limits"][step]
    assert (shown["attempts"], shown["timeout"]) == (wanted["max_attempts"], wanted["timeout_min"] * 60)
