"""`treadle replay`: compare the stored state of a run with a replay of its events."""

import typer

from treadle.cli.options import LatestRunArgument


def replay(
    run: LatestRunArgument = None,
) -> None:
    """Replay a run's whole log and compare the result with the stored state.

    Exit code 0: they are equal; 1: they differ.
    """
    from treadle.cli.guard import UNWELL, complain
    from treadle.cli.run_reader import find_run, open_for_reading
    from treadle.errors import ReplayDivergence
    from treadle.views.words import count_words

    with open_for_reading() as store:
        found = find_run(store, run)
        try:
            audit = store.audit(found.id)
        except ReplayDivergence as error:
            complain(f"run {found.id} differs from its record: {error} [{error.code}]")
            complain("do not resume it; restore a backup of .treadle/local")
            raise typer.Exit(UNWELL) from None
    typer.echo(f"{found.id} matches its record" + (f", and ended with {audit.outcome}" if audit.outcome else ""))
    events, upgrades = count_words(audit.events, "event"), count_words(audit.upgrades, "upgrade")
    typer.echo(f"  {events}, folded from the beginning, with {upgrades} of the protocol")
    typer.echo(f"  {count_words(audit.snapshots, 'snapshot')}, equal to the states at their events")
    typer.echo(f"  {count_words(audit.payloads, 'payload')}, each with its own hash")
    typer.echo("  the record, the timers and the outbox, equal to those of the last state")
    typer.echo(f"  the chain of hashes, ending with {audit.chain}")
