"""Templates of a protocol: their syntax tree, the filters they may use, and those they share with other protocols."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec
from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.meta import find_referenced_templates

from treadle.protocol.model import Protocol

_ENVIRONMENT: Final = Environment(autoescape=False)


@lru_cache(maxsize=1024)
def parse_template(text: str) -> nodes.Template | tuple[int, str]:
    """Parse a template into its syntax tree, or return the line and message of its fault."""
    try:
        return _ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        return error.lineno, (error.message or "cannot be read").rstrip(".")
    except RecursionError:
        return 1, "is nested too deeply"


# The filters that templates may use: those of Jinja that cannot blow a text up or declare it harmless, and `fence`.

FILTERS: Final = frozenset(
    """
    abs capitalize count d default dictsort fence first float int items join last length list lower map max min reject
    rejectattr reverse select selectattr sort string title trim truncate unique upper wordcount
    """.split()
)


# Shared templates: the library supplies those that a protocol refers to and does not have.


def with_shared_templates(protocol: Protocol, library: Mapping[str, str]) -> Protocol:
    """The protocol with every shared template that it, or one of its templates, refers to."""
    templates = dict(protocol.templates)
    roles = protocol.roles.values()
    wanted = [role.template for role in roles] + [mode.template for role in roles for mode in role.modes.values()]
    wanted += [step.template for graph in protocol.graphs.values() for step in graph.steps.values()]
    wanted += [name for text in templates.values() for name in _referenced_templates(text)]
    while wanted:
        name = wanted.pop()
        if name not in templates and name in library:
            templates[name] = library[name]
            wanted += _referenced_templates(library[name])
    ordered = {name: templates[name] for name in sorted(templates)}
    return msgspec.structs.replace(protocol, templates=ordered)


@lru_cache(maxsize=1024)
def _referenced_templates(text: str) -> tuple[str, ...]:
    tree = parse_template(text)
    if isinstance(tree, tuple):
        return ()  # the checker points at the line
    try:
        return tuple(name for name in find_referenced_templates(tree) if name)
    except RecursionError:
        return ()
