"""YAML: a tree with places, plain scalars, and plain data as text again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import ProtocolError
from treadle.protocol.findings import Place
from treadle.protocol.reading.yaml import MAX_DEPTH, MAX_NODES, MAX_TEXT, Node, read_yaml
from treadle.protocol.yaml_text import WIDTH, Plain, Scalar, emit, format_scalar, resolve_scalar


def problem(text: str) -> str:
    """What is wrong with a text, as it is printed."""
    with pytest.raises(ProtocolError) as caught:
        read_yaml(text, "p.yaml")
    (finding,) = caught.value.findings
    return str(finding)


def child(node: Node, *path: str | int) -> Node:
    for key in path:
        inner: Any = node.value
        node = inner[key]
    return node


def test_values_and_their_places() -> None:
    tree = read_yaml("a:\n  on: yes\n  list: [1, {x: 2.5}]\nb: ~\n", "p.yaml")
    assert tree.plain() == {"a": {"on": "yes", "list": [1, {"x": 2.5}]}, "b": None}
    assert child(tree, "a").key_place("list") == Place("p.yaml", 3, 3)
    assert child(tree, "a", "list", 1, "x").place == Place("p.yaml", 3, 17)
    assert tree.key_place("b") == Place("p.yaml", 4, 1)
    assert tree.key_place("no such key") == tree.place


def test_quoted_and_block_scalars_are_text() -> None:
    assert read_yaml("a: \"1\"\nb: 'true'\nc: |\n  x\n  y\nd: >\n  x\n  y\n", "p").plain() == {
        "a": "1",
        "b": "true",
        "c": "x\ny\n",
        "d": "x y\n",
    }


def test_a_surrogate_pair_is_one_character() -> None:
    assert read_yaml(r'a: "\ud83d\ude00"', "p").plain() == {"a": "\U0001f600"}


def test_an_alias_stands_for_its_anchor() -> None:
    tree = read_yaml("a: &x {k: [1]}\nb: *x\nc: &y word\n*y : 1\n", "p.yaml")
    assert tree.plain() == {"a": {"k": [1]}, "b": {"k": [1]}, "c": "word", "word": 1}
    assert tree.key_place("word") == Place("p.yaml", 4, 1)


SYNTAX = "this is not YAML: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", "p.yaml:3: the key 'a' stands here twice, first in line 1 (remove one of them)"),
        ("a:\n  1: x", "p.yaml:2: key 1 must be text (write it in quotes)"),
        ("true: x", "p.yaml:1: key true must be text (write it in quotes)"),
        ("~: x", "p.yaml:1: key null must be text (write it in quotes)"),
        ("1.5: x", "p.yaml:1: key 1.5 must be text (write it in quotes)"),
        ("? [a]\n: b", "p.yaml:1: a key must be text, not a list (write `key: value`)"),
        ("? {a: b}\n: b", "p.yaml:1: a key must be text, not a mapping (write `key: value`)"),
        ("a: &x [1]\n? *x\n: b", "p.yaml:2: a key must be text, not a list (write `key: value`)"),
        ("a: !!str 1", "p.yaml:1: tags are not supported (write text in quotes, and leave `!…` away)"),
        ("a: !python/object x", "p.yaml:1: tags are not supported (write text in quotes, and leave `!…` away)"),
        ("a: 1\n---\nb: 2", "p.yaml:2: a second document starts here (one file holds one document: remove `---`)"),
        ("%YAML 1.1\n---\na: 1", "p.yaml:1: directives such as %YAML and %TAG are not supported (remove them)"),
        ("a: &x 1\nb: *y", "p.yaml:2: unknown anchor 'y' (an alias stands after its anchor and outside of it)"),
        ("a: &loop [*loop]", "p.yaml:1: unknown anchor 'loop' (an alias stands after its anchor and outside of it)"),
        ("a: &x 1\nb: &x 2", "p.yaml:2: the anchor 'x' is defined twice (give it another name)"),
        (
            "<<: {a: 1}",
            "p.yaml:1: merge keys (`<<`) are not part of YAML 1.2 (write the entries out, or use a fragment)",
        ),
        ("a: .inf", "p.yaml:1: the number .inf is out of range (write it in quotes if it is text)"),
        ("", "p.yaml:1: the file is empty (write a mapping such as `name: value`)"),
        ("# only a comment", "p.yaml:1: the file is empty (write a mapping such as `name: value`)"),
        ('a: "\\ud800"', "p.yaml:1: half of a surrogate pair is no character (write the whole character)"),
        ("a: x\nb: \x00", "p.yaml:2: the character U+0000 is not allowed in YAML (remove it)"),
        (
            "a: 1\nb: c: d",
            f"p.yaml:2: {SYNTAX}mapping values are not allowed here (quote text that holds `: `, and indent with care)",
        ),
        (
            "a:\n\tb: 1",
            (
                f"p.yaml:2: {SYNTAX}found character '\\t' that cannot start any token"
                " (while scanning for the next token) (indent with spaces, not with tabs)"
            ),
        ),
        (
            "to: @end:Done",
            (
                f"p.yaml:1: {SYNTAX}found character '@' that cannot start any token (while scanning for the next token)"
                " (put the text in quotes)"
            ),
        ),
        (
            "a: 'b",
            (
                f"p.yaml:1: {SYNTAX}found unexpected end of stream (while scanning a quoted scalar)"
                " (a quote or bracket is never closed)"
            ),
        ),
    ],
)
def test_unreadable_yaml_names_its_place_and_a_repair(text: str, expected: str) -> None:
    assert problem(text) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} levels deep"),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("{a: " * 10_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("x" * (MAX_TEXT + 1), f"the limit is {MAX_TEXT}"),
        ("a: " + "k" * 300 + ": 1", "not YAML"),
        ("{" + "k" * 300 + ": 1}", "a key of 300 characters"),
        ('a: "\\Uffffffff"', "not YAML"),
        ("a: " + "9" * 100_000, "is out of range"),
    ],
)
def test_hostile_text_is_refused(text: str, part: str) -> None:
    assert part in problem(text)


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert f"more than {MAX_NODES} values" in problem("\n".join(lines))


@given(st.text(max_size=60) | st.text(alphabet="ab:-?[]{}&*!|>'\"%@`#,\\ \n\t019.~<=", max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        tree = read_yaml(text, "p.yaml")
    except ProtocolError as error:
        (finding,) = error.findings
        assert str(finding).startswith("p.yaml:")
    else:
        assert tree.place.file == "p.yaml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1\n"b": 2}', "p.JSON:2: this is not JSON: expecting ',' delimiter (check quotes, brackets and commas)"),
        ('{"a": [1}', "p.JSON:1: this is not JSON: expecting ',' delimiter (check quotes, brackets and commas)"),
        ('{"a": "\\x"}', "p.JSON:1: this is not JSON: invalid \\escape (check quotes, brackets and commas)"),
        ('{"a": "\0"}', "p.JSON:1: the character U+0000 is not allowed in JSON (remove it)"),
        ("[" * 100_000, "p.JSON:1: nested more than 64 levels deep (flatten it)"),
    ],
)
def test_a_json_file_is_called_so(text: str, expected: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_yaml(text, "p.JSON")
    assert [str(finding) for finding in caught.value.findings] == [expected]


def test_aliases_of_a_long_text_count_with_its_length() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]\n"
    with pytest.raises(ProtocolError) as caught:
        read_yaml(text, "p.yaml")
    assert "more than 200000 values" in str(caught.value.findings[0])


def test_an_unchanged_text_is_parsed_once() -> None:
    tree = read_yaml("a: 1\n", "one.yaml")
    assert read_yaml("a: 1\n", "one.yaml") is tree
    assert read_yaml("a: 2\n", "one.yaml").plain() == {"a": 2}
    assert read_yaml("a: 1\n", "two.yaml").place.file == "two.yaml"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("12", 12),
        ("-3", -3),
        ("007", 7),
        ("0o17", 15),
        ("0xfF", 255),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: Scalar) -> None:
    assert resolve_scalar(text) == value
    assert type(resolve_scalar(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan", "1e999", "9" * 19, "9" * 10_000, "0." + "1" * 100])
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        resolve_scalar(text)


@pytest.mark.parametrize("value", [None, True, False, 12, "text"])
def test_written_reads_back(value: Scalar) -> None:
    assert resolve_scalar(format_scalar(value)) == value


SCALARS = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e9, 1e9) | st.text(max_size=12)
KEYS = st.text(max_size=8).filter(lambda key: key != "<<")
VALUES: st.SearchStrategy[Plain] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_emitted_data_reads_back(data: dict[str, Plain]) -> None:
    assert read_yaml(emit(data), "p.yaml").plain() == data


def test_small_values_share_a_line_and_large_ones_do_not() -> None:
    data: dict[str, Plain] = {
        "small": {"a": 1, "b": ["x", "true"]},
        "nested": {"a": {"b": "c"}},
        "rows": [{"to": "x", "when": "y " * WIDTH}, "short"],
        "empty": {},
    }
    assert emit(data) == (
        'small: {a: 1, b: [x, "true"]}\n'
        "nested:\n"
        "  a: {b: c}\n"
        "rows:\n"
        "  - to: x\n"
        f'    when: "{"y " * WIDTH}"\n'
        "  - short\n"
        "empty: {}\n"
    )
