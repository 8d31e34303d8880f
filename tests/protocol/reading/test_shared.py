"""Templates from the library."""

import msgspec

from treadle.protocol.load import load
from treadle.protocol.templates import with_shared_templates

LIBRARY = {
    "fix.jinja": "{% include '_facts.jinja' %}",
    "_facts.jinja": "facts",
    "_unused.jinja": "nobody asks for it",
    "repro.jinja": "shared",
}


def test_only_referenced_templates_are_shared_and_the_protocols_own_win() -> None:
    protocol = load("v3")
    own = {"scaffold.jinja": "{% from 'fix.jinja' import x %}", "repro.jinja": "own"}
    found = with_shared_templates(msgspec.structs.replace(protocol, templates=own), LIBRARY).templates
    assert found == {
        "_facts.jinja": "facts",
        "fix.jinja": "{% include '_facts.jinja' %}",
        "repro.jinja": "own",
        "scaffold.jinja": "{% from 'fix.jinja' import x %}",
    }


def test_a_broken_template_is_left_to_the_checker() -> None:
    broken = msgspec.structs.replace(load("v3"), templates={"scaffold.jinja": "{% include"})
    assert with_shared_templates(broken, LIBRARY).templates == {"scaffold.jinja": "{% include"}


def test_the_tree_protocols_share_their_questions() -> None:
    assert load("v3").templates["answer.jinja"] == load("fractal").templates["answer.jinja"]
