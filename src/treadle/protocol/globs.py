"""Globs as protocols write them: they name files of the repository, and none that only the orchestrator touches."""

from typing import Final

from treadle.protocol.answers.paths import path_fault

_WILD: Final = str.maketrans("*?", "xx")


def glob_fault(glob: str) -> tuple[str, str] | None:
    """Why a glob cannot bound what is written, as the end of a sentence, and what to do about it; None if it can."""
    fault = path_fault(glob.removeprefix("!").translate(_WILD))
    inside = fault.startswith("lies inside")
    if not fault or (inside and glob.startswith("!")):  # `!.git/**` keeps out what nobody may touch anyway
        return None
    what, _, advice = fault.partition("; ")
    return what, advice or ("remove it" if inside else "name files of the repository, as in 'src/**'")


def shown(glob: str) -> str:
    """A glob in quotes, with what cannot be printed written out."""
    return f"'{glob}'" if glob.isprintable() else repr(glob)
