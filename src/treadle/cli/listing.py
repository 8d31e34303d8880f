"""All runs of the project, from their records."""

from functools import cache

from treadle.cli.output import harmless
from treadle.cli.reading import driver, reading
from treadle.config.project import open_project
from treadle.views.listing import Listing, listed


def list_runs() -> Listing:
    """The runs of the project around the current folder; none if there is no store."""
    project = open_project()
    if not project.store.exists():
        return Listing(runs=())
    with reading(project) as store:
        name_of = cache(lambda digest: store.protocol(digest).name)
        return Listing(runs=tuple(listed(run, name_of(run.protocol), driver(run)) for run in store.runs()))


def table(listing: Listing) -> list[tuple[str, ...]]:
    """A line for each run."""
    return [
        (
            harmless(run.run),
            run.protocol,
            f"{run.status}: {run.outcome}" if run.outcome else run.status,
            str(run.events),
            run.changed[:16].replace("T", " "),
            run.driver,
        )
        for run in listing.runs
    ]
