import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.main import get_command

from tests.cli.treadle import treadle
from tools.docs import pages
from tools.json_page import DOCUMENTS, json_page, json_schema
from treadle.cli.app import build_all

PAGE = json_page()


@pytest.mark.parametrize("command", DOCUMENTS)
def test_every_document_has_its_table_and_its_version(command: str) -> None:
    section = PAGE.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    assert section.count("| `schema` | `1` |") == 1
    for field in DOCUMENTS[command].__struct_fields__:
        assert f"\n| `{field}` | " in section


def test_fields_are_explained_by_their_docstrings() -> None:
    assert re.search(r"^\| `driver` \| string \| \S.* \|$", PAGE, re.MULTILINE), "a field's docstring"
    assert re.search(r"^### Position\n\n\S.*\.$", PAGE, re.MULTILINE), "a record's docstring"


def test_the_schema_is_valid_and_refuses_malformed_documents() -> None:
    schema = json.loads(json_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    listing = jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/Listing"})
    listing.validate({"schema": 1, "runs": []})
    assert list(listing.iter_errors({"schema": 2, "runs": []}))
    assert list(listing.iter_errors({"schema": 1}))


@pytest.mark.soak
def test_page_and_schema_are_generated() -> None:
    assert {"json.md", "json.schema.json"} <= {path for path, _ in pages()}


def commands(group: Any, words: str = "treadle") -> Iterator[tuple[str, list[str]]]:
    """Every command with its options."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{words} {name}")
        else:
            yield f"{words} {name}", [option for parameter in one.params for option in parameter.opts]


def test_every_command_that_prints_json_is_on_the_page() -> None:
    printing = {words for words, options in commands(get_command(build_all())) if "--json" in options}
    assert len(printing) > 10
    assert not {words for words in printing if f"`{words}" not in PAGE and f"## {words} --json" not in PAGE}


@pytest.mark.parametrize(
    "words",
    [
        "protocol list",
        "protocol show v3",
        "protocol check v3",
        "protocol table v3",
        "protocol sim v3 --runs 1",
        "protocol explore v3 --limit 5",
        "protocol explore v3 --scopes",
        "config",
        "config limits.agents",
        "config --keys",
        "doctor",
        "agents",
        "spec check nowhere.yaml",
        "say help",
        "projects list",
    ],
)
def test_a_commands_json_fits_the_documented_schema(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    printed = treadle(*words.split(), "--json").json()
    head = re.sub(r" v3| help| nowhere\.yaml| --(runs|limit) \d+", "", words).replace("limits.agents", "KEY")
    kind = DOCUMENTS[f"treadle {head} --json"]
    assert printed["schema"] == 1
    assert set(printed) <= set(kind.__struct_fields__)
    schema = json.loads(json_schema())
    jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{kind.__name__}"}).validate(printed)
