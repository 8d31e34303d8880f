import json

import jsonschema
import pytest

from tools.docs import pages
from tools.json_page import DOCUMENTS, json_page, json_schema

PAGE = json_page()


@pytest.mark.parametrize("command", DOCUMENTS)
def test_every_document_has_its_table_and_its_version(command: str) -> None:
    section = PAGE.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    assert section.count("| `schema` | `1` |") == 1
    for field in DOCUMENTS[command].__struct_fields__:
        assert f"\n| `{field}` | " in section


def test_what_a_field_means_is_told_where_the_code_tells_it() -> None:
    assert "| `driver` | string | Who drives it; empty: nobody does. |" in PAGE
    assert "\n### Position\n\nWhere an instance stands; " in PAGE


def test_the_schema_is_one_and_refuses_what_is_wrong() -> None:
    schema = json.loads(json_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    listing = jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/Listing"})
    listing.validate({"schema": 1, "runs": []})
    assert list(listing.iter_errors({"schema": 2, "runs": []}))
    assert list(listing.iter_errors({"schema": 1}))


def test_both_are_among_the_generated_pages() -> None:
    assert {"json.md", "json.schema.json"} <= {path for path, _ in pages()}
