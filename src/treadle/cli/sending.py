"""Where an instance stands after something was sent to it."""

import typer

from treadle.cli.moves import Verdict
from treadle.cli.output import harmless
from treadle.config.project import Project
from treadle.store.sqlite import Store
from treadle.views.tree import tree


def position(run: str, at: str) -> Verdict:
    """Prints where an instance stands, and what it goes on with afterwards."""

    def tell(_project: Project, store: Store) -> int:
        history = store.load(run)
        for line in tree(history.protocol, history.state):
            if line.instance == at:
                typer.echo(harmless(f"{at}: {f'{line.step} · ' if line.step else ''}{line.text}"))
        return 0

    return tell
