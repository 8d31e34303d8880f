"""`bundle/exits.json`: what answers are held against without the store."""

from pathlib import Path

import pytest

from tests.results.desk import at, loaded
from treadle.errors import TreadleError
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.results.exits import FILE, extract, read_exits, write_exits

NAMES = ("v3", "fractal", "dptr", "riper", "waterfall")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_as_good_as_the_protocol(name: str, tmp_path: Path) -> None:
    protocol = loaded(name)
    for graph in protocol.graphs.values():
        for step in graph.steps.values():
            if step.kind == "agent":
                write_exits(extract(protocol, step), tmp_path)
                ways = read_exits(tmp_path)
                assert ways.exits == step.exits
                assert schema(ways.protocol, ways.exits) == schema(protocol, step)
                assert tool_schemas(ways.protocol, ways.exits) == tool_schemas(protocol, step)


def test_types_of_other_steps_stay_away(tmp_path: Path) -> None:
    protocol, step = at("dptr/cycle/red")
    write_exits(extract(protocol, step), tmp_path)
    assert set(read_exits(tmp_path).protocol.types) < set(protocol.types)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is not there"),
        ("{", "is damaged"),
        ('{"format": 1, "protocol": "p", "version": "1", "exits": {}, "more": 1}', "is damaged"),
        ('{"format": 9, "protocol": "p", "version": "1", "exits": {}}', "has format 9"),
    ],
)
def test_a_bundle_that_cannot_be_used(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(TreadleError, match=said):
        read_exits(tmp_path)


def test_a_link_in_its_place(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/etc/passwd")
    with pytest.raises(TreadleError, match="symbolic link"):
        read_exits(tmp_path)
