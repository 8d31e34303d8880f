"""Check 15, the templates: they parse, use declared variables, and look only into fields that exist."""

from collections.abc import Iterator
from functools import lru_cache

from jinja2 import Environment, TemplateSyntaxError, nodes

from treadle.protocol.checks.expressions import Fault
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.payloads import signals_of, with_results
from treadle.protocol.checks.shapes import hidden_names, variable, variables
from treadle.protocol.checks.subject import Subject
from treadle.protocol.checks.walk import Walk
from treadle.protocol.findings import Finding
from treadle.protocol.model import Step, base_of

_ENVIRONMENT = Environment(autoescape=False)


def templates_fit_their_steps(subject: Subject) -> Iterator[Finding]:
    """15. Each template is walked as every step that uses it would render it."""
    broken = list(_broken(subject))
    yield from broken
    seen: set[Fault] = set()
    opened: set[str] = set()
    for flow in subject.flows.values():
        # The copies of a question differ only in where they lead.
        for name, step in {base_of(name): step for name, step in flow.graph.steps.items()}.items():
            template = subject.template_of(step)
            if template not in subject.protocol.templates:
                continue
            walk = _walk(subject, flow, name, step, template)
            opened |= walk.opened
            where = f"{flow.name}.{name}"
            for fault in walk.faults:
                if fault not in seen:
                    yield _finding(subject, where, fault)
                seen.add(fault)
            yield from _unused_needs(subject, where, step_path(flow.name, name), step, walk)
            for hidden in hidden_names(flow, step):
                message = f"reads step '{hidden}', but in templates '{variable(hidden)}' means something else"
                yield subject.finding(15, where, step_path(flow.name, name), message, "rename the step")
    if not broken:
        yield from _unused(subject, opened)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> nodes.Template | tuple[int, str]:
    """The syntax tree of a template, or the line and what is wrong with it."""
    try:
        return _ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        return error.lineno, (error.message or "cannot be read").rstrip(".")
    except RecursionError:
        return 1, "is nested too deeply"


def _walk(subject: Subject, flow: Flow, name: str, step: Step, template: str) -> Walk:
    protocol = subject.protocol

    def load(other: str) -> nodes.Template | None:
        tree = _parsed(protocol.templates[other])
        return tree if isinstance(tree, nodes.Template) else None

    walk = Walk(protocol, load, {"mode.type": step.mode, "step": name})
    try:
        found = with_results(subject, flow, step, variables(protocol, flow, step))
        walk.template(template, {**found, "signals": signals_of(subject, flow, name)})
    except RecursionError:
        walk.open = [template]
        walk.faults.append(Fault(template, 1, "is nested too deeply", "write it flatter"))
    return walk


def _broken(subject: Subject) -> Iterator[Finding]:
    for name, text in subject.protocol.templates.items():
        tree = _parsed(text)
        if not isinstance(tree, nodes.Template):
            line, message = tree
            path = f"templates.{name}"
            yield subject.finding(15, name, path, f"is not a template: {message}", "see the Jinja syntax", line=line)


def _finding(subject: Subject, where: str, fault: Fault) -> Finding:
    message = f"template {fault.message}"
    return subject.finding(15, where, f"templates.{fault.template}", message, fault.hint, line=fault.line)


def _unused_needs(subject: Subject, where: str, path: str, step: Step, walk: Walk) -> Iterator[Finding]:
    for need in step.needs:
        prefix = "up." if need.up else ""
        exit_ = subject.protocol.exits.get(need.exit)
        told = need.step and exit_ is not None and exit_.fields
        if told and f"{prefix}{variable(need.step)}.{need.exit}" not in walk.used:
            message = f"needs '{need}', but its template never shows it"
            hint = "use it in the template, or remove it"
            yield subject.finding(15, where, f"{path}.needs", message, hint, level="warning")


def _unused(subject: Subject, opened: set[str]) -> Iterator[Finding]:
    for name in subject.protocol.templates:
        if name not in opened:
            message = f"template '{name}' is never used"
            yield subject.finding(15, "", f"templates.{name}", message, "use it or remove it", level="warning")
