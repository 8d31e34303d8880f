"""The store of a project, opened for a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.config.project import Project, make_local
from treadle.errors import TreadleError
from treadle.store.sqlite import Store


@contextmanager
def opened_store(project: Project, *, create: bool = False) -> Iterator[Store]:
    """The project's store; one that is not there yet is made only for a first run."""
    if create:
        make_local(project)
    elif not project.store.exists():
        raise TreadleError(f"{project.root} has no runs yet; `treadle run SPEC` starts one", code="run.none")
    store = Store(project.store, create=create)
    try:
        yield store
    finally:
        store.close()
