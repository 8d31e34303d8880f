"""`treadle init`: a first `treadle.toml`, from what the project's files tell."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("init")
def init(
    protocol: Annotated[str | None, typer.Option("--protocol", "-p", help="Add what this protocol needs, too.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Make the repository and its first commit without asking.")
    ] = False,
) -> None:
    """Looks at the project, says what it found and why, and writes a commented treadle.toml; never over a file."""
    from treadle.cli import founding, git_start
    from treadle.cli.founded import found, next_steps, written
    from treadle.config.project import Project, current_folder, find_project

    project = find_project() or Project(current_folder())
    asyncio.run(git_start.refuse_git_folder(project.root))
    plan = founding.plan(project, protocol)
    for line in found(project, plan):
        typer.echo(line)
    if not dry_run:
        founding.carry_out(project, plan)
    for line in written(plan, dry_run=dry_run):
        typer.echo(line)
    steps = asyncio.run(git_start.start(project.root, plan, dry_run=dry_run, yes=yes))
    typer.echo("\nNext:")
    for line in next_steps(plan, steps):
        typer.echo(f"  {line}")
