"""What a document states, and what only stands in it."""

import pytest

from treadle.evidence.document_text import statements, states, without_comments

NAME = "total(prices: list[int]) -> int"
STATED = [
    f"# Design\n\nIt has `{NAME}`.\n",
    f"# Design\n\n- **`{NAME}`** adds.\n",
    "# Design\n\nIt has `total(prices:\nlist[int]) -> int`.\n",
    f"# Design\n\n```python\ndef {NAME}: ...\n```\n",
    f"# Design\n\n## `{NAME}`\n\nAdds them.\n",
    f"# Design\n\n## `{NAME}`\n\n### Errors\n\nNone.\n",
    f"| signature |\n|---|\n| `{NAME}` |\n",
    f"> They asked for more.\n\nIt has `{NAME}`.\n",
    f"The code block `<!--` is text; `{NAME}` stands.\n\nAnd `-->` ends nothing.\n",
]
NOT_STATED = [
    f"# Design\n\n<!-- `{NAME}` -->\n",
    f"# Design\n\n<!-- `{NAME}`\n",
    f"# Design\n\n[//]: # ({NAME})\n",
    f"# Design\n\n> `{NAME}`\n> and more\n",
    f"# Design\n\n> They asked for\n`{NAME}`.\n",
    f"# Design\n\n- > `{NAME}`\n",
    f"# Design\n\n```\n{NAME}\n```\n",
    f"# Design\n\n~~~text\n{NAME}\n~~~\n",
    f"# Design\n\n```python\n# {NAME}\n```\n",
    f"# Design\n\n```python\n# {NAME}\n",
    f"# Design\n\n## `{NAME}`\n",
    f"# Design\n\n## `{NAME}`\n\n## Other\n\nText.\n",
    f"# Design\n\n~~`{NAME}`~~\n",
    f"# Design\n\n<del>{NAME}</del>\n",
    f"---\nabout: {NAME}\n---\n# Design\n",
    f"# Design\n\nIt has sub{NAME}.\n",
]


@pytest.mark.parametrize("text", STATED)
def test_a_document_states_what_a_reader_reads_as_its_own(text: str) -> None:
    assert states(statements(text), NAME)


@pytest.mark.parametrize("text", NOT_STATED)
def test_comments_quotations_and_samples_state_nothing(text: str) -> None:
    assert not states(statements(text), NAME)


def test_comments_are_blanked_in_their_lines() -> None:
    assert without_comments("a\n<!-- b\nc -->\nd\n") == "a\n\n\nd\n"
    assert without_comments("a: 1 # b\n# c\nd: '#e'\n", "x.yaml") == "a: 1 \n\nd: '#e'\n"
