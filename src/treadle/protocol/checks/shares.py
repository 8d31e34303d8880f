"""Check 16, shared work: parts are handed out only when they are disjoint, merged only when something earned it."""

from collections.abc import Iterator

from treadle.protocol.checks.duties import commits
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.known import is_required
from treadle.protocol.checks.permissions import gates_of, has_gate
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Step, base_of, exit_keys


def parts_are_disjoint(subject: Subject) -> Iterator[Finding]:
    """16. Who spawns children has shown that their parts do not overlap, and they are held to them."""
    for site in subject.sites:
        step = subject.protocol.graphs[site.parent].steps[site.step]
        if site.edge is None or step.kind != "agent":
            continue
        gates = gates_of(step, site.edge.key)
        where, path = f"{site.parent}.{site.step}", f"{step_path(site.parent, site.step)}.gates"
        if not has_gate(gates, "children_partition", "disjoint_writes"):
            message = f"exit '{site.edge.key}' hands out parts of which nobody has shown that they are disjoint"
            yield subject.finding(16, where, path, message, "gate it by 'children_partition' or 'disjoint_writes'")
        if has_gate(gates, "disjoint_writes") and site.child in subject.flows:
            yield from _unbounded(subject, subject.flows[site.child])


def _unbounded(subject: Subject, child: Flow) -> Iterator[Finding]:
    for commit in commits(subject, child):
        if not has_gate(commit.gates, "owned_files"):
            message = f"exit '{commit.key}' is not held to the files that were given to it"
            path = f"{step_path(child.name, commit.name)}.gates"
            yield subject.finding(16, f"{child.name}.{commit.name}", path, message, "gate it by 'owned_files'")


def merges_say_what_earned_them(subject: Subject) -> Iterator[Finding]:
    """16. A merge that nobody's choice leads to needs a proof; what leads to it has been tested."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if step.effect != "merge":
                continue
            leading = [edge for edge in flow.edges if edge.lands_at == name and edge.step != name]
            chosen = all(flow.graph.steps[edge.step].asks == "human" for edge in leading)
            proved = _verdicts(flow) & subject.known[flow.name].get(name, frozenset())
            needed = {need.slot for need in step.needs if is_required(need)}
            if not chosen and not (needed & proved if proved else needed):
                message = "merges whatever comes to it"
                hint = f"add what earns the merge to `needs`: {' or '.join(sorted(proved)) or 'what it merges'}"
                yield subject.finding(16, f"{flow.name}.{name}", f"{step_path(flow.name, name)}.needs", message, hint)
            for edge in leading:
                source = flow.graph.steps[edge.step]
                if source.kind == "check" and not _runs(source, "green", "green_own_and_baseline", "contract"):
                    message = f"leads to merge '{name}', but runs no tests"
                    path = f"{step_path(flow.name, edge.step)}.checks"
                    yield subject.finding(16, f"{flow.name}.{edge.step}", path, message, "add 'green'")


def _verdicts(flow: Flow) -> set[str]:
    """The slots that speak for finished work."""
    exits = flow.protocol.exits
    found = {
        f"{name}.{tag}"
        for name, step in flow.graph.steps.items()
        for tag in step.exits
        if tag in exits and exits[tag].proves in ("green", "approval", "contract")
    }
    kinds = {"check": "Passed", "map": "AllOk"}
    return found | {f"{name}.{kinds[step.kind]}" for name, step in flow.graph.steps.items() if step.kind in kinds}


def _runs(step: Step, *names: str) -> bool:
    return has_gate(step.checks, *names)


def contracts_exist(subject: Subject) -> Iterator[Finding]:
    """16. A contract suite that something is held to was shown to exist, and whoever runs it is told where it is."""
    for flow in subject.flows.values():
        planned = list(_plans(flow))
        bringing = [
            (name, key) for name, key in planned if has_gate(gates_of(flow.graph.steps[name], key), "contract_exists")
        ]
        running = [name for name in flow.graph.steps if _runs_contract(flow, name)]
        for name, key in planned if running else ():
            if (name, key) not in bringing:
                message = f"exit '{key}' plans work that a contract suite decides, but not that there is one"
                path = f"{step_path(flow.name, name)}.gates"
                yield subject.finding(16, f"{flow.name}.{name}", path, message, "gate it by 'contract_exists'")
        merging = [name for name, step in flow.graph.steps.items() if step.effect == "merge"]
        for name in [name for name in merging if name not in running] if bringing else ():
            message = "merges work that has a contract suite, but none of its exits proves contract"
            yield subject.finding(
                16, f"{flow.name}.{name}", step_path(flow.name, name), message, "add `proves: contract`"
            )
        for name in running:
            yield from _untold(subject, flow, name, bringing)


def _plans(flow: Flow) -> Iterator[tuple[str, str]]:
    exits = flow.protocol.exits
    for name, step in flow.graph.steps.items():
        if step.kind == "agent":
            yield from (
                (name, key) for key in exit_keys(flow.protocol, step) if key in exits and exits[key].proves == "plan"
            )


def _runs_contract(flow: Flow, name: str) -> bool:
    step = flow.graph.steps[name]
    exits = [flow.protocol.exits[tag] for tag in step.exits if tag in flow.protocol.exits]
    return _runs(step, "contract") or (step.effect == "merge" and any(exit_.proves == "contract" for exit_ in exits))


def _untold(subject: Subject, flow: Flow, name: str, bringing: list[tuple[str, str]]) -> Iterator[Finding]:
    read = {need.slot for need in flow.graph.steps[name].needs if not need.up}
    for step, key in bringing:
        if f"{step}.{key}" not in read:
            message = f"runs the contract suite, but does not read '{step}.{key}', which names it"
            path = f"{step_path(flow.name, name)}.needs"
            yield subject.finding(16, f"{flow.name}.{base_of(name)}", path, message, f"add '{step}.{key}*' to `needs`")
