"""Templates that several protocols use: taken from the library when a protocol refers to one it does not have."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec
from jinja2.meta import find_referenced_templates

from treadle.protocol.model import Protocol
from treadle.protocol.template_tree import parsed


def with_shared(protocol: Protocol, library: Mapping[str, str]) -> Protocol:
    """The protocol with every shared template that it, or one of its templates, refers to."""
    templates = dict(protocol.templates)
    wanted = [*_named(protocol), *(name for text in templates.values() for name in _referred(text))]
    while wanted:
        name = wanted.pop()
        if name not in templates and name in library:
            templates[name] = library[name]
            wanted += _referred(library[name])
    ordered = {name: templates[name] for name in sorted(templates)}
    return msgspec.structs.replace(protocol, templates=ordered)


def _named(protocol: Protocol) -> Iterator[str]:
    for role in protocol.roles.values():
        yield role.template
        yield from (mode.template for mode in role.modes.values())
    for graph in protocol.graphs.values():
        yield from (step.template for step in graph.steps.values())


@lru_cache(maxsize=1024)
def _referred(text: str) -> tuple[str, ...]:
    tree = parsed(text)
    if isinstance(tree, tuple):
        return ()  # the checker points at the line
    try:
        return tuple(name for name in find_referenced_templates(tree) if name)
    except RecursionError:
        return ()
