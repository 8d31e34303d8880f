"""Check 15, the templates: they parse, use declared variables, and look only into fields that exist."""

from collections.abc import Iterator

from jinja2 import nodes

from treadle.protocol.checks.circles import circles
from treadle.protocol.checks.expressions import Fault
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.payloads import signals_of, with_results
from treadle.protocol.checks.shapes import ALL_NEEDS, hidden_names, hides_another, variable, variables
from treadle.protocol.checks.subject import Subject
from treadle.protocol.checks.walk import Walk
from treadle.protocol.findings import Finding
from treadle.protocol.model import Protocol, Step, base_of
from treadle.protocol.template_tree import parsed


def templates_fit_their_steps(subject: Subject) -> Iterator[Finding]:
    """15. Templates can be read and come to an end; each is walked as every step that uses it would render it."""
    yield from _hiding_inputs(subject)
    broken = list(_broken(subject))
    rings = list(circles(subject.protocol.templates, lambda name: _tree(subject.protocol, name)))
    yield from (finding for _, finding in broken)
    yield from (_finding(subject, ring.fault.template, ring.fault) for ring in rings)
    causes = frozenset(name for name, _ in broken).union(*(ring.templates for ring in rings))
    yield from _walked(subject, causes)


def _hiding_inputs(subject: Subject) -> Iterator[Finding]:
    for name, graph in subject.protocol.graphs.items():
        if hides_another(graph.input[0]):
            message = f"is given '{graph.input[0]}', but in templates that means something else"
            yield subject.finding(15, name, f"graphs.{name}.input", message, "rename the input")


def _walked(subject: Subject, causes: frozenset[str]) -> Iterator[Finding]:
    """What each step's walk finds; where one of the causes is on its way, more would only be what follows from it."""
    seen: set[Fault] = set()
    opened: set[str] = set()
    complete = not causes
    for flow in subject.flows.values():
        # The copies of a question differ only in where they lead.
        for name, step in {base_of(name): step for name, step in flow.graph.steps.items()}.items():
            template = subject.template_of(step)
            if template not in subject.protocol.templates:
                complete = complete and not template
                continue
            walk = _walk(subject, flow, name, step, template)
            opened |= walk.opened
            if not walk.opened & causes:
                yield from _faults(subject, flow, name, step, walk, seen)
    if complete:
        yield from _unused(subject, opened)


def _faults(subject: Subject, flow: Flow, name: str, step: Step, walk: Walk, seen: set[Fault]) -> Iterator[Finding]:
    where, path = f"{flow.name}.{name}", step_path(flow.name, name)
    for fault in walk.faults:
        if fault not in seen:
            yield _finding(subject, where, fault)
        seen.add(fault)
    yield from _unused_needs(subject, where, path, step, walk)
    for hidden in hidden_names(flow, step):
        message = f"reads step '{hidden}', but in templates '{variable(hidden)}' means something else"
        yield subject.finding(15, where, path, message, "rename the step")


def _tree(protocol: Protocol, name: str) -> nodes.Template | None:
    tree = parsed(protocol.templates[name])
    return tree if isinstance(tree, nodes.Template) else None


def _walk(subject: Subject, flow: Flow, name: str, step: Step, template: str) -> Walk:
    protocol = subject.protocol
    walk = Walk(protocol, lambda other: _tree(protocol, other), {"mode.type": step.mode, "step": name})
    try:
        found = with_results(subject, flow, step, variables(protocol, flow, step))
        walk.template(template, {**found, "signals": signals_of(subject, flow, name)})
    except RecursionError:
        walk.open = [template]
        walk.faults.append(Fault(template, 1, "is nested too deeply", "write it flatter"))
    return walk


def _broken(subject: Subject) -> Iterator[tuple[str, Finding]]:
    for name, text in subject.protocol.templates.items():
        tree = parsed(text)
        if not isinstance(tree, nodes.Template):
            line, message = tree
            said = f"is not a template: {message}"
            yield name, subject.finding(15, name, f"templates.{name}", said, "see the Jinja syntax", line=line)


def _finding(subject: Subject, where: str, fault: Fault) -> Finding:
    message = f"template {fault.message}"
    return subject.finding(15, where, f"templates.{fault.template}", message, fault.hint, line=fault.line)


def _unused_needs(subject: Subject, where: str, path: str, step: Step, walk: Walk) -> Iterator[Finding]:
    for need in step.needs:
        if ALL_NEEDS in walk.used and not need.up:
            continue
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
