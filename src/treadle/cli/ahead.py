"""What can be done of a protocol before the project's tools can do all that its checks ask of them."""

from treadle.cli import library
from treadle.config.model import Toolchain
from treadle.protocol.alone import alone, words
from treadle.protocol.model import Protocol
from treadle.toolchains.fitness import lacks


def can_be_done(name: str, protocol: Protocol, settings: Toolchain) -> list[str]:
    """The advice to begin with what asks less of them; nothing if there is no such part. `name` may be a path."""
    table = library.terms(name)
    found = {word: alone(protocol, word, table) for word in words(protocol, table)}
    fit = [word for word, it in found.items() if not lacks(it.protocol, settings, has_file=True, within=it.reach)]
    return [f"what can be done before that: {', '.join(f'`--only {word}`' for word in fit)}"] if fit else []
