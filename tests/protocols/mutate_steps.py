"""Mistakes in steps and graphs: something that should be declared, waited for, handled or bounded is not."""

from collections.abc import Iterator

from tests.protocols.edits import drop, put
from tests.protocols.mutate_rows import Change, rows, targets
from treadle.protocol.model import ABORTED, Becomes, Graph, Need, Protocol, Step


def steps(protocol: Protocol) -> Iterator[tuple[tuple[str, ...], str, Graph, str, Step]]:
    """Every step, with its path and how it is called in descriptions."""
    for name, graph in protocol.graphs.items():
        for step_name, step in graph.steps.items():
            yield ("graphs", name, "steps", step_name), f"{name}.{step_name}", graph, step_name, step


def drop_step(protocol: Protocol) -> Iterator[Change]:
    """A step is missing."""
    for path, where, *_ in steps(protocol):
        yield f"{where}: step dropped", drop(protocol, *path)


def drop_exit(protocol: Protocol) -> Iterator[Change]:
    """A step cannot leave by one of its exits."""
    for path, where, _, _, step in steps(protocol):
        for n, exit_ in enumerate(step.exits):
            yield f"{where}: exit {exit_} dropped", drop(protocol, *path, "exits", n)


def drop_need(protocol: Protocol) -> Iterator[Change]:
    """A step does not say that it reads something."""
    for path, where, _, _, step in steps(protocol):
        for n, need in enumerate(step.needs):
            yield f"{where}: need {need} dropped", drop(protocol, *path, "needs", n)


def redirect_need(protocol: Protocol) -> Iterator[Change]:
    """A step reads what another exit left, instead of what it requires."""
    for path, where, graph, _, step in steps(protocol):
        for n, need in enumerate(step.needs):
            if need.step and not (need.optional or need.every or need.up):
                for other in _slots(graph):
                    if other.slot != need.slot:
                        changed = put(protocol, *path, "needs", n, value=other)
                        yield f"{where}: need {need} → {other}", changed


def _slots(graph: Graph) -> Iterator[Need]:
    for name, step in graph.steps.items():
        for exit_ in step.exits:
            yield Need(step=name, exit=exit_)


def drop_end_needs(protocol: Protocol) -> Iterator[Change]:
    """An outcome does not say what it takes to end so."""
    for name, graph in protocol.graphs.items():
        for outcome, needs in graph.ends.items():
            for n, need in enumerate(needs):
                text = f"{name} end {outcome}: need {need} dropped"
                yield text, drop(protocol, "graphs", name, "ends", outcome, n)
            if len(needs) > 1:
                yield f"{name} end {outcome}: needs nothing", put(protocol, "graphs", name, "ends", outcome, value=())


def drop_outcome(protocol: Protocol) -> Iterator[Change]:
    """An outcome is not declared, or not among the good ones.

    `Aborted` is an outcome of every graph, listed or not, so leaving it out changes nothing.
    """
    for name, graph in protocol.graphs.items():
        for outcome in graph.ends:
            if outcome != ABORTED:
                yield f"{name} end {outcome}: dropped", drop(protocol, "graphs", name, "ends", outcome)
        for group, outcomes in graph.ok.items():
            for n, outcome in enumerate(outcomes):
                yield f"{name} ok {group}: {outcome} dropped", drop(protocol, "graphs", name, "ok", group, n)


def drop_wait(protocol: Protocol) -> Iterator[Change]:
    """A step starts without waiting."""
    for path, where, _, _, step in steps(protocol):
        for n, wait in enumerate(step.wait):
            yield f"{where}: wait {wait.group or wait.kind} dropped", drop(protocol, *path, "wait", n)


def drop_becomes(protocol: Protocol) -> Iterator[Change]:
    """Spent attempts become something else."""
    for path, where, _, _, step in steps(protocol):
        if step.becomes != (Becomes(key="!exhausted"),):
            for n, becomes in enumerate(step.becomes):
                yield f"{where}: becomes {becomes.key} dropped", drop(protocol, *path, "becomes", n)


def map_otherwise(protocol: Protocol) -> Iterator[Change]:
    """A map over other items, of another graph, or a call of one."""
    for path, where, graph, _, step in steps(protocol):
        if step.kind != "map":
            continue
        for other in protocol.graphs:
            if other != step.graph:
                yield f"{where}: maps {other}", put(protocol, *path, "graph", value=other)
        for over in _lists(protocol, graph):
            if over != step.over:
                yield f"{where}: over {over or 'nothing'}", put(protocol, *path, "over", value=over)


def _lists(protocol: Protocol, graph: Graph) -> list[str]:
    record = protocol.types.get(graph.input[1])
    found = [f"in.{name}" for name in (record.fields if record else ())]
    for name, step in graph.steps.items():
        found += [f"{name}.{exit_}.{field}" for exit_ in step.exits for field in protocol.exits[exit_].fields]
    return ["", *found]


def drop_handler(protocol: Protocol) -> Iterator[Change]:
    """A signal is not handled."""
    for name, graph in protocol.graphs.items():
        for signal in graph.handlers:
            yield f"{name} handler {signal}: dropped", drop(protocol, "graphs", name, "handlers", signal)


def drop_reply(protocol: Protocol) -> Iterator[Change]:
    """A handler is not meant to answer."""
    for name, graph in protocol.graphs.items():
        for signal, handler in graph.handlers.items():
            if handler.reply:
                changed = put(protocol, "graphs", name, "handlers", signal, "reply", value=False)
                yield f"{name} handler {signal}: reply dropped", changed


def retarget_handler(protocol: Protocol) -> Iterator[Change]:
    """A signal is handled at another step."""
    for name, graph in protocol.graphs.items():
        for signal, handler in graph.handlers.items():
            for step in graph.steps:
                if step != handler.step:
                    changed = put(protocol, "graphs", name, "handlers", signal, "step", value=step)
                    yield f"{name} handler {signal}: at {handler.step} → {step}", changed


def drop_reset(protocol: Protocol) -> Iterator[Change]:
    """A budget is not refilled."""
    for name, graph in protocol.graphs.items():
        for budget_name, budget in graph.budgets.items():
            for n, step in enumerate(budget.resets):
                text = f"{name} budget {budget_name}: reset at {step} dropped"
                yield text, drop(protocol, "graphs", name, "budgets", budget_name, "resets", n)


def refill_inside(protocol: Protocol) -> Iterator[Change]:
    """A budget is refilled where it is charged."""
    for name, graph in protocol.graphs.items():
        for budget_name, budget in graph.budgets.items():
            charging = [at.step for at in rows(protocol) if at.graph == name and at.row.charge == budget_name]
            for step in dict.fromkeys(charging):
                resets = (*budget.resets, step)
                changed = put(protocol, "graphs", name, "budgets", budget_name, "resets", value=resets)
                yield f"{name} budget {budget_name}: refilled at {step}", changed


def retarget_budget(protocol: Protocol) -> Iterator[Change]:
    """A spent budget leads elsewhere (`over` on the rows that charge it)."""
    for name, graph in protocol.graphs.items():
        for budget_name, budget in graph.budgets.items():
            for goal in targets(graph):
                if goal != budget.to:
                    changed = put(protocol, "graphs", name, "budgets", budget_name, "to", value=goal)
                    yield f"{name} budget {budget_name}: to {budget.to} → {goal}", changed
