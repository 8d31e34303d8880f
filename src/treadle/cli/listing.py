"""All runs of the project, from their records."""

from functools import cache

from treadle.cli.output import harmless
from treadle.cli.reading import driver, reading
from treadle.cli.standing import in_hand
from treadle.config.project import Project, open_project
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.listing import Listing, listed
from treadle.views.status import Condition, condition


def list_runs() -> Listing:
    """The runs of the project around the current folder; none if there is no store."""
    project = open_project()
    if not project.store.exists():
        return Listing(runs=())
    with reading(project) as store:
        name_of = cache(lambda digest: store.protocol(digest).name)
        return Listing(
            runs=tuple(
                listed(run, name_of(run.protocol), driver(run), _condition(project, store, run)) for run in store.runs()
            )
        )


def _condition(project: Project, store: Store, run: Run) -> Condition:
    """As `treadle status` says it; only a run that goes on has to be looked at for that."""
    if run.outcome or not run.seq:
        return "ended" if run.outcome else "new"
    history = store.load(run.id)
    return condition(history.protocol, history.state, [it.id for it in in_hand(project, run, history.state)])


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
