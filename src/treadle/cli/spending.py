"""What a run has used, as tables."""

from collections.abc import Iterator
from typing import Final

import typer

from treadle.cli.output import harmless, print_table
from treadle.views.cost import Cost, Share
from treadle.views.estimate import Estimate
from treadle.views.moment import duration
from treadle.views.used import price

_COLUMNS: Final = ("Activities", "Tokens in", "Cached", "Tokens out", "Cost", "Time")
_CACHED: Final = 3
_UNKNOWN: Final = "unknown"
_EXPECTED: Final = ("Step", "Instances", "Estimated in", "Tokens in", "Estimated out", "Tokens out", "All together")


def print_cost(used: Cost) -> None:
    """One table for each way of adding up, the total in each; then what is not known, and the limits."""
    ways = (
        ("Role", used.roles),
        ("Step", used.steps),
        ("Instance", used.instances),
        ("Attempt", used.attempts),
        ("Conversation", used.conversations),
        ("Step and conversation", used.starts),
    )
    for title, shares in ways:
        lines = [(title, *_COLUMNS), *(_line(share) for share in (*shares, used.total))]
        if not used.total.cached:  # no agent has told of a cache
            lines = [(*line[:_CACHED], *line[_CACHED + 1 :]) for line in lines]
        print_table(lines[0], lines[1:], title=f"By {title.lower()}")
    if used.estimates:
        print_table(_EXPECTED, [_expected(it) for it in used.estimates], title="Estimated and used")
    for line in _notes(used):
        typer.echo(line)


def _line(share: Share) -> tuple[str, ...]:
    return (
        harmless(share.name),
        str(share.activities),
        _tokens(share, share.tokens_in),
        f"{100 * share.cached // max(share.tokens_in, 1)} %" if share.cached else "",
        _tokens(share, share.tokens_out),
        _UNKNOWN if _is_untold(share) else price(share.cost, share.unpriced),
        duration(share.seconds),
    )


def _tokens(share: Share, tokens: int) -> str:
    return _UNKNOWN if _is_untold(share) else f"{tokens:,}"


def _is_untold(share: Share) -> bool:
    """Whether nothing is known of what a part has used: nobody has told of anything, or has not yet."""
    return bool(share.activities) and not (share.tokens_in or share.tokens_out or share.cost)


def _expected(it: Estimate) -> tuple[str, ...]:
    return (
        harmless(it.step),
        str(it.instances),
        f"{it.read_low:,} – {it.read_high:,}",
        _UNKNOWN if it.verdict == _UNKNOWN else f"{it.tokens_in:,}",
        f"{it.written_low:,} – {it.written_high:,}",
        _UNKNOWN if it.verdict == _UNKNOWN else f"{it.tokens_out:,}",
        it.verdict if it.verdict == _UNKNOWN else f"{it.verdict} the estimate",
    )


def _notes(used: Cost) -> Iterator[str]:
    if used.total.untold:
        whose = f"{used.total.untold} of {used.total.activities} activities"
        yield f"{whose} have told nothing of what they used: it is not known, and counts for no limit."
    if used.total.unpriced:
        yield f"Nobody has told the price of {used.total.unpriced:,} tokens: no cost and no limit in money counts them."
    limits = [f"{used.limit:.2f} US dollars"] if used.limit else []
    limits += [f"{used.limit_tokens:,} tokens"] if used.limit_tokens else []
    if limits:
        yield f"A person is asked beyond {' or '.join(limits)}."
