"""`treadle cost`: the tokens, money and time of a run, by role, step, instance and attempt."""

from typing import TYPE_CHECKING, Final

import typer

from treadle.cli.options import JsonOption, LatestRunArgument
from treadle.cli.output import harmless, print_json, print_table
from treadle.views.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.views.cost import Cost, Estimate, Share


_UNKNOWN: Final = "?"
"""Marks a value in a table that no agent reported; one line below the tables explains it."""


def cost(
    run: LatestRunArgument = None,
    as_json: JsonOption = False,
) -> None:
    """Show the tokens and the money that a run used, by role, step, instance and attempt."""
    from treadle.cli.run_reader import open_for_reading, read_run
    from treadle.engines.run_settings import agents_of
    from treadle.views.cost import cost as cost_of

    with open_for_reading() as store:
        found = read_run(store, run)
    used = cost_of(found.chronicle, found.record.id, agents_of(found.record, found.chronicle.protocol))
    if as_json:
        print_json(used)
    else:
        print_cost(used)


def print_cost(used: "Cost") -> None:
    """Print one table for each grouping, the total in each, then the unknowns in one line, and the limits.

    Parts that reported nothing have no line of their own; if no part reported anything, one table shows the time.
    """
    ways = (
        ("Role", used.roles),
        ("Step", used.steps),
        ("Instance", used.instances),
        ("Attempt", used.attempts),
        ("Conversation", used.conversations),
        ("Step and conversation", used.starts),
    )
    if not _is_reported(used.total):
        times = [(harmless(it.name), str(it.activities), duration(it.seconds)) for it in (*used.steps, used.total)]
        print_table(("Step", "Activities", "Time"), times, title="By step")
    else:
        for title, shares in ways:
            lines = [_line(it, used.total) for it in (*filter(_is_reported, shares), used.total)]
            print_table((title, *_columns(used)), lines, title=f"By {title.lower()}")
    if used.estimates and _is_reported(used.total):
        columns = ("Step", "Instances", "Estimated in", "Tokens in", "Estimated out", "Tokens out", "All together")
        print_table(columns, [_expected(it) for it in used.estimates], title="Estimated and used")
    for text in _notes(used):
        typer.echo(harmless(text))


def _columns(used: "Cost") -> tuple[str, ...]:
    cached = ("Cached",) if used.total.cached else ()  # no agent reports a cache otherwise
    return ("Activities", "Tokens in", *cached, "Tokens out", used.currency, "Time")


def _line(share: "Share", total: "Share") -> tuple[str, ...]:
    cached = f"{100 * share.cached // max(share.tokens_in, 1)} %" if share.cached else ""
    money = [f"{share.cost:.2f}"] if share.cost or not share.unpriced else []
    return (
        harmless(share.name),
        str(share.activities),
        f"{share.tokens_in:,}",
        *((cached,) if total.cached else ()),
        f"{share.tokens_out:,}",
        " + ".join([*money, *([_UNKNOWN] if share.unpriced else [])]),
        duration(share.seconds),
    )


def _is_reported(share: "Share") -> bool:
    """Whether a part has reported any usage."""
    return bool(share.tokens_in or share.tokens_out or share.cost)


def _expected(it: "Estimate") -> tuple[str, ...]:
    is_known = it.verdict != "unknown"
    return (
        harmless(it.step),
        str(it.instances),
        f"{it.read_low:,} – {it.read_high:,}",
        f"{it.tokens_in:,}" if is_known else _UNKNOWN,
        f"{it.written_low:,} – {it.written_high:,}",
        f"{it.tokens_out:,}" if is_known else _UNKNOWN,
        f"{it.verdict} the estimate" if is_known else _UNKNOWN,
    )


def _notes(used: "Cost") -> "Iterator[str]":
    unknown = used.unknown
    parts: Sequence[str] = [
        *([f"no price for {unknown.tokens:,} tokens"] if unknown.tokens else []),
        *([f"no report from {unknown.activities} of {used.total.activities} activities"] if unknown.activities else []),
    ]
    if parts:
        by = f" ({', '.join(unknown.agents)})" if unknown.agents else ""
        yield f"Unknown: {' and '.join(parts)}{by}; totals and money limits do not include this."
    limits = [f"{used.limit:.2f} {used.currency}"] if used.limit else []
    limits += [f"{used.limit_tokens:,} tokens"] if used.limit_tokens else []
    if limits:
        yield f"Beyond {' or '.join(limits)}, Treadle asks a person."
