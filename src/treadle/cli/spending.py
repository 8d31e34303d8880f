"""What a run has used, as tables."""

from treadle.cli.output import harmless, print_table
from treadle.views.cost import Cost, Share
from treadle.views.moment import duration

_COLUMNS = ("Activities", "Tokens in", "Tokens out", "Cost", "Time")


def print_cost(used: Cost) -> None:
    """One table for each way of adding up, the total in each."""
    ways = (("Role", used.roles), ("Step", used.steps), ("Instance", used.instances), ("Attempt", used.attempts))
    for title, shares in ways:
        lines = [_line(share) for share in (*shares, used.total)]
        print_table((title, *_COLUMNS), lines, title=f"By {title.lower()}")


def _line(share: Share) -> tuple[str, ...]:
    return (
        harmless(share.name),
        str(share.activities),
        f"{share.tokens_in:,}",
        f"{share.tokens_out:,}",
        f"{share.cost:.2f}",
        duration(share.seconds),
    )
