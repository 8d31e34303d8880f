import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.config.lines import lines_of
from treadle.config.starter import toml_value

TRICKY = '''\
# [not.a.table] = 1

top = "# no comment"   # [nor.this]
"quoted key" = 1
a.b . c = """
[fake]
x = 1
"""
list = [
  1,  # ]
  2,
]
inline = { x = 1, y = { z = "}" } }
[t]
k = \'\'\'
\'\'\'
  [ t . "u v" ]
  k = [ { a = 1 } ]
[[rows]]
n = 1
[[rows]]
n = 2
'''


def test_tricky_files() -> None:
    assert lines_of(TRICKY) == {
        ("top",): 3,
        ("quoted key",): 4,
        ("a",): 5,
        ("a", "b"): 5,
        ("a", "b", "c"): 5,
        ("list",): 9,
        ("inline",): 13,
        ("inline", "x"): 13,
        ("inline", "y"): 13,
        ("inline", "y", "z"): 13,
        ("t",): 14,
        ("t", "k"): 15,
        ("t", "u v"): 17,
        ("t", "u v", "k"): 18,
        ("t", "u v", "k", "a"): 18,
        ("rows",): 19,
        ("rows", "n"): 20,
    }


def test_line_ends_of_windows() -> None:
    assert lines_of("\r\n[a]\r\nb = 1\r\n") == {("a",): 2, ("a", "b"): 3}


def test_an_endless_statement_ends_the_search() -> None:
    assert lines_of("a = 1\nb = [\n" + "1,\n" * 5000 + "]\n") == {("a",): 1}


WORDS = st.text("abc_-09", min_size=1, max_size=4)
VALUES = st.one_of(st.integers(0, 99), st.booleans(), st.text(max_size=12), st.tuples(st.text(max_size=3)))


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, VALUES, max_size=4), max_size=4))
def test_every_value_is_found_on_its_own_line(tables: dict[str, dict[str, int | bool | str | tuple[str]]]) -> None:
    lines: list[str] = []
    expected = {}
    for name, table in tables.items():
        lines += ["", f"[{name}]"]
        for key, value in table.items():
            lines.append(f"{key} = {toml_value(value)}")
            expected[name, key] = len(lines)
    text = "\n".join(lines)
    found = lines_of(text)
    assert {path: found[path] for path in leaves(tomllib.loads(text))} == expected


def leaves(tree: dict[str, dict[str, object]]) -> Iterator[tuple[str, str]]:
    yield from ((name, key) for name, table in tree.items() for key in table)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# words"])
def test_nothing_is_set(text: str) -> None:
    assert lines_of(text) == {}
