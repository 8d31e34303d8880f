"""Rewrites the syntax tree of a template, so that whatever repeats is counted by the environment that renders it."""

from collections.abc import Iterable
from typing import Any

from jinja2 import nodes
from jinja2.visitor import NodeTransformer


class Bounding(NodeTransformer):
    """Loops see what `counted` grants and end with `rest`; fixed text that may repeat is `spent`; `~` is `joined`."""

    def visit_For(self, node: nodes.For, *args: Any, **kwargs: Any) -> list[nodes.Node]:
        self.generic_visit(node, *args, **kwargs)
        node.iter = _ask("counted", node, node.iter)
        node.body.insert(0, _spent(node, node.body))
        return [node, _output(_ask("rest", node))]

    def visit_Macro(self, node: nodes.Macro, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        node.body.insert(0, _spent(node, node.body))
        return node

    def visit_Template(self, node: nodes.Template, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        if not any(node.find_all((nodes.Extends, nodes.Block))):
            node.body.insert(0, _spent(node, node.body))
        return node

    def visit_Concat(self, node: nodes.Concat, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        return _ask("joined", node, nodes.List(node.nodes, lineno=node.lineno))


def _ask(what: str, at: nodes.Node, *arguments: nodes.Node) -> nodes.Call:
    callee = nodes.EnvironmentAttribute(what, lineno=at.lineno)
    return nodes.Call(callee, list(arguments), [], None, None, lineno=at.lineno)


def _spent(at: nodes.Node, body: Iterable[nodes.Node]) -> nodes.Output:
    return _output(_ask("spent", at, nodes.Const(_length(body), lineno=at.lineno)))


def _output(call: nodes.Call) -> nodes.Output:
    return nodes.Output([call], lineno=call.lineno)


def _length(body: Iterable[nodes.Node]) -> int:
    """Characters of the fixed text in a body; what repeats inside of it is counted there as well."""
    return sum(len(data.data) for node in body for data in node.find_all(nodes.TemplateData))
