"""Arguments in the place of parameters: what they cost, and that there is an end to it."""

import pytest

from treadle.errors import ProtocolError
from treadle.protocol.findings import Place
from treadle.protocol.reading.fragments import Filling, FragmentLibrary, expand, size
from treadle.protocol.reading.part import Log
from treadle.protocol.reading.yaml import MAX_TEXT, Node, read_yaml

HERE = Place("here.yaml", 1, 1)


def filled(text: str, **args: str) -> object:
    arguments = {name: read_yaml(value, "args.yaml") for name, value in args.items()}
    return Filling(Log()).tree(read_yaml(text, "fragment.yaml"), arguments, HERE).plain()


def test_parameters_are_filled_in_keys_and_values() -> None:
    assert filled("{$a-b: [$a, x$a, $$a, $n, $m]}", a="one", n="3", m="{k: v}") == {
        "one-b": ["one", "xone", "$a", 3, {"k": "v"}]
    }


def test_a_value_costs_its_characters_and_its_parts() -> None:
    one = size(read_yaml("x", "f"))
    assert size(read_yaml("xx", "f")) == one + 1
    assert size(read_yaml("[x, x]", "f")) > 2 * one
    assert size(read_yaml("{abc: x}", "f")) > one + 3


@pytest.mark.parametrize(
    "value", ["$x$x", "[$x, $x]", "{a: $x, b: $x}"], ids=["a_longer_text", "a_longer_list", "a_wider_mapping"]
)
def test_values_that_double_at_every_include_are_refused(value: str) -> None:
    def fragment(name: str) -> Node:
        following = f"e{int(name[1:]) + 1}"
        return read_yaml(f"fragment: {name}\nparams: [x]\ninclude: [{{{following}: {{x: {value}}}}}]\n", f"{name}.yaml")

    library = FragmentLibrary([f"e{number}" for number in range(40)], fragment)
    with pytest.raises(ProtocolError) as caught:
        expand(read_yaml("include: [{e0: {x: aaaaaaaa}}]", "protocol.yaml"), library, Log())
    [finding] = caught.value.findings
    assert f"more than {MAX_TEXT} characters" in str(finding)


def test_many_includes_of_a_long_fragment_are_refused() -> None:
    library = FragmentLibrary(
        ["long"], lambda _: read_yaml(f"{{fragment: long, roles: {{de: {{display: {'a' * 50_000}}}}}}}", "long.yaml")
    )
    many = read_yaml(f"include: [{', '.join(['long'] * 100)}]", "protocol.yaml")
    with pytest.raises(ProtocolError, match="cannot be loaded"):
        expand(many, library, Log())
