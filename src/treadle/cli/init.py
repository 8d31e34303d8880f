"""`treadle init`: write a first `treadle.toml` from the project's files."""

from typing import Annotated

import typer


def init(
    protocol: Annotated[
        str | None, typer.Option("--protocol", "-p", help="Also write the files that this protocol needs.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the files, and write nothing.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Create the repository and its first commit without asking.")
    ] = False,
) -> None:
    """Detect the project's tools and write a commented treadle.toml. Never overwrite a file."""
    from treadle.cli.project_setup import set_up_project
    from treadle.config.project import Project, current_folder, find_project

    set_up_project(find_project() or Project(current_folder()), protocol, dry_run=dry_run, yes=yes)
