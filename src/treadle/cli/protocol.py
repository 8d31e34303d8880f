"""`treadle protocol`: list, show, check, draw, simulate and explore protocols, and create a new one."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import typer

from treadle.cli.documents import document
from treadle.cli.guard import INTERRUPTED, UNWELL, complain, quote_word
from treadle.cli.library import (
    ProtocolFault,
    examine,
    find_misplaced,
    findings_of,
    is_built_in,
    list_protocol_folders,
    load_protocol,
    load_sound_protocol,
    load_with_warning,
    own_folder,
    read_protocol_scopes,
    source_of,
)
from treadle.cli.options import JsonOption
from treadle.cli.output import STDOUT, print_json, print_markdown, print_table, print_text, write_again, write_folder
from treadle.errors import TreadleError
from treadle.protocol.drawing.table import Row
from treadle.protocol.findings import suggest
from treadle.protocol.load import starting_folder
from treadle.protocol.model import Protocol, Step, base_of
from treadle.simulate.explore import Exploration
from treadle.simulate.explore import explore as explore_states
from treadle.simulate.run import Report, Summary, Violation, simulate_run, summary_of
from treadle.simulate.scope import LEAST, SMALL, Scope, out_of_range, unknown_names
from treadle.views.words import count_words

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Name = Annotated[str, typer.Argument(help="A protocol's name, or the path of its folder.")]
GraphName = Annotated[str | None, typer.Option("--graph", "-g", help="Use only this graph.")]


@app.callback()
def protocol() -> None:
    """List, check, draw, simulate and create protocols."""


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the available protocols."""

    found = list_protocols()
    if json:
        print_json(Protocols(protocols=tuple(found)))
    else:
        columns = ("Name", "Title", "Graphs", "Steps", "From")
        print_table(columns, [(it.name, it.title, str(it.graphs), str(it.steps), it.source) for it in found])


@app.command()
def show(name: Name, json: JsonOption = False) -> None:
    """Describe a protocol: its graphs, roles, exits and input."""
    from treadle.protocol.drawing.page import page

    model = load_with_warning(name)
    if json:
        print_json(document(Shown, model))
    else:
        print_markdown(page(model))


@app.command()
def check(
    protocols: Annotated[
        list[str] | None, typer.Argument(help="Names or paths of protocols; by default all available protocols.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check protocols before they run.

    Exit code 0: no findings; 2: findings.
    """
    results = examine(protocols or [])
    if json:
        print_json(Examination(findings=tuple(fault for result in results for fault in result.as_json())))
    else:
        print_text("\n".join(line for result in results for line in result.lines()))
    if any(result.failed for result in results):
        raise typer.Exit(2)


@app.command()
def table(
    name: Name,
    graph: GraphName = None,
    full: Annotated[
        bool, typer.Option("--full", help="Include the system exits of every step, and every copy of a shared step.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print the edge table: each step's exits, where they lead, and the checks on the way."""
    from treadle.protocol.drawing.table import COLUMNS, without_repeats
    from treadle.protocol.drawing.table import table as rows_of

    model = find_protocol_with(name, graph)
    if json:
        print_json(Table(rows=tuple(rows_of(model, graph, full=full))))
        return
    for each in [graph] if graph else model.graphs:
        print_table(COLUMNS, without_repeats(rows_of(model, each, full=full)), title=each)


@app.command()
def draw(
    name: Name,
    graph: GraphName = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg", metavar="FILE", help="Write an SVG drawing to this file instead; - writes to standard output."
        ),
    ] = None,
) -> None:
    """Draw a protocol: as Mermaid on standard output, or as SVG into a file."""
    from treadle.protocol.drawing.picture import mermaid
    from treadle.protocol.drawing.svg import svg as drawn

    model = find_protocol_with(name, graph)
    if svg is None or str(svg) in STDOUT:
        print_text(drawn(model, graph) if svg else mermaid(model, graph), nl=False)
    else:
        write_again(svg, drawn(model, graph), is_ours=lambda text: "<svg" in text)
        print_text(f"{svg} is written")


@app.command()
def schema(
    name: Name,
    step: Annotated[str, typer.Argument(help="A step; write GRAPH.STEP if several graphs have a step of that name.")],
    strict: Annotated[bool, typer.Option("--strict", help="Require optional fields too; they may be null.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="Print one schema for each exit, for use as a tool.")] = False,
    json: Annotated[bool, typer.Option("--json", hidden=True, help="No effect: a schema is always JSON.")] = False,  # noqa: ARG001
) -> None:
    """Print the JSON Schema of an agent's answer at a step."""
    from treadle.protocol.answers import schema as schemas

    model, found = find_agent_step(name, step)
    make = schemas.tool_schemas if tools else schemas.schema
    print_json(make(model, found, strict=strict))


@app.command()
def sim(
    name: Name,
    runs: Annotated[int, typer.Option(min=1, help="The number of runs.")] = 50,
    seed: Annotated[int, typer.Option(help="The seed of the first run; each further run adds 1.")] = 0,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="The probability that something goes wrong; with 0, most runs end well.")
    ] = 0.3,
    json: JsonOption = False,
) -> None:
    """Run a protocol with random answers and faults, and check every invariant after every event.

    Exit code 0: no findings; 2: findings.
    """

    found = simulate(load_sound_protocol(name), runs, faults, seed)
    if json:
        print_json(document(Simulation, found))
    else:
        print_text("\n".join(describe_simulation(found, name, faults)))
    if found.runs < runs:
        raise typer.Exit(INTERRUPTED)
    if found.findings:
        raise typer.Exit(2)


@app.command()
def explore(
    name: Name,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="The bounds: a named scope (see --scopes), single bounds, or both, such as 'leaf' or "
            "'attempts=1 budgets=any depth=1 widths=0,2 graph=cycle'; by default `small`."
        ),
    ] = None,
    scopes: Annotated[
        bool, typer.Option("--scopes", help="List the named scopes of the protocol, and search nothing.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="The number of states after which the search stops.")] = 20_000,
    json: JsonOption = False,
) -> None:
    """Try every answer in every order, within small bounds (a scope).

    Exit code 0: no findings; 1: no findings, but the search stopped at its limit; 2: findings, such as a deadlock.
    """
    if scopes:
        named = read_protocol_scopes(name)
        if json:
            print_json(Scopes(scopes=tuple(named.values())))
        else:
            print_table(("Scope", "Bounds"), [(it.name, it.help) for it in named.values()])
        return
    model, named = load_sound_protocol(name), read_protocol_scopes(name)
    found = explore_states(model, parse_scope(model, named, scope or []), limit_states=limit)
    if json:
        print_json(document(Search, found))
    else:
        print_text("\n".join(describe_exploration(found, named)))
    if found.findings:
        raise typer.Exit(2)
    if not found.exhausted:
        raise typer.Exit(UNWELL)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The name of the protocol.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="The new folder, which must have the name NAME; by default .treadle/protocols/NAME.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the built-in protocol of the same name.")] = False,
) -> None:
    """Write a small, complete, commented protocol into a new or empty folder."""
    folder = create_protocol(name, to, replace=replace)
    print_text(
        f"{folder} is written; edit it, then `treadle protocol check {name if to is None else quote_word(folder)}`"
    )


# The JSON documents of these commands.


class Offered(msgspec.Struct, frozen=True):
    """A protocol in a list; a protocol that does not load has a problem and no steps."""

    name: str
    title: str
    graphs: int
    steps: int
    source: str
    problem: str = ""


class Protocols(msgspec.Struct, frozen=True, kw_only=True):
    """The protocols that can be named here: `treadle protocol list --json`."""

    schema: Literal[1] = 1
    protocols: tuple[Offered, ...]


class Shown(Protocol, frozen=True, kw_only=True, omit_defaults=False):
    """A protocol as it runs: `treadle protocol show --json`. Its parts leave out keys that have their default."""

    schema: Literal[1] = 1


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """The findings in protocols: `treadle protocol check --json`."""

    schema: Literal[1] = 1
    findings: tuple[ProtocolFault, ...]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The edge table of a protocol: `treadle protocol table --json`."""

    schema: Literal[1] = 1
    rows: tuple[Row, ...]


class Mishap(Violation, frozen=True):
    """Something that must not happen, and the events that lead to it."""


class Simulation(Summary, frozen=True, kw_only=True):
    """The results of simulated runs: `treadle protocol sim --json`."""

    findings: tuple[Mishap, ...]
    schema: Literal[1] = 1


class Search(Exploration, frozen=True, kw_only=True):
    """The results of an exhaustive search: `treadle protocol explore --json`."""

    deadlocks: tuple[Mishap, ...]
    dead_ends: tuple[Mishap, ...]
    faults: tuple[Mishap, ...]
    schema: Literal[1] = 1


class Scopes(msgspec.Struct, frozen=True, kw_only=True):
    """The scopes that a protocol can be explored in: `treadle protocol explore --scopes --json`."""

    schema: Literal[1] = 1
    scopes: tuple[Scope, ...]


# Look up protocols, graphs and steps for the protocol commands.


def list_protocols() -> list[Offered]:
    """Describe every protocol that can be named here."""
    known = list_protocol_folders()
    for finding in find_misplaced(known):
        complain(f"warning: {finding}")
    return [_describe_protocol(name, folder) for name, folder in known.items()]


def _describe_protocol(name: str, folder: Path) -> Offered:
    source = source_of(folder)
    try:
        protocol = load_protocol(name).protocol
    except TreadleError as error:
        problem = str(findings_of(error, name)[0])
        return Offered(name, f"does not load: see `treadle protocol check {quote_word(name)}`", 0, 0, source, problem)
    steps = sum(len({base_of(step) for step in graph.steps}) for graph in protocol.graphs.values())
    return Offered(name, protocol.title, len(protocol.graphs), steps, source)


def find_protocol_with(name: str, graph: str | None) -> Protocol:
    """Load a protocol, and refuse a graph that it does not have."""
    protocol = load_with_warning(name)
    if graph is not None and graph not in protocol.graphs:
        raise TreadleError(
            _unknown(f"{protocol.name} has no graph '{graph}'", graph, protocol.graphs), code="usage.unknown"
        )
    return protocol


def find_agent_step(name: str, wanted: str) -> tuple[Protocol, Step]:
    """Load a protocol, and find its agent step by STEP or GRAPH.STEP."""
    protocol = load_with_warning(name)
    steps = {
        f"{graph}.{step}": it
        for graph, members in protocol.graphs.items()
        for step, it in members.steps.items()
        if it.kind == "agent"
    }
    meant = [path for path in steps if wanted in (path, path.partition(".")[2])]
    if not meant:
        bare = [path.partition(".")[2] for path in steps]
        raise TreadleError(
            _unknown(f"{protocol.name} has no agent step '{wanted}'", wanted, bare), code="usage.unknown"
        )
    if len(meant) > 1:
        raise TreadleError(
            f"'{wanted}' is a step of several graphs; write one of {', '.join(meant)}", code="usage.ambiguous"
        )
    return protocol, steps[meant[0]]


def _unknown(message: str, word: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    hint = suggest(word, known)
    return f"{message}{f' ({hint})' if hint else ''}; choose from {', '.join(known)}"


# The results of simulation and search, in words.


def simulate(protocol: Protocol, runs: int, faults: float, seed: int) -> Summary:
    """Simulate runs; after Ctrl-C, return the summary of those that have ended."""
    reports: list[Report] = []
    try:
        reports.extend(simulate_run(protocol, seed + number, faults) for number in range(runs))
    except KeyboardInterrupt:
        complain(f"interrupted after {len(reports)} of {count_words(runs, 'run')}")
    return summary_of(protocol, reports)


def describe_simulation(summary: Summary, name: str, faults: float) -> Iterator[str]:
    """Describe simulated runs line by line; `name` is the protocol's name or path as the user typed it."""
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(summary.outcomes.items()))
    verdict = count_words(len(summary.findings), "finding") if summary.findings else "no findings"
    counts = ((summary.runs, "run"), (summary.events, "event"), (summary.kills, "restart"))
    yield f"{summary.protocol}: {', '.join(count_words(*it) for it in counts)}: {verdict}"
    yield f"ended: {outcomes or 'none'}"
    if summary.never:
        yield f"rows that no run took: {len(summary.never)} (more runs reach more; --json lists them)"
    for finding in summary.findings:
        yield from _describe_finding(finding)
        yield f"  again: treadle protocol sim {quote_word(name)} --runs 1 --seed {finding.seed} --faults {faults:g}"


def describe_exploration(found: Exploration, scopes: Iterable[str]) -> Iterator[str]:
    """Describe an exhaustive search line by line, and name the other scopes."""
    none = "no findings" if found.exhausted else "no findings so far"
    verdict = count_words(len(found.findings), "finding") if found.findings else none
    whole = "complete" if found.exhausted else "incomplete"
    size = f"{count_words(found.states, 'state')}, {count_words(found.edges, 'edge')}"
    yield f"{found.protocol}, scope {found.scope}: {size}, {whole}: {verdict}"
    yield f"ends: {', '.join(found.outcomes) or 'none'}"
    if found.unvisited:
        yield f"steps not reached: {len(found.unvisited)} (--json lists them)"
    others = [name for name in scopes if name != found.scope]
    if others:
        yield f"other scopes: {', '.join(others)}"
    for finding in found.findings:
        yield from _describe_finding(finding)
    if not found.exhausted:
        yield (
            "the search stopped at its limit before it saw every state, so it proves nothing; "
            "raise --limit, or narrow --scope"
        )


def _describe_finding(finding: Violation) -> Iterable[str]:
    return ["", finding.what, *(f"  {line}" for line in finding.trace)]


# Parse `--scope`: a named scope, bounds, or a named scope with other bounds.

SETTABLE: Final = ("graph", *LEAST)
ANY: Final = "any"


def parse_scope(protocol: Protocol, named: Mapping[str, Scope], words: Iterable[str]) -> Scope:
    """Parse `leaf`, `attempts=2 depth=1 widths=0,2 graph=cycle`, or `leaf attempts=3`."""
    given = [word for text in words for word in text.split()]
    base = named[given[0]] if given and given[0] in named else named[SMALL.name]
    bounds = given[1:] if given and given[0] in named else given
    settings: dict[str, Any] = {}
    for key, value in (_setting(word, named) for word in bounds):
        if key in settings:
            raise TreadleError(f"the scope gives {key} twice; give it once", code="usage.value")
        settings[key] = value
    scope = msgspec.structs.replace(base, name=" ".join(given) or base.name, **settings)
    for problem in (*out_of_range(scope), *unknown_names(protocol, scope)):
        raise TreadleError(problem, code="usage.value")
    return scope


def _setting(word: str, named: Mapping[str, Scope]) -> tuple[str, Any]:
    key, _, value = word.partition("=")
    if key not in SETTABLE or not value:
        hint = suggest(key, [*SETTABLE, *named])
        keys = ", ".join(f"{it}=…" for it in SETTABLE)
        raise TreadleError(
            f"'{word}' is not a scope{f' ({hint})' if hint else ''}; write {', '.join(named)}, or {keys}",
            code="usage.value",
        )
    if key == "graph":
        return key, value
    if key == "budgets" and value == ANY:
        return key, None
    numbers = tuple(_number(key, part) for part in value.split(","))
    if len(numbers) > 1 and key != "widths":
        raise TreadleError(f"{word}: {key} is one number, such as {key}=1", code="usage.value")
    return key, numbers if key == "widths" else numbers[0]


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        more = f", or {ANY}" if key == "budgets" else ""
        raise TreadleError(
            f"{key}={text}: {key} is a whole number of at least {LEAST[key]}{more}", code="usage.value"
        ) from None


# Create the folder of a new protocol.

RESERVED: Final = "fragments"
"""The folder beside the protocols in which they look for fragments."""


def create_protocol(name: str, to: Path | None, *, replace: bool) -> Path:
    """Write a small, complete protocol, by default where it can be named in this project; return its folder."""
    texts = starting_folder(name)
    own = own_folder("protocols")
    folder = to or own / name
    _refuse_names(name, folder)
    if folder.absolute().parent.resolve() == own.resolve() and is_built_in(folder.name) and not replace:
        raise TreadleError(
            f"{folder.name} is a built-in protocol, and {folder} would take its place; give another name, change it by "
            f"{own_folder('overlays') / folder.name}.yaml with `extends: {folder.name}`, or say --replace",
            code="protocol.name",
        )
    if to is None:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"{folder.parent} cannot be created: {error.strerror}"
            raise TreadleError(text, code="file.unwritable") from None
    write_folder(folder, texts)
    return folder


def _refuse_names(name: str, folder: Path) -> None:
    """Refuse names that commands could not look up, and names that differ from the folder's."""
    if name.startswith("-"):
        raise TreadleError(
            f"'{name}' would be taken for an option by every command; begin it with a letter or a digit",
            code="protocol.name",
        )
    if name == RESERVED:
        raise TreadleError(
            f"the folder {RESERVED} is for parts that protocols share; give another name", code="protocol.name"
        )
    called = folder.name or folder.resolve().name
    if called != name:
        raise TreadleError(
            f"a protocol has the name of its folder, and '{called}' is not '{name}'; "
            f"write `--to {quote_word(folder.parent / name)}`, or make both names the same",
            code="protocol.name",
        )
