"""`treadle protocol`: look at protocols, prove them, draw them, try them against a random world, begin a new one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treadle.cli.output import print_json, print_markdown, print_table, say

if TYPE_CHECKING:
    from treadle.simulate.scope import Scope

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Name = Annotated[str, typer.Argument(help="A protocol's name, or the path of its folder.")]
GraphName = Annotated[str | None, typer.Option("--graph", "-g", help="Only this graph.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.callback()
def protocol() -> None:
    """Look at protocols, prove them, draw them, try them against a random world, begin a new one."""


@app.command("list")
def list_(json: Json = False) -> None:
    """Lists the protocols that can be named here."""
    from treadle.cli.documents import Protocols
    from treadle.cli.survey import survey

    found = survey()
    if json:
        print_json(Protocols(protocols=tuple(found)))
    else:
        columns = ("Name", "Title", "Graphs", "Steps", "From")
        print_table(columns, [(it.name, it.title, str(it.graphs), str(it.steps), it.source) for it in found])


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Describes a protocol: its graphs, roles, exits and input."""
    from treadle.cli.documents import Shown, document
    from treadle.cli.examine import looked_at
    from treadle.protocol.drawing.page import page

    model = looked_at(name)
    if json:
        print_json(document(Shown, model))
    else:
        print_markdown(page(model))


@app.command()
def check(
    protocols: Annotated[
        list[str] | None, typer.Argument(help="Names or paths; default: all that can be named.")
    ] = None,
    json: Json = False,
) -> None:
    """Proves protocols before they run. Exit code 0: nothing is wrong; 2: there are findings."""
    from treadle.cli.documents import Examination
    from treadle.cli.examine import examine

    results = examine(protocols or [])
    if json:
        print_json(Examination(findings=tuple(fault for result in results for fault in result.as_json())))
    else:
        say("\n".join(line for result in results for line in result.lines()))
    if any(result.failed for result in results):
        raise typer.Exit(2)


@app.command()
def table(
    name: Name,
    graph: GraphName = None,
    full: Annotated[bool, typer.Option("--full", help="Every step's system exits and every copy of a gate.")] = False,
    json: Json = False,
) -> None:
    """Prints the edge table: who leaves by which exit, where that leads, what is checked on the way."""
    from treadle.cli.documents import Table
    from treadle.cli.survey import protocol_with
    from treadle.protocol.drawing.markdown import COLUMNS, without_repeats
    from treadle.protocol.drawing.table import table as rows_of

    model = protocol_with(name, graph)
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
        Path | None, typer.Option("--svg", help="Write an SVG drawing to this file instead; -: to standard output.")
    ] = None,
) -> None:
    """Draws a protocol: as Mermaid on standard output, or as SVG into a file."""
    from treadle.cli.files import STDOUT, write_again
    from treadle.cli.survey import protocol_with
    from treadle.protocol.drawing.mermaid import mermaid
    from treadle.protocol.drawing.svg import svg as drawn

    model = protocol_with(name, graph)
    if svg is None or str(svg) in STDOUT:
        say(drawn(model, graph) if svg else mermaid(model, graph), nl=False)
    else:
        write_again(svg, drawn(model, graph), is_ours=lambda text: "<svg" in text)
        say(f"{svg} is written")


@app.command()
def schema(
    name: Name,
    step: Annotated[str, typer.Argument(help="A step, or GRAPH.STEP where several graphs have one of that name.")],
    strict: Annotated[bool, typer.Option("--strict", help="Optional fields must be there, as null.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="One schema per exit, as tools take them.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A schema is JSON anyway.")] = False,  # noqa: ARG001
) -> None:
    """Prints the JSON Schema of the answer that an agent gives at a step."""
    from treadle.cli.survey import agent_step
    from treadle.protocol.answers import schema as schemas

    model, found = agent_step(name, step)
    make = schemas.tool_schemas if tools else schemas.schema
    print_json(make(model, found, strict=strict))


@app.command()
def sim(
    name: Name,
    runs: Annotated[int, typer.Option(min=1, help="How many runs.")] = 50,
    seed: Annotated[int, typer.Option(help="The first run's seed; the others follow.")] = 0,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="How often something goes wrong; 0: most runs end well.")
    ] = 0.3,
    json: Json = False,
) -> None:
    """Runs a protocol against a random world, with every invariant held after every event. Exit code 2: findings."""
    from treadle.cli.documents import document
    from treadle.cli.examine import sound
    from treadle.cli.guard import INTERRUPTED
    from treadle.cli.trial import simulate, simulated
    from treadle.cli.trial_documents import Simulation

    found = simulate(sound(name), runs, faults, seed)
    if json:
        print_json(document(Simulation, found))
    else:
        say("\n".join(simulated(found, name, faults)))
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
            help="One of its scopes, bounds, or both: 'leaf', 'attempts=1 budgets=any depth=1 widths=0,2 graph=cycle'. "
            "Default: small."
        ),
    ] = None,
    scopes: Annotated[bool, typer.Option("--scopes", help="Only list the scopes that it has, by name.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many states to look at before giving up.")] = 20_000,
    json: Json = False,
) -> None:
    """Tries every answer in every order, in a small scope.

    Exit code 1: nothing was found, but not every state was looked at; 2: a deadlock, a dead end or a fault was found.
    """
    from treadle.cli.library import scopes as scopes_of

    if scopes:
        _list_scopes(scopes_of(name), json)
        return
    from treadle.cli.documents import document
    from treadle.cli.examine import sound
    from treadle.cli.guard import UNWELL
    from treadle.cli.scope import scope_of
    from treadle.cli.trial import explored
    from treadle.cli.trial_documents import Search
    from treadle.simulate.explore import explore as search

    model, named = sound(name), scopes_of(name)
    found = search(model, scope_of(model, named, scope or []), limit_states=limit)
    if json:
        print_json(document(Search, found))
    else:
        say("\n".join(explored(found, named)))
    if found.findings:
        raise typer.Exit(2)
    if not found.exhausted:
        raise typer.Exit(UNWELL)


def _list_scopes(named: "dict[str, Scope]", json: bool) -> None:
    if json:
        from treadle.cli.trial_documents import Scopes

        print_json(Scopes(scopes=tuple(named.values())))
    else:
        print_table(("Scope", "What it looks at"), [(it.name, it.help) for it in named.values()])


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the protocol is called.")],
    to: Annotated[
        Path | None,
        typer.Option("--to", help="The folder to write, called NAME too; default: .treadle/protocols/NAME."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let it take the place of the built-in protocol of its name.")
    ] = False,
) -> None:
    """Writes a small, complete, commented protocol to begin with, into a folder that is new or empty."""
    from treadle.cli.advice import word
    from treadle.cli.beginning import begin

    folder = begin(name, to, replace=replace)
    say(f"{folder} is written; edit it, then `treadle protocol check {name if to is None else word(folder)}`")
