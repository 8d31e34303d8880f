"""Check 20: numbers are in the range in which they mean something."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Step, base_of

_DIGITS = "0123456789"


def numbers_make_sense(subject: Subject) -> Iterator[Finding]:
    """20. Attempts, timeouts, budgets, windows, classes and limits are in range."""
    protocol = subject.protocol
    for name, size in protocol.pools.items():
        if size < 1:
            yield subject.finding(20, "", f"pools.{name}", f"pool '{name}' holds {size}", "at least 1")
    for name in ("depth", "children", "instances", "agents"):
        if getattr(protocol.limits, name) < 1:
            yield subject.finding(20, "", f"limits.{name}", f"limit '{name}' is below 1", "at least 1")
    for name in ("infra_retries", "cost", "tokens", "wall"):
        if getattr(protocol.limits, name) < 0:
            yield subject.finding(20, "", f"limits.{name}", f"limit '{name}' is negative", "0 means none")
    for graph_name, graph in protocol.graphs.items():
        for name, budget in graph.budgets.items():
            if budget.max < 1:
                path = f"graphs.{graph_name}.budgets.{name}.max"
                yield subject.finding(20, graph_name, path, f"budget '{name}' allows {budget.max}", "at least 1")
        for signal, handler in graph.handlers.items():
            if handler.prio not in range(4):
                path = f"graphs.{graph_name}.handlers.{signal}.prio"
                yield subject.finding(20, graph_name, path, f"handler of '{signal}' has class {handler.prio}", "0 to 3")
            if handler.preempt < -1:
                path = f"graphs.{graph_name}.handlers.{signal}.preempt"
                message = f"handler of '{signal}' preempts after {handler.preempt} seconds"
                yield subject.finding(20, graph_name, path, message, "-1 never, 0 at once, or seconds")
        for name, step in graph.steps.items():
            for field, message, hint in _step_faults(step):
                path = f"{step_path(graph_name, name)}.{field}"
                yield subject.finding(20, f"{graph_name}.{base_of(name)}", path, message, hint)


def _step_faults(step: Step) -> Iterator[tuple[str, str, str]]:
    if step.prio not in range(4):
        yield "prio", f"has class {step.prio}", "0 to 3"
    if step.attempts < 1:
        yield "attempts", f"has {step.attempts} attempts", "at least 1"
    if step.kind in ("agent", "effect", "check") and step.timeout <= 0:
        yield "timeout", f"has a timeout of {step.timeout} seconds", "more than 0"
    if step.kind == "agent" and (step.nudge_after <= 0 or step.nudges < 0):
        yield "nudge_after", f"is nudged {step.nudges} times after {step.nudge_after} seconds", "more than 0 seconds"
    if step.kind == "map" and not _is_window(step.window):
        yield "window", f"has the window '{step.window}'", "a number above 0, or `in.field`"
    if step.remind < 0 or step.default_after < 0:
        yield "remind", "waits a negative time", "0 means never"
    if step.default and not step.default_after:
        yield "default_after", f"never takes its default '{step.default}'", "add `default_after`"
    if step.default_after and not step.default:
        yield "default", "has `default_after` but no `default`", "name the choice that time decides for"
    if step.estimate and (
        min(step.estimate) < 0 or step.estimate[0] > step.estimate[1] or step.estimate[2] > step.estimate[3]
    ):
        yield "estimate", f"estimates {list(step.estimate)}", "[read_low, read_high, out_low, out_high]"


def _is_window(text: str) -> bool:
    return not text or text.startswith("in.") or (len(text) < 7 and all(c in _DIGITS for c in text) and int(text) > 0)
