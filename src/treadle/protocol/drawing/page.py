"""A protocol described for people, as Markdown: its purpose, roles, exits and input."""

from collections.abc import Iterable, Iterator

from treadle.protocol.drawing.table import escape_markdown, markdown_table
from treadle.protocol.model import PERMS, Exit, Field, Graph, Limits, Protocol, Record, Role, base_of

FIELD_COLUMNS = ("Field", "Type", "Filled in by", "Routing", "Meaning")
WRITERS = {"agent": "the agent", "kernel": "the orchestrator"}


def page(protocol: Protocol) -> str:
    """Everything about a protocol but its tables and drawings."""
    return "\n".join([heading(protocol), overview(protocol), roles(protocol), exits(protocol), input_section(protocol)])


def heading(protocol: Protocol) -> str:
    """Return the protocol's name, title and description."""
    title = f"{protocol.name}: {protocol.title}" if protocol.title else protocol.name
    text = f"# {escape_markdown(title)}\n"
    return f"{text}\n{escape_markdown(protocol.help)}\n" if protocol.help else text


def overview(protocol: Protocol) -> str:
    """Its graphs, and the limits within which a run stays."""
    lines = [_graph_line(protocol, name, graph) for name, graph in protocol.graphs.items()]
    graphs = markdown_table(("Graph", "Title", "Given", "Steps", "Ends", "Spawns or maps"), lines)
    facts = [f"Version {escape_markdown(protocol.version)}, starts with `{protocol.root}`.", _limits(protocol.limits)]
    if protocol.pools:
        facts.append("Pools: " + ", ".join(f"`{name}` {size}" for name, size in protocol.pools.items()) + ".")
    if protocol.toolchain:
        facts.append("Commands of the project that it uses: " + ", ".join(map(_code, protocol.toolchain)) + ".")
    return f"## Overview\n\n{' '.join(facts)}\n\n{graphs}" + _artifacts(protocol) + _protections(protocol)


def _graph_line(protocol: Protocol, name: str, graph: Graph) -> tuple[str, ...]:
    steps = dict.fromkeys(base_of(step) for step in graph.steps)
    children = [step.graph for step in graph.steps.values() if step.graph]
    routes = [route for step in graph.steps.values() for rows in step.routes.values() for route in rows]
    children += [action.graph for route in routes for action in route.do if hasattr(action, "graph")]
    shown = name + (" (root)" if name == protocol.root else "")
    return (
        shown,
        graph.title,
        graph.input[1],
        str(len(steps)),
        ", ".join(graph.ends),
        ", ".join(dict.fromkeys(children)),
    )


def _limits(limits: Limits) -> str:
    text = (
        f"At most {limits.depth} levels deep, {limits.children} children a node, {limits.instances} instances, "
        f"{limits.agents} agents at once"
    )
    cost = f", a cost of {limits.cost:g}" if limits.cost else ""
    wall = f", {_span(limits.wall)} of wall time" if limits.wall else ""
    return f"{text}{cost}{wall}."


def _span(seconds: int) -> str:
    """Format a duration exactly, in the largest units: `8 h`, `1 h 30 min`, `45 s`."""
    parts = ((seconds // 3600, "h"), (seconds % 3600 // 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def _artifacts(protocol: Protocol) -> str:
    lines = [
        (f"{it.symbol} {name}".strip(), _code(it.path), it.writer, it.view, it.help)
        for name, it in protocol.artifacts.items()
    ]
    return f"\n{markdown_table(('File', 'Path', 'Written by', 'View', 'Meaning'), lines)}" if lines else ""


def _protections(protocol: Protocol) -> str:
    lines = [
        (_code(it.glob), f"Ψ{it.level}", "asks a person" if it.level > 3 else "proceeds") for it in protocol.protections
    ]
    return f"\n{markdown_table(('Protected', 'Level', 'A change'), lines)}" if lines else ""


def roles(protocol: Protocol) -> str:
    """Return the table of roles with their exits, permissions, paths and models."""
    lines = [line for name, role in protocol.roles.items() for line in _role_lines(name, role)]
    columns = ("Role", "Mode", "Exits", "Permissions", "Reads", "Writes", "Does not see", "Models")
    return f"## Roles\n\n{markdown_table(columns, lines)}"


def _role_lines(name: str, role: Role) -> Iterator[tuple[str, ...]]:
    shown = f"{role.symbol} {name}".strip() + (f" ({role.display})" if role.display else "")
    perms = ", ".join(f"Γ{PERMS.index(perm) + 1} {perm}" for perm in role.perms)
    scope = [" ".join(map(_code, globs)) for globs in (role.reads, role.writes, role.hidden)]
    models = ", ".join(role.models) + (" (interactive)" if role.interactive else "")
    yield shown, "", "", perms, scope[0] or "everything", scope[1] or "nothing", scope[2], models
    for mode, it in role.modes.items():
        yield "", f"{it.symbol} {mode}".strip(), ", ".join(it.exits), "", "", "", "", ""


def exits(protocol: Protocol) -> str:
    """Return every typed exit with its fields and their sources."""
    used = _leaving(protocol)
    parts = [_exit(name, exit_, used.get(name, ())) for name, exit_ in protocol.exits.items()]
    return "## Exits\n\n" + "\n".join(parts)


def _leaving(protocol: Protocol) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, graph in protocol.graphs.items():
        for step, it in graph.steps.items():
            for exit_ in it.exits:
                found.setdefault(exit_, []).append(f"{name}.{step}")
    return found


def _exit(name: str, exit_: Exit, steps: Iterable[str]) -> str:
    text = f"### {escape_markdown(f'{exit_.symbol} {name}'.strip())}\n\n"
    facts = [
        escape_markdown(exit_.help.strip().rstrip(".")),
        f"Leaves {', '.join(map(_code, steps))}" if steps else "",
        f"Proves {exit_.proves}" if exit_.proves and not exit_.proves_when else "",
        f"Proves {exit_.proves} where {_code(exit_.proves_when)}" if exit_.proves_when else "",
        f"Severity {exit_.severity}" if exit_.severity != "INFO" else "",
        f"Hint to its recipient: {_code(exit_.route_hint)}" if exit_.route_hint else "",
        f"`{exit_.route_on}` refines where it leads" if exit_.route_on else "",
        f"Also accepted as {', '.join(map(_code, exit_.also))}" if exit_.also else "",
    ]
    told = " ".join(f"{fact}." for fact in facts if fact)
    parts = [f"{told}\n" if told else "", fields_table(exit_.fields) if exit_.fields else ""]
    return text + "\n".join(part for part in parts if part)


def fields_table(fields: dict[str, Field]) -> str:
    """Return a table of fields with their types, sources and meanings."""
    routing = {"": "", "value": "value", "items": "items", "asked": "asked"}
    lines = [
        (
            " / ".join((name, *field.also)),
            field.type,
            WRITERS.get(field.by, field.by),
            routing[field.route],
            field.help,
        )
        for name, field in fields.items()
    ]
    return markdown_table(FIELD_COLUMNS, lines)


def input_section(protocol: Protocol) -> str:
    """Return the section about a run's input, with every record."""
    name, type_ = protocol.graphs[protocol.root].input if protocol.root in protocol.graphs else ("", "")
    text = (
        f"## Input\n\nA run is given one {_code(type_)}, in templates `{name}`.\n" if type_ else "## Input\n\nNone.\n"
    )
    return text + "".join(f"\n{_record(it, record)}" for it, record in protocol.types.items())


def _record(name: str, record: Record) -> str:
    about = f"{escape_markdown(record.help)}\n\n" if record.help else ""
    return f"### {escape_markdown(name)}\n\n{about}{fields_table(record.fields)}"


def _code(text: str) -> str:
    """A name as code; a backtick in it cannot end that."""
    return f"`{text}`" if "`" not in text else escape_markdown(text)
